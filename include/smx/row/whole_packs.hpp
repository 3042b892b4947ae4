// Mover: rows of any length as rows of whole packs, for a CPU, whose loops over packs are vectorised: what is past the end of a row is not read,
// is hidden, and is not written.
#pragma once
#include "operands.hpp"

SMX_BEGIN

// One lane that has rows in memory to itself. While it computes, it asks for the memory behind the columns it has, where the next row mostly lies:
// 2048 columns of float, 0.69 ns an element become 0.53.
class host_group : public thread_group {
public:
    template <class Element>
    SMX_HD void reads(Element const* row) {
        read_ = {reinterpret_cast<uint64>(row), sizeof(Element)};
    }
    template <class Element>
    SMX_HD void writes(Element* row) {
        written_ = {reinterpret_cast<uint64>(row), sizeof(Element)};
    }
    SMX_HD void ask_ahead(int next, int column, int columns) const {
        read_.template ask<0>(next, column, columns);
        written_.template ask<1>(next, column, columns);
    }

private:
    struct row_in_memory {
        uint64 start = 0, element = 0;

        template <int ForWrite>
        SMX_HD void ask([[maybe_unused]] int next, [[maybe_unused]] int column, [[maybe_unused]] int columns) const {
#if !SMX_DEVICE_CODE
            constexpr uint64 line = 64, least = 2048;  // a short row is done before memory answers: some rows ahead
            uint64 const row = static_cast<unsigned>(next) * element;
            uint64 const from = start + (row > least ? row : least) + static_cast<unsigned>(column) * element;
            SMX_UNROLL
            for (uint64 i = 0; i < static_cast<unsigned>(columns) * element; i += line) __builtin_prefetch(reinterpret_cast<void const*>(from + i), ForWrite);
#endif
        }
    };

    row_in_memory read_, written_;
};

namespace detail {

// Calls visit(pack<char, part>, offset) for the parts of 16, 8, ... columns that the first `count` of a pack of Width are made up of.
template <int Width, class Visit>
SMX_HD void for_parts(int count, Visit const& visit) {
    if constexpr (Width > 1) {
        constexpr int part = Width / 2;
        if (count & part) visit(pack<char, part>(), count & ~(Width - 1));
        for_parts<part>(count, visit);
    }
}

template <int Part, int Width, class Compute>
SMX_HD pack<Compute, Part> part_of(pack<Compute, Width> const& whole, int offset) {
    pack<Compute, Part> part;
    SMX_UNROLL
    for (int i = 0; i < Part; ++i) part[i] = whole[offset + i];
    return part;
}
template <int Part, int Width, class Compute>
SMX_HD void set_part(pack<Compute, Width>& whole, int offset, pack<Compute, Part> const& part) {
    SMX_UNROLL
    for (int i = 0; i < Part; ++i) whole[offset + i] = part[i];
}

// The first `count` of Width elements, of which CPUs with masked moves take 16 at a time; structs would be moved one by one.
template <class Element>
using copied_as = chosen_type<sizeof(Element) == 2, unsigned short, Element>;
template <int Width, class Element>
SMX_HD void copy_first(Element const* __restrict__ from, Element* __restrict__ into, int count) {
    SMX_UNROLL
    for (int i = 0; i < Width; ++i) {
        if (i < count) into[i] = bit_cast<Element>(bit_cast<copied_as<Element>>(from[i]));
    }
}
template <int Width, class Element>
SMX_HD void copy_first_and_clear(Element const* __restrict__ from, Element* __restrict__ into, int count) {
    SMX_UNROLL
    for (int i = 0; i < Width; ++i) into[i] = bit_cast<Element>(i < count ? bit_cast<copied_as<Element>>(from[i]) : copied_as<Element>{});
}

// Columns [col, col + count) of a row, or the whole pack; what is after them in it is finite. Rows in memory are read at any address; a user's in single columns, and in
// packs only where it says that they may start.
template <int Width, class Element, traffic Traffic, class Compute>
SMX_HD void read_first(memory_input_row<Element, Traffic> const& row, pack<Compute, Width>& into, int col, int count) {
    if (count >= Width) return widen_all<Width>(row.start + col, into.data);
    pack<Element, Width> some;
    copy_first_and_clear<Width>(row.start + col, some.data, count);
    widen_all<Width>(some.data, into.data);
}
template <int Width, class Row, class Compute>
SMX_HD void read_first(Row const& row, pack<Compute, Width>& into, int col, int count) {
    if (count >= Width && row.template head<Width>() == 0) {
        into = row.template widen<Width>(row.template fetch<Width>(col));
        return;
    }
    SMX_UNROLL
    for (int i = 0; i < Width; ++i) into[i] = i < count ? row.template widen<1>(row.template fetch<1>(col + i))[0] : Compute(0);
}

template <int Width, class Element, traffic Traffic, class Compute>
SMX_HD void write_first(memory_output_row<Element, Traffic> const& row, int col, pack<Compute, Width> const& values, int count) {
    if (count >= Width) return narrow_all<Width>(values.data, row.start + col);
    pack<Element, Width> some;
    narrow_all<Width>(values.data, some.data);
    copy_first<Width>(some.data, row.start + col, count);
}
template <int Width, class Row, class Compute>
SMX_HD void write_first(Row const& row, int col, pack<Compute, Width> const& values, int count) {
    if (count >= Width) return row.template store<Width>(col, values);
    SMX_UNROLL
    for (int i = 0; i < count; ++i) row.template store<1>(col + i, part_of<1>(values, i));
}

template <class Row, class Compute>
struct filled_input_row {
    Row row;
    int cols;

