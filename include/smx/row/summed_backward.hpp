// A backward pass that adds up too, by value, and its rows: those that share a row of biases are one group's, in the order of their index.
#pragma once
#include "gradient_sums.hpp"
#include "operands.hpp"

SMX_BEGIN

// Where the gradient of a bias goes.
// Shape     output: as the bias, `step` elements apart; an axis with stride 0 is summed over. input: the same memory
template <class Element, class Input = dense_input<Element>, class Output = dense_output<Element>>
struct bias_sums {
    using element = Element;
    Input input;
    Output output;
    bool over_columns;  // key stride 0
};
struct no_bias_sums {
    using element = void;
};

// Where the gradient of the scale goes: a number a row, which the caller adds up over the rows that share a scale.
// Shape     data: batch x heads x queries, packed
template <class Element>
struct scale_gradients {
    Element* data;

    SMX_HD explicit constexpr scale_gradients(Element* per_row) : data(per_row) {}

    template <class Compute>
    SMX_HD void store(row_id row, Compute gradient) const {
        data[row.index] = dtype<Element>::narrow(gradient);
    }
};
struct no_scale_gradients {};

// Its rows, as kernels count them, are those that share nothing: a set of `shared` rows each, of which row() gives the first.
template <class Each, class Bias, class Scale>
struct summed_operands : Each {
    Bias bias;
    Scale scale;
    extents shared;  // of a set; its keys are not asked for

    static constexpr bool adds_columns = !same_type<Bias, no_bias_sums>;
    static constexpr bool adds_scores = !same_type<Scale, no_scale_gradients>;
    static constexpr bool may_be_by_index = Each::may_be_by_index && !adds_columns;

    SMX_HD int64 index_of(row_id const& row) const { return (row.batch * this->shape.heads + row.head) * this->shape.queries + row.query; }
    SMX_HD row_id row(int64 set) const {
        row_id first = this->rows.template at<may_be_by_index>(set, this->axes);
        if constexpr (adds_columns) first.index = index_of(first);
        return first;
    }
    // Calls visit(row) for all rows of a set, in the order of their index.
    template <class Visit>
    SMX_HD void for_rows(row_id const& first, Visit const& visit) const {
        SMX_KEEP_LOOP
        for (int64 b = 0; b < shared.batch; ++b) {
            SMX_KEEP_LOOP
            for (int64 h = 0; h < shared.heads; ++h) {
                SMX_KEEP_LOOP
                for (int64 q = 0; q < shared.queries; ++q) {
                    row_id one = first;
                    one.batch += b;
                    one.head += h;
                    one.query += q;
                    one.index = index_of(one);
                    visit(one);
                }
            }
        }
    }
};

template <class Each, class Bias, class Scale>
inline constexpr bool is_backward<summed_operands<Each, Bias, Scale>> = true;

namespace detail {

template <class Each, class Bias, class Scale>
inline constexpr int numbers_held<summed_operands<Each, Bias, Scale>> = numbers_held<Each>;
template <class Each, class Bias, class Scale>
inline constexpr int numbers_added<summed_operands<Each, Bias, Scale>> =
    int{summed_operands<Each, Bias, Scale>::adds_columns} + int{summed_operands<Each, Bias, Scale>::adds_scores};

template <class Tile, class Operands>
using score_sums_for = chosen_type<Operands::adds_scores, score_sums<Tile>, no_score_sums>;

// A row without its sums, in either body; and where the sum of its scores goes.
template <class Tile, class Group, class Operands, class Input, class Sums>
SMX_HD void run_summed_row(Group& g, Operands const& o, Input const& input, row_id row, Sums& sums) {
    if constexpr (Sums::of_scores) sums.restart();
    smx::softmax_backward_row<Tile>(g, input, o.gradient, o.factor.template value<typename Tile::compute>(row), o.masks, o.output, row, o.shape, sums);
    if constexpr (Sums::of_scores) {
        if (is_first_lane(g)) o.scale.store(row, sums.gradient);
    }
}
template <class Tile, class Group, class Operands, class Input, class Output, class Sums>
SMX_HD void run_summed_chunks(Group& g, Operands const& o, Input const& input, Output const& output, row_id row, Sums& sums) {
    if constexpr (Sums::of_scores) sums.restart();
    smx::chunked_backward_row<Tile>(g, input, o.gradient, o.factor.template value<typename Tile::compute>(row), o.masks, output, row, o.shape, sums);
    if constexpr (Sums::of_scores) {
        if (is_first_lane(g)) o.scale.store(row, sums.gradient);
    }
}

// The chunks of the slice that has the most of them: what meets in every chunk must go round as often in all.
struct more_chunks {
    SMX_HD int operator()(int a, int b) const { return a > b ? a : b; }
};
template <class Group>
SMX_HD int chunks_to_meet_in(Group& g, int count) {
    if constexpr (has_slices<Group>) {
        return g.all_reduce(count, more_chunks());
    } else {
        return count;
    }
}

// The sum over the lanes, as the one element of an output's row.
template <class Group, class Compute, class Output>
SMX_HD void store_total(Group& g, Compute of_lane, Output const& output, row_id row) {
    pack<Compute, 1> const total{{g.all_reduce(of_lane, plus())}};
    row.cols = 1;
    if (is_first_lane(g)) output_row(output, row).template store<1>(0, total);
}

}  // namespace detail

