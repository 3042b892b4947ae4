// Causal mask: a query sees the keys up to its own place on a diagonal.
#pragma once
#include "../mask.hpp"

SMX_BEGIN

// Key k is visible to query q iff k <= q + offset. The diagonal is measured on the tensor's extents, never on lengths.
// There is no default: with as many queries as keys all three are the same, otherwise they are not.
class causal_mask {
public:
    // The first query sees the first key: q + 0.
    static SMX_HD constexpr causal_mask top_left() { return causal_mask(0, false); }
    // The last query sees the last key: q + (keys - queries).
    static SMX_HD constexpr causal_mask bottom_right() { return causal_mask(0, true); }
    // Any other: q + offset, negative offsets too.
    static SMX_HD constexpr causal_mask diagonal(int64 offset) { return causal_mask(offset, false); }

    struct row {
        interval seen;
        SMX_HD interval span() const { return seen; }
    };

    SMX_HD row bind(row_id id, extents shape) const { return from_top_left(shape).bind(id, shape); }

    // The same mask of a call with this shape.
    struct of_shape {
        using row = causal_mask::row;
        int64 first_end;  // one past the last key that query 0 would see

        SMX_HD row bind(row_id id, extents) const {
            int64 const end = id.query + first_end;
            return {{0, static_cast<int>(end < 0 ? 0 : end > id.cols ? id.cols : end)}};
        }
    };
    SMX_HD constexpr of_shape from_top_left(extents shape) const { return {offset_ + 1 + (from_bottom_right_ ? shape.keys - shape.queries : 0)}; }

private:
    SMX_HD constexpr causal_mask(int64 offset, bool from_bottom_right)
        // As good as any further one, and no sum with a query wraps.
        : offset_(offset > most_columns ? most_columns : offset < -most_rows ? -most_rows : offset), from_bottom_right_(from_bottom_right) {}

    int64 offset_;
    bool from_bottom_right_;
};

SMX_END
