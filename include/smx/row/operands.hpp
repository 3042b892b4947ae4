// Everything the rows of a call need, by value: what a kernel is given.
#pragma once
#include "backward.hpp"

SMX_BEGIN

template <class Input, class Factor, class Mask, class Output, class RowOutput>
struct operands {
    using input_type = Input;
    using output_type = Output;
    using compute = typename Input::compute;
    static constexpr int element_bytes = element_bytes_of<Input>;
    using seen_type = decltype(some<Mask>().bind(some<row_id>(), some<extents>()));

    // In a kernel's parameters: what every row needs before it can load comes first, since each 64 bytes of them take a trip to memory.
    row_list rows;
    Input input;
    Factor factor;
    empty_row when_empty;
    Output output;
    RowOutput row_output;
    Mask masks;
    extents shape;
    row_axes axes;

    // Masks of tensors, and of which a part of a row comes, ask for more than the index of a row.
    static constexpr bool may_be_by_index = spans_row<seen_type> && !mask_tests<seen_type> && !mask_biases<seen_type>;
    SMX_HD row_id row(int64 index) const { return rows.at<may_be_by_index>(index, axes); }
};

// The same of a backward pass: probabilities and their gradient come in, the gradient of the scores goes out.
template <class Input, class Gradient, class Factor, class Mask, class Output>
struct backward_operands {
    using input_type = Input;
    using output_type = Output;
    using compute = chosen_type<(sizeof(typename Gradient::compute) > sizeof(typename Input::compute)), typename Gradient::compute, typename Input::compute>;
    static constexpr int element_bytes = element_bytes_of<Input>;
    using seen_type = decltype(some<Mask>().bind(some<row_id>(), some<extents>()));

    row_list rows;
    Input input;
    Gradient gradient;
    Factor factor;
    Output output;
    Mask masks;
    extents shape;
    row_axes axes;

    static constexpr bool may_be_by_index = spans_row<seen_type> && !mask_tests<seen_type> && !mask_biases<seen_type>;
    SMX_HD row_id row(int64 index) const { return rows.at<may_be_by_index>(index, axes); }
};

template <class Operands>
inline constexpr bool is_backward = false;
template <class Input, class Gradient, class Factor, class Mask, class Output>
inline constexpr bool is_backward<backward_operands<Input, Gradient, Factor, Mask, Output>> = true;

namespace detail {

// Numbers that the registers of a lane hold of a column: a score; y and dy; and what makes y of scores takes as much again.
template <class Operands>
inline constexpr int numbers_held = 1;
template <class Input, class Gradient, class Factor, class Mask, class Output>
inline constexpr int numbers_held<backward_operands<Input, Gradient, Factor, Mask, Output>> = is_recomputed<Input> ? 3 : 2;

// Threads an SM of a backward kernel that leave a lane the registers it needs without spills (ptxas 13.0, sm_90). Not yet measured.
SMX_HD constexpr int backward_threads_wanted(int words, bool wide, bool asks) {
    if (words <= 16) return wide ? (asks ? 1152 : 1280) : asks ? 896 : 1152;
    if (words <= 24) return asks ? 768 : 1024;
    if (words <= 32) return wide ? (asks ? 1152 : 1280) : asks ? 768 : 1024;
    return words <= 48 ? (asks ? 512 : 640) : asks ? 256 : 512;
}

}  // namespace detail

namespace detail {
// What a tile may hold of an input's scores: what is stored, where a row fetches that, it is smaller and something stored is -inf; or else the
// type to compute with.
template <class Input, class = void>
struct stored_element {
    using type = typename Input::compute;
};
template <class Input>
struct stored_element<Input, always_void<typename Input::element>> {
    using element = typename Input::element;
    using row = decltype(input_row(some<Input>(), row_id()));
    using fetched = decltype(some<row>().template fetch<1>(0));
    static constexpr bool is_smaller = sizeof(element) < sizeof(float) && same_type<typename Input::compute, float>;
    using type = chosen_type<is_smaller && same_type<fetched, raw_pack<element, 1>> && has_neg_inf<row, 1>, element, typename Input::compute>;
};
template <class Input>
using stored_of = typename stored_element<Input>::type;
// And what it does hold of them under a mask: nothing can be added to what is stored.
template <class Input, class Seen>
using held_of = chosen_type<mask_biases<Seen>, typename Input::compute, stored_of<Input>>;

// The lane that writes what a row gives besides its probabilities.
template <class Group>
SMX_HD bool is_first_lane(Group const& g) {
    if constexpr (has_slices<Group>) {
        return g.rank() == 0 && g.slice() == 0;
    } else {
        return g.rank() == 0;
    }
}
}  // namespace detail

// One row in the resident body.
template <class Tile, class Group, class Operands>
SMX_HD void run_resident(Group& g, Operands const& o, int64 index, void* memory = nullptr) {
    row_id const row = o.row(index);
    auto const stats = smx::softmax_row<Tile>(g, o.input, o.factor.template value<typename Tile::compute>(row), o.masks, o.output, row, o.shape,
                                         o.when_empty, memory);
    if (detail::is_first_lane(g)) o.row_output.store(row, stats);
}

// One row in the chunked body.
template <class Tile, class Group, class Keeper, class Operands>
SMX_HD void run_chunked(Group& g, Keeper keeper, Operands const& o, int64 index) {
    row_id const row = o.row(index);
    auto const stats = smx::chunked_row<Tile>(g, keeper, o.input, o.factor.template value<typename Tile::compute>(row), o.masks, o.output, row,
                                         o.shape, o.when_empty);
    if (detail::is_first_lane(g)) o.row_output.store(row, stats);
}

// One row of a backward pass in either body.
template <class Tile, class Group, class Input, class Gradient, class Factor, class Mask, class Output>
SMX_HD void run_resident(Group& g, backward_operands<Input, Gradient, Factor, Mask, Output> const& o, int64 index, void* = nullptr) {
    row_id const row = o.row(index);
    smx::softmax_backward_row<Tile>(g, o.input, o.gradient, o.factor.template value<typename Tile::compute>(row), o.masks, o.output, row, o.shape);
}
template <class Tile, class Group, class Input, class Gradient, class Factor, class Mask, class Output>
SMX_HD void run_chunked(Group& g, online, backward_operands<Input, Gradient, Factor, Mask, Output> const& o, int64 index) {
    row_id const row = o.row(index);
    smx::chunked_backward_row<Tile>(g, o.input, o.gradient, o.factor.template value<typename Tile::compute>(row), o.masks, o.output, row, o.shape);
}

SMX_END