// The rows of a set in the resident body.
// Cost      as the rows without sums; a number more a column in the registers, one write of the sums
template <class Tile, class Group, class Each, class Bias, class Scale>
SMX_HD void run_resident(Group& g, summed_operands<Each, Bias, Scale> const& o, int64 index, void* = nullptr) {
    using operands = summed_operands<Each, Bias, Scale>;
    using scores = detail::score_sums_for<Tile, operands>;
    row_id const first = o.row(index);
    if constexpr (!operands::adds_columns) {
        gradient_sums<no_column_sums, scores> sums;
        detail::run_summed_row<Tile>(g, o, o.input, first, sums);
    } else {
        int const head = head_of<Tile::vec>(o.input, first);
        auto const input = detail::in_phase<Tile>(o.input, head);
        interval const part = detail::part_of_row<Tile>(g, head, first);
        gradient_sums<column_sums<Tile>, scores> sums;
        sums.clear(g, part, part.begin == 0 ? head : 0);
        o.for_rows(first, [&](row_id row) { detail::run_summed_row<Tile>(g, o, input, row, sums); });
        if (o.bias.over_columns) {
            detail::store_total(g, detail::sum_of(sums.columns), o.bias.output, first);
        } else {
            smx::store(g, sums.columns, o.bias.output, first, interval{0, first.cols});
        }
    }
}

// The same in the chunked body.
// Cost      as the rows without sums; where those have the elements they are added up in, a read and a write of them a row; or else the first read
//           of a row once more for every chunk
template <class Tile, class Group, class Each, class Bias, class Scale>
SMX_HD void run_chunked(Group& g, online, summed_operands<Each, Bias, Scale> const& o, int64 index) {
    using operands = summed_operands<Each, Bias, Scale>;
    using compute = typename Tile::compute;
    using scores = detail::score_sums_for<Tile, operands>;
    row_id const first = o.row(index);
    if constexpr (!operands::adds_columns) {
        gradient_sums<no_column_sums, scores> sums;
        detail::run_summed_chunks<Tile>(g, o, o.input, o.output, first, sums);
    } else {
        int const head = head_of<Tile::vec>(o.input, first);
        auto const input = detail::in_phase<Tile>(o.input, head);
        row_chunks<Tile> const chunks(g, head, first);
        if constexpr (same_type<typename Bias::element, compute>) {
            gradient_sums<waiting_column_sums<Tile, Bias>, scores> sums;
            sums.start(&o.bias, first, head);
            o.for_rows(first, [&](row_id row) {
                detail::run_summed_chunks<Tile>(g, o, input, o.output, row, sums);
                sums.is_fresh = false;
            });
            if (o.bias.over_columns) {
                detail::store_total(g, sums.of_lane, o.bias.output, first);
            } else if (sums.is_fresh) {
                for (int chunk = 0; chunk < chunks.count; ++chunk) {  // of no rows
                    sums.begin(g, chunks.part(chunk), chunk == 0 ? chunks.before : 0);
                    sums.end(g);
                }
            }
        } else {
            compute of_lane = compute(0);
            gradient_sums<chunk_sums<Tile>, no_score_sums> sums;
            int const rounds = detail::chunks_to_meet_in(g, chunks.count);
            for (int chunk = 0; chunk < rounds; ++chunk) {
                sums.chunk = chunk;
                if (chunk < chunks.count) sums.clear(g, chunks.part(chunk), chunk == 0 ? chunks.before : 0);
                o.for_rows(first, [&](row_id row) { detail::run_summed_chunks<Tile>(g, o, input, no_output(), row, sums); });
                if (chunk >= chunks.count) continue;
                if (o.bias.over_columns) {
                    of_lane += detail::sum_of(sums.columns);
                } else {
                    smx::store(g, sums.columns, o.bias.output, first, interval{0, first.cols});
                }
            }
            if (o.bias.over_columns) detail::store_total(g, of_lane, o.bias.output, first);
            gradient_sums<no_column_sums, scores> products;  // dx may be dy, which is read for the last time here
            o.for_rows(first, [&](row_id row) { detail::run_summed_chunks<Tile>(g, o, input, o.output, row, products); });
        }
    }
}

SMX_END
