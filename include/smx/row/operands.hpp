// Everything the rows of a call need, by value: what a kernel is given.
#pragma once
#include "../whole_rows.hpp"
#include "backward.hpp"

SMX_BEGIN

namespace detail {
// What a tile that keeps what is stored holds of scores under a mask: nothing can be added to what is stored.
template <class Input, class Seen>
using held_of = chosen_type<mask_biases<Seen>, typename Input::compute, stored_of<Input>>;
}  // namespace detail

template <class Input, class Factor, class Mask, class Output, class RowOutput>
struct operands {
    using input_type = Input;
    using output_type = Output;
    using compute = typename Input::compute;
    static constexpr int element_bytes = element_bytes_of<Input>;
    using seen_type = decltype(some<Mask>().bind(some<row_id>(), some<extents>()));
    static constexpr bool draws = is_dropped<Output>;
    using stored_type = chosen_type<wants_logarithms<Output> || draws, compute, detail::held_of<Input, seen_type>>;  // what a row may wait as
    static constexpr bool waits_as_stored = !wants_logarithms<Output> && !draws && !mask_biases<seen_type> && detail::gives_numbers<Input>;

    // In a kernel's parameters: what every row needs before it can load comes first, since each 64 bytes of them take a trip to memory.
    typename detail::whole_rows_of<Input, Output>::type whole;
    Mask masks;
    row_list rows;
    Input input;
    Factor factor;
    empty_row when_empty;
    Output output;
    RowOutput row_output;
    extents shape;
    row_axes axes;
    // Grids may take other rows first than those of the lowest index: launches say so.
    static constexpr bool may_be_in_panels = mask_tests<seen_type> || mask_biases<seen_type>;
    chosen_type<may_be_in_panels, row_panels, no_row_panels> panels = {};

    // Masks of tensors, and of which a part of a row comes, ask for more than the index of a row.
    static constexpr bool may_be_by_index = spans_row<seen_type> && !mask_tests<seen_type> && !mask_biases<seen_type>;
    SMX_HD row_id row(int64 index) const { return rows.at<may_be_by_index>(index, axes); }
    SMX_HD row_id row_at(int64 turn) const {
        if constexpr (may_be_in_panels) {
            if (rows.are_in_panels()) turn = panels.index_at(static_cast<unsigned>(turn));
        }
        return row(turn);
    }
};

// The same of a backward pass: probabilities and their gradient come in, the gradient of the scores goes out.
template <class Input, class Gradient, class Factor, class Mask, class Output>
struct backward_operands {
    using input_type = Input;
    using output_type = Output;
    using compute = chosen_type<(sizeof(typename Gradient::compute) > sizeof(typename Input::compute)), typename Gradient::compute, typename Input::compute>;
    static constexpr int element_bytes = element_bytes_of<Input>;
    using seen_type = decltype(some<Mask>().bind(some<row_id>(), some<extents>()));
    static constexpr bool draws = is_dropped<Gradient>;
    // As it is stored, where y may wait so too.
    static constexpr bool waits_as_stored = false;
    using stored_type = chosen_type<draws || is_recomputed<Input> || sizeof(detail::stored_of<Input>) != sizeof(detail::stored_of<Gradient>), compute,
                                    detail::stored_of<Gradient>>;

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

template <class Operands>
inline constexpr bool has_whole_rows = false;
template <class Source, class Factor, class Mask, class Target, hidden Hidden, normalized To, class RowOutput>
inline constexpr bool has_whole_rows<operands<dense_input<Source>, Factor, Mask, dense_output<Target, Hidden, To>, RowOutput>> = true;

// Numbers that the registers of a lane hold of a column: a score; y and dy; and what makes y of scores takes as much again.
template <class Operands>
inline constexpr int numbers_held = 1;
template <class Input, class Gradient, class Factor, class Mask, class Output>
inline constexpr int numbers_held<backward_operands<Input, Gradient, Factor, Mask, Output>> = is_recomputed<Input> ? 3 : 2;
// And those that it computes with, beside what may be held as it is stored: sums.
template <class Operands>
inline constexpr int numbers_added = 0;

}  // namespace detail

namespace detail {
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

// One row in the resident body. Clusters take rows by their index: few of those share what an L2 does not hold.
template <class Tile, class Group, class Operands>
SMX_HD void run_resident(Group& g, Operands const& o, int64 turn, void* memory = nullptr) {
    row_id const row = detail::has_slices<Group> ? o.row(turn) : o.row_at(turn);
    auto const stats = smx::softmax_row<Tile>(g, o.input, o.factor.template value<typename Tile::compute>(row), o.masks, o.output, row, o.shape,
                                         o.when_empty, memory);
    if (detail::is_first_lane(g)) o.row_output.store(row, stats);
}

namespace detail {
// The same tile without columns beside its packs.
template <class Tile>
struct without_ends;
template <int Lanes, int Vec, int Packs, class Compute, kept Kept, hidden_packs Hidden, product Product, class Stored, row_ends Ends, exponent Exponent, int Behind>
struct without_ends<tile<Lanes, Vec, Packs, Compute, Kept, Hidden, Product, Stored, Ends, Exponent, Behind>> {
    using type = tile<Lanes, Vec, Packs, Compute, Kept, Hidden, Product, Stored, row_ends::none, Exponent, Behind>;
};
}  // namespace detail

// One row that is whole packs (whole_rows.hpp), in the resident body.
// Requires  turn < o.whole.count; a scale that, where it is fixed, can wait; empty rows that become zeros; o.whole.slice_columns set where blocks share a row
template <class Tile, class Group, class Source, class Factor, class Mask, class Target, hidden Hidden, normalized To, class RowOutput>
SMX_HD void run_whole_row(Group& g, operands<dense_input<Source>, Factor, Mask, dense_output<Target, Hidden, To>, RowOutput> const& o, unsigned turn) {
    using tile_type = typename detail::without_ends<Tile>::type;
    using operands_type = operands<dense_input<Source>, Factor, Mask, dense_output<Target, Hidden, To>, RowOutput>;
    unsigned index = turn;
    if constexpr (operands_type::may_be_in_panels && !detail::has_slices<Group>) {
        if (o.whole.in_panels) index = o.panels.index_at(turn);
    }
    row_id const row = operands_type::may_be_by_index ? o.whole.by_index(index) : o.whole.at(index);
    detail::whole_input<Source> const input{o.whole.x, o.whole.x_step};
    detail::whole_output<Target, Hidden, To> const output{o.whole.y, o.whole.y_step};
    auto const factor = o.factor.template value<typename Tile::compute>(row);
#if SMX_DEVICE_CODE
    if constexpr (is_fixed_scale<Factor>) {
        __builtin_assume(factor >= smallest_waiting_factor<typename Tile::compute>());
        __builtin_assume(factor <= largest_waiting_factor<typename Tile::compute>());
    }
#endif
    auto const stats = smx::softmax_row<tile_type>(g, input, factor, o.masks, output, row, o.shape, empty_row::zeros);
    if (detail::is_first_lane(g)) o.row_output.store(row, stats);
}

// One row in the chunked body.
template <class Tile, class Group, class Keeper, class Operands>
SMX_HD void run_chunked(Group& g, Keeper keeper, Operands const& o, int64 turn) {
    row_id const row = o.row_at(turn);
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