    template <int Width>
    SMX_HD int head() const {
        return 0;
    }
    template <int Width>
    SMX_HD pack<Compute, Width> fetch(int col) const {
        pack<Compute, Width> values;
        read_first(row, values, col, cols - col);
        return values;
    }
    template <int Width>
    static SMX_HD pack<Compute, Width> widen(pack<Compute, Width> const& values) {
        return values;
    }
    template <int Width, class Wide>
    SMX_HD void read_into(pack<Wide, Width>& into, int col) const {
        read_first(row, into, col, cols - col);
    }
};

template <class Row>
struct filled_output_row {
    Row row;
    int cols;

    template <int Width, class Compute>
    SMX_HD void store(int col, pack<Compute, Width> const& values) const {
        write_first(row, col, values, cols - col);
    }
};

// A mask is asked for whole packs and, where the row ends, for shorter ones: nothing past its end.
template <class Seen>
struct filled_mask_row {
    Seen seen;
    int cols;

    static constexpr bool tests = mask_tests<Seen>;
    static constexpr bool biases = mask_biases<Seen>;
    static constexpr bool spans_row = smx::spans_row<Seen>;

    SMX_HD interval span() const { return seen.span(); }

    template <int Width>
    SMX_HD unsigned visible(int col) const {
        if (col + Width <= cols) return seen.template visible<Width>(col);
        if (cols >= Width) return seen.template visible<Width>(cols - Width) >> (col + Width - cols);  // of the last columns that make a pack
        unsigned bits = 0;
        for_parts<Width>(cols - col, [&](auto part, int offset) {
            constexpr int width = sizeof(part);
            if (touches<width>(col + offset)) bits |= (seen.template visible<width>(col + offset) & all_bits<width>) << offset;
        });
        return bits;
    }
    template <int Width, class Compute>
    SMX_HD void add_to(pack<Compute, Width>& scores, int col) const {
        if (col + Width <= cols) return seen.add_to(scores, col);
        for_parts<Width>(cols - col, [&](auto part, int offset) {
            constexpr int width = sizeof(part);
            if (!touches<width>(col + offset)) return;
            auto some = part_of<width>(scores, offset);
            seen.add_to(some, col + offset);
            set_part(scores, offset, some);
        });
    }

private:
    template <int Width>
    SMX_HD bool touches(int col) const {
        interval const visible_columns = seen.span();
        return col < visible_columns.end && col + Width > visible_columns.begin;
    }
};

template <class Element, traffic Traffic>
SMX_HD void note_row(host_group& g, memory_input_row<Element, Traffic> const& row) {
    g.reads(row.start);
}
template <class Element, traffic Traffic>
SMX_HD void note_row(host_group& g, memory_output_row<Element, Traffic> const& row) {
    g.writes(row.start);
}
template <class Row>
SMX_HD void note_row(host_group&, Row const&) {}

template <class Input>
struct filled_input {
    Input input;
    host_group* group;
    using compute = typename Input::compute;
    SMX_HD auto bind(row_id id) const {
        auto const row = input_row(input, id);
        note_row(*group, row);
        return filled_input_row<decltype(input_row(input, id)), compute>{row, id.cols};
    }
};
template <class Output>
struct filled_output {
    Output output;
    host_group* group;
    static constexpr hidden when_hidden = hidden_policy<Output>;
    static constexpr normalized normalized_to = wants_logarithms<Output> ? normalized::logarithms : normalized::probabilities;
    SMX_HD auto bind(row_id id) const {
        auto const row = output_row(output, id);
        note_row(*group, row);
        return filled_output_row<decltype(output_row(output, id))>{row, id.cols};
    }
};
template <class Mask>
struct filled_mask {
    Mask masks;
    SMX_HD auto bind(row_id id, extents shape) const { return filled_mask_row<decltype(masks.bind(id, shape))>{masks.bind(id, shape), id.cols}; }
};

}  // namespace detail

#if SMX_HAS_HOST
namespace detail {
template <class Output>
filled_output<Output> filled_out(host_group& g, Output const& output) {
    return {output, &g};
}
inline no_output filled_out(host_group&, no_output const&) { return {}; }
template <class Output, class Dropout, class Undropped>
auto filled_out(host_group& g, dropped_output<Output, Dropout, Undropped> const& y) {
    return smx::dropped(filled_out(g, y.output), y.dropout, filled_out(g, y.undropped));
}
}  // namespace detail

// A call whose rows g can take.
template <class Input, class Factor, class Mask, class Output, class RowOutput>
auto in_whole_packs(host_group& g, operands<Input, Factor, Mask, Output, RowOutput> const& o) {
    return operands<detail::filled_input<Input>, Factor, detail::filled_mask<Mask>, decltype(detail::filled_out(g, o.output)), RowOutput>{
        {}, {o.masks}, o.rows, {o.input, &g}, o.factor, o.when_empty, detail::filled_out(g, o.output), o.row_output, o.shape, o.axes};
}
#endif

SMX_END
