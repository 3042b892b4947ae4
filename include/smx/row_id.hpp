// Which row this is: the extents of a call, the place of a row in them, and division by an extent without a division.
#pragma once
#include "config.hpp"

SMX_BEGIN

// The most columns a row may have: column arithmetic in int cannot wrap below it.
inline constexpr int64 most_columns = 0x7fff0000;  // 2^31 - 2^16
inline constexpr int64 most_rows = 1ll << 62;

// Shape of the scores: softmax runs over the keys. {rows, cols} is the same call with one batch, one head and `rows` queries.
struct extents {
    int64 batch = 0, heads = 0, queries = 0, keys = 0;

    extents() = default;
    SMX_HD constexpr extents(int64 rows, int64 cols) : batch(1), heads(1), queries(rows), keys(cols) {}
    SMX_HD constexpr extents(int64 batches, int64 head_count, int64 query_count, int64 key_count)
        : batch(batches), heads(head_count), queries(query_count), keys(key_count) {}
};

// Distances between neighbours along each axis, in elements. Zero repeats (broadcasts) an input.
struct strides {
    int64 batch = 0, head = 0, query = 0, key = 0;
};

// Stands for "packed in the order batch, head, query, key" where strides are optional. No tensor in memory has such a key stride.
inline constexpr strides contiguous{0, 0, 0, -0x7fffffffffffffffll};

// Of a shape that check() refuses, the products may wrap.
SMX_HD constexpr strides packed_strides(extents shape) {
    uint64 const head = static_cast<uint64>(shape.queries) * static_cast<uint64>(shape.keys);
    return {static_cast<int64>(static_cast<uint64>(shape.heads) * head), static_cast<int64>(head), shape.keys, 1};
}

// Strides of a packed tensor of this shape that repeats along its axes of length 1: {B, 1, Sq, Sk} serves every head.
SMX_HD constexpr strides broadcast(extents shape) {
    strides const packed = packed_strides(shape);
    return {shape.batch == 1 ? 0 : packed.batch, shape.heads == 1 ? 0 : packed.head, shape.queries == 1 ? 0 : packed.query,
            shape.keys == 1 ? 0 : 1};
}

// Columns [begin, end); empty when end <= begin.
struct interval {
    int begin, end;
};

