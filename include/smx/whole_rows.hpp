// Rows that are whole packs at multiples of 16 bytes, where the host knows it: their lanes ask nothing of addresses, have no columns beside their
// packs, and find all they need to load in one line of a kernel's parameters. For calls of few rows, which take as long as one row takes, and for
// masks that are bound by their instructions.
#pragma once
#include "tensor.hpp"

SMX_BEGIN

namespace detail {

// What the rows of a call that are whole packs at multiples of 16 bytes need before they can load; for other calls count is 0.
template <class Source, class Target>
struct whole_rows {
    Source const* x = nullptr;
    Target* y = nullptr;
    unsigned x_step = 0, y_step = 0;  // bytes from every row to the next by index
    unsigned count = 0;
    int cols = 0, slice_columns = 0;
    unsigned queries = 0, query_multiplier = 0;
    unsigned char query_shift = 0, head_shift = 0;
    bool starts_early = false, in_panels = false;
    // From here on for masks alone: in the next 64 bytes of a kernel's parameters.
    unsigned heads = 0, head_multiplier = 0;

    // For what asks a row for its index alone.
    SMX_HD row_id by_index(unsigned index) const { return {0, 0, index, index, cols, slice_columns}; }
    // Requires  find_by() has been told by what to divide
    SMX_HD row_id at(unsigned index) const {
        unsigned const panel = quotient(index, query_multiplier, query_shift), batch = quotient(panel, head_multiplier, head_shift);
        return {batch, panel - batch * heads, index - panel * queries, index, cols, slice_columns};
    }

#if SMX_HAS_HOST
    // Rows are found by their index where all of a call asks for no more, and by division under masks. A scale by heads without a mask asks for what
    // by_index() does not say: such rows are found as all others.
    void find_by(row_axes const& axes, bool asks_index_alone, bool may_be_by_index) {
        if (asks_index_alone || count == 0) return;
        if (may_be_by_index) {
            count = 0;
            return;
        }
        queries = static_cast<unsigned>(axes.queries.divisor());
        query_multiplier = axes.queries.short_multiplier();
        query_shift = static_cast<unsigned char>(axes.queries.shift());
        heads = static_cast<unsigned>(axes.heads.divisor());
        head_multiplier = axes.heads.short_multiplier();
        head_shift = static_cast<unsigned char>(axes.heads.shift());
    }
    void take_in_panels() { in_panels = true; }
    // What a launch knows. With more axes of blocks than one, rows are found as all others.
    void launch_as(int slice, bool early, bool has_one_axis) {
        slice_columns = slice;
        starts_early = early;
        if (!has_one_axis) count = 0;
    }
#endif

private:
    static SMX_HD unsigned quotient(unsigned dividend, unsigned multiplier, unsigned shift) {
        return static_cast<unsigned>((static_cast<uint64>(dividend) * multiplier) >> 31) >> shift;
    }
};
struct no_whole_rows {
#if SMX_HAS_HOST
    void find_by(row_axes const&, bool, bool) {}
    void take_in_panels() {}
#endif
};

template <class Input, class Output>
struct whole_rows_of {
    using type = no_whole_rows;
};
template <class Source, class Target, hidden Hidden, normalized To>
struct whole_rows_of<dense_input<Source>, dense_output<Target, Hidden, To>> {
    using type = whole_rows<Source, Target>;
};

template <class Element>
SMX_HD Element const* whole_row_at(Element const* first, unsigned step_bytes, row_id const& id) {
    return reinterpret_cast<Element const*>(reinterpret_cast<unsigned char const*>(first) + static_cast<uint64>(static_cast<unsigned>(id.index)) * step_bytes);
}
template <class Element>
SMX_HD Element* whole_row_at(Element* first, unsigned step_bytes, row_id const& id) {
    return reinterpret_cast<Element*>(reinterpret_cast<unsigned char*>(first) + static_cast<uint64>(static_cast<unsigned>(id.index)) * step_bytes);
}

template <class Element>
struct whole_input {
    Element const* first;
    unsigned step_bytes;

    using compute = compute_of<Element>;
    struct row : memory_input_row<Element, traffic::streamed> {
        template <int Width>
        static SMX_HD int head() {
            return 0;
        }
    };
    SMX_HD row bind(row_id id) const { return {{whole_row_at(first, step_bytes, id)}}; }
};

template <class Element, hidden Hidden, normalized To>
struct whole_output {
    Element* first;
    unsigned step_bytes;

    static constexpr hidden when_hidden = Hidden;
    static constexpr normalized normalized_to = To;

    struct row : memory_output_row<Element, traffic::streamed> {
        template <int Width>
        static SMX_HD bool takes_whole() {
            return true;
        }
        SMX_HD row from(int col) const { return {{held_address<traffic::streamed>(this->start + col)}}; }
    };
    SMX_HD row bind(row_id id) const { return {{whole_row_at(first, step_bytes, id)}}; }
};

#if SMX_HAS_HOST
// Bytes from every row to the next, where each is whole packs of 16 bytes at a multiple of them and the bytes fit 32 bits; or else 0.
template <class Element>
unsigned whole_step(Element const* data, int64 row_step, int64 rows, int64 keys) {
    constexpr int64 of_16_bytes = 16 / int64{sizeof(Element)}, most = 0xffffffffll / int64{sizeof(Element)};
    int64 const step = rows == 1 ? of_16_bytes : row_step;
    bool const is_whole = reinterpret_cast<uint64>(data) % 16 == 0 && step % of_16_bytes == 0 && keys % of_16_bytes == 0;
    return is_whole && step > 0 && step <= most ? static_cast<unsigned>(step) * unsigned{sizeof(Element)} : 0u;
}
template <class Input, class Output>
no_whole_rows whole_rows_at(Input const&, Output const&, extents, bool) {
    return {};
}
template <class Source, class Target, hidden Hidden, normalized To>
whole_rows<Source, Target> whole_rows_at(dense_input<Source> const& x, dense_output<Target, Hidden, To> const& y, extents shape, bool is_usual) {
    whole_rows<Source, Target> whole;
    if (!is_usual || shape.queries == 0 || shape.heads == 0) return whole;
    int64 const count = shape.batch * shape.heads * shape.queries;
    whole.x_step = whole_step(x.data, x.row_step, count, shape.keys);
    whole.y_step = whole_step(y.data, y.row_step, count, shape.keys);
    if (whole.x_step == 0 || whole.y_step == 0 || count > 0x7fffffff || shape.keys > 1 << 30) return whole;  // a cluster's slices begin below 2^31
    whole.x = x.data;
    whole.y = y.data;
    whole.count = static_cast<unsigned>(count);
    whole.cols = static_cast<int>(shape.keys);
    return whole;
}
#endif

}  // namespace detail

SMX_END
