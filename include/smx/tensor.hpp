// Dense tensors as what a row is read from and written to.
//
// An input is any value with
//   using compute = float;                                            or double
//   template <int Width> pack<compute, Width> load(row_id, int col) const;
//   template <int Width> int head(row_id) const;                          columns before the first that packs may start at,
//                                                                     0 to Width - 1; absent = 0
//   using element;                                                    what is stored; absent = compute
//   static constexpr int pack_columns;                                columns launch_auto loads at a time; absent = 16 bytes of compute
// and an output any value with
//   template <int Width, class Compute> void store(row_id, int col, pack<Compute, Width> const&) const;
// Both are called with Width = the kernel's pack and with Width = 1, for columns within the row. Either may have bind(row_id) instead, which
// works out once what all packs of the row share. A bound input row has head<Width>(), fetch<Width>(col) and widen<Width>(fetched), and may have
// from(col), itself from that column on, and neg_inf<Width>(), what widens to -inf; a bound output row has store<Width>(col, pack) and may have
// from(col). See dense_input and dense_output.
#pragma once
#include "bound_row.hpp"
#include "memory.hpp"
#include "row_id.hpp"

SMX_BEGIN

template <class Element>
SMX_HD Element* row_pointer(Element* data, strides const& step, row_id const& row) {
    return data + (row.batch * step.batch + row.head * step.head + row.query * step.query);
}

// A row of elements side by side in memory. Fetching and widening are two steps, so that all packs of a lane are on their way before the
// first is waited for.
template <class Element, detail::traffic Traffic>
struct memory_input_row {
    Element const* start;

    using compute = compute_of<Element>;

    // Packs start where the address is a multiple of a pack (of 16 bytes, if a pack is longer).
    template <int Width>
    SMX_HD int head() const {
        constexpr unsigned bytes = detail::widest_access(Width * int{sizeof(Element)});
        unsigned const past = static_cast<unsigned>(reinterpret_cast<uint64>(start)) % bytes;
        return static_cast<int>((bytes - past) % bytes / sizeof(Element));
    }
    template <int Width>
    SMX_HD detail::raw_pack<Element, Width> fetch(int col) const {
        return read_aligned<Width, Traffic>(start + col);
    }
    SMX_HD memory_input_row from(int col) const { return {detail::held_address<Traffic>(start + col)}; }
    // Brings a pack of 16 bytes to shared memory, for the lane that asks.
    template <int Width>
    SMX_HD auto copy(void* target, int col) const -> always_void<char[Width * sizeof(Element) == 16 ? 1 : -1]> {
        detail::copy_16_bytes(target, start + col);
    }
    template <int Width>
    static SMX_HD pack<compute, Width> widen(detail::raw_pack<Element, Width> const& raw) {
        return smx::widen<compute>(raw);
    }
    // What would widen to -inf.
    template <int Width, class Storage = dtype<Element>>
    static SMX_HD auto neg_inf() -> decltype(Storage::neg_inf(), detail::raw_pack<Element, Width>()) {
        return detail::raw_pack<Element, Width>::of([](int) { return Storage::neg_inf(); });
    }
};

template <class Element, detail::traffic Traffic>
struct memory_output_row {
    Element* start;

    template <int Width, class Compute>
    SMX_HD void store(int col, pack<Compute, Width> const& values) const {
        write_pack<Traffic>(start + col, narrow<Element>(values));
    }
    SMX_HD memory_output_row from(int col) const { return {detail::held_address<Traffic>(start + col)}; }
    // Whether packs, which start at multiples of Width from here, can be written whole; and writes one, or does not: no jump round the narrowing.
    template <int Width>
    SMX_HD bool takes_whole() const {
        return detail::is_aligned(start, detail::accesses<Element, Width>::widest);
    }
    template <int Width, class Compute>
    SMX_HD void store_whole(bool wanted, int col, pack<Compute, Width> const& values) const {
        detail::raw_pack<Element, Width> const raw = narrow<Element>(values);
        if (wanted) detail::write_as<detail::accesses<Element, Width>::widest, Traffic>(start + col, raw);
    }
    // And one where packs cannot.
    template <int Width, class Compute>
    SMX_HD void store_in_pieces(int col, pack<Compute, Width> const& values) const {
        detail::write_pieces<Traffic>(start + col, narrow<Element>(values));
    }
};

// Shape     data: batch x heads x queries x keys, `step` elements apart, key stride 1
// Requires  data aligned to one element, in global memory
template <class Element>
struct dense_input {
    Element const* data;
    int64 row_step;  // elements from every row to the next by index, where that is one number (launches work it out); 0: ask step
    strides step;
    SMX_HD constexpr dense_input(Element const* x, strides distances, int64 row_distance = 0) : data(x), row_step(row_distance), step(distances) {}

    static_assert((sizeof(Element) & (sizeof(Element) - 1)) == 0 && sizeof(Element) <= 16,
                  "an element has 1, 2, 4, 8 or 16 bytes: read others by an input of your own");
    using element = Element;
    using compute = compute_of<Element>;
    static constexpr int pack_columns = sizeof(Element) < 16 ? 16 / int{sizeof(Element)} : 1;