// The columns of both; where there are none it may lie anywhere, which saves its maker a choice.
SMX_HD constexpr interval overlap(interval a, interval b) {
    return {a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
}

// The columns of both; {0, 0} where there are none.
SMX_HD constexpr interval intersection(interval a, interval b) {
    interval const both = overlap(a, b);
    if (both.end <= both.begin) return {0, 0};
    return both;
}

SMX_HD constexpr interval hull(interval a, interval b) {
    if (a.end <= a.begin) return b;
    if (b.end <= b.begin) return a;
    return {a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

// One row of a call.
struct row_id {
    int64 batch, head, query;
    int64 index;  // (batch * heads + head) * queries + query
    int cols;
    int slice_columns = 0;  // of every slice, in whole packs, where blocks share a row; 0: worked out from the row
};

// Quotients by a number fixed on the host: a product and a shift.
// Requires  1 <= divisor < 2^62; dividends in [0, 2^62), in [0, 2^31) for the short form
// Source    T. Granlund, P. L. Montgomery, "Division by invariant integers using multiplication", 1994.
class divider {
public:
    divider() = default;

#if SMX_HAS_HOST
    explicit divider(int64 divisor) : divisor_(divisor), shift_(shift_of(divisor)) {
        // The smallest multiplier with multiplier * divisor >= 2^(bits + shift): its error stays under one part in 2^bits.
        multiplier_ = rounded_up_quotient(62 + shift_, divisor);
        uint64 const d = static_cast<uint64>(divisor);
        if (divisor <= 0x7fffffff) short_multiplier_ = static_cast<unsigned>(((uint64{1} << (31 + shift_)) + d - 1) / d);
    }

    bool has_short_form() const { return short_multiplier_ != 0; }
    // What the short form multiplies and shifts by.
    unsigned short_multiplier() const { return short_multiplier_; }
    int shift() const { return shift_; }
#endif

    SMX_HD int64 divide(int64 dividend) const {
        uint64 const n = static_cast<uint64>(dividend);
        return static_cast<int64>((high_product(n, multiplier_) << 2 | (n * multiplier_) >> 62) >> shift_);
    }

    SMX_HD unsigned divide_short(unsigned dividend) const {
        return static_cast<unsigned>((static_cast<uint64>(dividend) * short_multiplier_) >> 31) >> shift_;
    }

    SMX_HD int64 divisor() const { return divisor_; }

private:
#if SMX_HAS_HOST
    static int shift_of(int64 divisor) {
        int shift = 0;
        while ((1ll << shift) < divisor) ++shift;
        return shift;
    }
    static uint64 rounded_up_quotient(int power, int64 divisor) {
        __extension__ using wide = unsigned __int128;
        wide const d = static_cast<wide>(divisor);
        return static_cast<uint64>(((static_cast<wide>(1) << power) + d - 1) / d);
    }

#endif

    static SMX_HD uint64 high_product(uint64 a, uint64 b) {
#if SMX_DEVICE_CODE
        return __umul64hi(a, b);
#else
        __extension__ using wide = unsigned __int128;
        return static_cast<uint64>((static_cast<wide>(a) * b) >> 64);
#endif
    }

    int64 divisor_ = 1;
    uint64 multiplier_ = 1ull << 62;
    unsigned short_multiplier_ = 1u << 31;
    int shift_ = 0;
};

// What the index of a row is divided by, to find its batch and head.
struct row_axes {
    divider queries, heads;
};

// The rows of a call, in the order of their index: query fastest. Small: what every row needs lies side by side in a kernel's parameters.
class row_list {
public:
    row_list() = default;
#if SMX_HAS_HOST
    row_list(int64 count, int cols, bool is_short, bool by_index) : count_(count), cols_(cols), short_(is_short), by_index_(by_index) {}

    void take_in_panels() { in_panels_ = true; }
    int slice_columns() const { return slice_columns_; }
    bool is_by_index() const { return by_index_; }
    // So many blocks share a row, in packs of `vec` columns.
    void share(int blocks, int vec) { slice_columns_ = static_cast<int>(((int64{cols_} + vec - 1) / vec + blocks - 1) / blocks * vec); }
#endif

    SMX_HD int64 count() const { return count_; }
    SMX_HD int cols() const { return cols_; }
    SMX_HD bool are_in_panels() const { return in_panels_; }

    // MayBeByIndex: false where something always asks for more than the index.
    template <bool MayBeByIndex = true>
    SMX_HD row_id at(int64 index, row_axes const& axes) const {
        if (MayBeByIndex && by_index_) return {0, 0, index, index, cols_, slice_columns_};
        if (short_) {
            unsigned const n = static_cast<unsigned>(index);
            unsigned const panel = axes.queries.divide_short(n);  // (batch, head)
            unsigned const batch = axes.heads.divide_short(panel);
            return {batch, panel - batch * static_cast<unsigned>(axes.heads.divisor()), n - panel * static_cast<unsigned>(axes.queries.divisor()),
                    index, cols_, slice_columns_};
        }
        int64 const panel = axes.queries.divide(index);
        int64 const batch = axes.heads.divide(panel);
        return {batch, panel - batch * axes.heads.divisor(), index - panel * axes.queries.divisor(), index, cols_, slice_columns_};
    }

private:
    int64 count_ = 0;
    int cols_ = 0, slice_columns_ = 0;
    bool short_ = true;      // every number fits 32 bits: a quarter of the instructions
    bool by_index_ = false;  // no division at all
    bool in_panels_ = false;
};

// A list of rows with what its indices are divided by. Built on the host, passed to kernels by value.
// Requires  a shape that check() takes
class row_range : public row_list {
public:
    row_range() = default;
#if SMX_HAS_HOST
    explicit row_range(extents shape) : row_range(shape, {divider(shape.queries > 0 ? shape.queries : 1), divider(shape.heads > 0 ? shape.heads : 1)}) {}

    // Rows of which only the index is asked for: batch and head are 0 and query is the index, whatever the shape.
    row_range(int64 count, int cols) : row_list(count, cols, true, true) {}
#endif

    SMX_HD row_axes const& axes() const { return axes_; }
    SMX_HD row_id operator[](int64 index) const { return at(index, axes_); }

private:
#if SMX_HAS_HOST
    row_range(extents shape, row_axes const& axes) : row_list(shape.batch * shape.heads * shape.queries, static_cast<int>(shape.keys), is_short(shape, axes), false), axes_(axes) {}

    static bool is_short(extents shape, row_axes const& axes) {
        return shape.batch * shape.heads * shape.queries <= 0x7fffffff && axes.queries.has_short_form() && axes.heads.has_short_form();
    }
#endif

    row_axes axes_;
};

// The order in which a grid takes rows whose heads share more of a mask than stays in the L2: the first `queries` queries of every head, then the next
// ones. H200, a bias that 16 heads of 4096 x 4096 halves share: 0.70 of copy by index, 0.91 in four panels.
class row_panels {
public:
    row_panels() = default;
#if SMX_HAS_HOST
    // Requires  count parts that are the queries of a head, all rows below 2^31
    row_panels(int64 queries, int64 count, int64 heads) : count_(static_cast<unsigned>(count)), queries_(queries), heads_(heads) {}
#endif

    SMX_HD bool are_several() const { return count_ > 1; }
    // The index of the row whose turn it is.
    SMX_HD unsigned index_at(unsigned turn) const {
        unsigned const part = queries_.divide_short(turn), panel = heads_.divide_short(part);
        unsigned const head = part - panel * static_cast<unsigned>(heads_.divisor());
        return (head * count_ + panel) * static_cast<unsigned>(queries_.divisor()) + (turn - part * static_cast<unsigned>(queries_.divisor()));
    }

private:
    unsigned count_ = 0;
    divider queries_, heads_;  // of a panel; of all batches
};
struct no_row_panels {};

SMX_END
