// A mask from a function of the row and the column: the shortest way to a mask of your own.
#pragma once
#include "../mask.hpp"

SMX_BEGIN

// Requires  bool Predicate::operator()(row_id, int col) const, callable where the rows run
// Cost      every column is loaded: a mask with structure says more by its span
template <class Predicate>
struct predicate_mask {
    Predicate predicate;

    struct row {
        Predicate predicate;
        row_id id;

        static constexpr bool tests = true;
        static constexpr bool spans_row = true;

        SMX_HD interval span() const { return {0, id.cols}; }

        template <int Width>
        SMX_HD unsigned visible(int col) const {
            unsigned bits = 0;
            SMX_UNROLL
            for (int i = 0; i < Width; ++i) bits |= static_cast<unsigned>(predicate(id, col + i) ? 1 : 0) << i;
            return bits;
        }
    };

    SMX_HD row bind(row_id id, extents) const { return {predicate, id}; }
};

template <class Predicate>
SMX_HD predicate_mask<Predicate> visible_where(Predicate predicate) {
    return {predicate};
}

SMX_END