    using row = memory_input_row<Element, detail::traffic::streamed>;

    SMX_HD row bind(row_id id) const { return {row_step != 0 ? data + id.index * row_step : row_pointer(data, step, id)}; }
};

template <class Input, class = void>
inline constexpr int pack_columns_of = 16 / int{sizeof(typename Input::compute)};
template <class Input>
inline constexpr int pack_columns_of<Input, always_void<decltype(Input::pack_columns)>> = Input::pack_columns;

// Bytes of a stored element, of compute where an input does not say.
template <class Input, class = void>
inline constexpr int element_bytes_of = sizeof(typename Input::compute);
template <class Input>
inline constexpr int element_bytes_of<Input, always_void<typename Input::element>> = sizeof(typename Input::element);

namespace detail {

template <class Tensor, class = void>
inline constexpr bool binds = false;
template <class Tensor>
inline constexpr bool binds<Tensor, always_void<decltype(&Tensor::bind)>> = true;

template <class Input, int Width, class = void>
inline constexpr bool has_head = false;
template <class Input, int Width>
inline constexpr bool has_head<Input, Width, always_void<decltype(&Input::template head<Width>)>> = true;

// An input and an output that take the row with every call.
template <class Input>
struct unbound_input_row {
    Input const& input;
    row_id id;

    template <int Width>
    SMX_HD int head() const {
        if constexpr (has_head<Input, Width>) {
            return input.template head<Width>(id);
        } else {
            return 0;
        }
    }
    template <int Width>
    SMX_HD pack<typename Input::compute, Width> fetch(int col) const {
        return input.template load<Width>(id, col);
    }
    template <int Width>
    static SMX_HD pack<typename Input::compute, Width> widen(pack<typename Input::compute, Width> const& values) {
        return values;
    }
    template <int Width>
    static SMX_HD pack<typename Input::compute, Width> neg_inf() {
        return filled_pack<Width>(smx::neg_inf<typename Input::compute>());
    }
};
template <class Output>
struct unbound_output_row {
    Output const& output;
    row_id id;

    template <int Width, class Compute>
    SMX_HD void store(int col, pack<Compute, Width> const& values) const {
        output.template store<Width>(id, col, values);
    }
};

template <class Input>
SMX_HD auto input_row(Input const& input, row_id id) {
    if constexpr (binds<Input>) {
        return input.bind(id);
    } else {
        return unbound_input_row<Input>{input, id};
    }
}
template <class Output>
SMX_HD auto output_row(Output const& output, row_id id) {
    if constexpr (binds<Output>) {
        return output.bind(id);
    } else {
        return unbound_output_row<Output>{output, id};
    }
}

}  // namespace detail

// Columns of a row that come before the first pack.
template <int Width, class Input>
SMX_HD int head_of(Input const& input, row_id id) {
    return detail::input_row(input, id).template head<Width>();
}

// What happens to columns that a mask's structure hides.
enum class hidden {
    zeros,  // written as 0, or as its logarithm
    keep,   // outside the span of the mask: left as they are; an empty row of a forward pass is left whole
};

// What a row is normalised to.
enum class normalized {
    probabilities,
    logarithms,  // of probabilities; -inf in what is hidden
};

// Shape     data: as x, its own strides, key stride 1, rows apart from each other
// Requires  data aligned to one element, in global memory
template <class Element, hidden Hidden = hidden::zeros, normalized To = normalized::probabilities>
struct dense_output {
    Element* data;
    int64 row_step;  // as an input's
    strides step;
    SMX_HD constexpr dense_output(Element* y, strides distances, int64 row_distance = 0) : data(y), row_step(row_distance), step(distances) {}

    static_assert((sizeof(Element) & (sizeof(Element) - 1)) == 0 && sizeof(Element) <= 16,
                  "an element has 1, 2, 4, 8 or 16 bytes: write others by an output of your own");
    using element = Element;
    static constexpr hidden when_hidden = Hidden;
    static constexpr normalized normalized_to = To;

    using row = memory_output_row<Element, detail::traffic::streamed>;

    SMX_HD row bind(row_id id) const { return {row_step != 0 ? data + id.index * row_step : row_pointer(data, step, id)}; }
};

// An output says `static constexpr hidden when_hidden`; absent means zeros.
template <class Output, class = void>
inline constexpr hidden hidden_policy = hidden::zeros;
template <class Output>
inline constexpr hidden hidden_policy<Output, always_void<decltype(Output::when_hidden)>> = Output::when_hidden;

// And `static constexpr normalized normalized_to`; absent means probabilities.
template <class Output, class = void>
inline constexpr bool wants_logarithms = false;
template <class Output>
inline constexpr bool wants_logarithms<Output, always_void<decltype(Output::normalized_to)>> = Output::normalized_to == normalized::logarithms;

SMX_END
