// Padding mask: each batch has its own number of keys.
#pragma once
#include "../mask.hpp"

SMX_BEGIN

enum class padding { right, left };  // the side that the keys which do not count are on

// Shape     lengths: one integer a batch, read where the rows run; clamped to [0, keys]
// Gives     padding::right: keys [0, length) are visible; padding::left: keys [keys - length, keys). Query rows are not hidden.
template <class Index>
struct key_lengths {
    static_assert(Index(3) / Index(2) == Index(1), "lengths are integers");
    Index const* lengths;
    padding side;

    SMX_HD explicit constexpr key_lengths(Index const* per_batch, padding padded = padding::right) : lengths(per_batch), side(padded) {}

    struct row {
        interval seen;
        SMX_HD interval span() const { return seen; }
    };

    SMX_HD row bind(row_id id, extents) const {
        Index const length = lengths[id.batch];
        int const keys = length <= 0 ? 0 : static_cast<uint64>(length) > static_cast<uint64>(id.cols) ? id.cols : static_cast<int>(length);
        return side == padding::right ? row{{0, keys}} : row{{id.cols - keys, id.cols}};
    }
};

SMX_END
