// What a backward pass adds up beside the gradient of the scores: over rows that share a row of biases, and over products with the scores.
//
// With s = scale * x + bias, ds the gradient of s:  dbias = sum of ds over all rows, and columns, to which an element of bias is added;
//   dscale = sum over k of ds_k * x_k = sum of t_k * x_k - inner * sum of y_k * x_k,  t_k the terms of row/backward.hpp, inner their sum.
// Every sum is taken in one order, by registers that nobody else adds to: the same bits every run.
// Source    the chain rule; T. Dao et al., "FlashAttention", 2022, appendix B.2: ds.
#pragma once
#include "backward.hpp"

SMX_BEGIN

namespace detail {

// The sum of all that one lane holds.
template <class Tile>
SMX_HD typename Tile::compute sum_of(Tile const& t) {
    return smx::inner_product<derivative_of_logarithms>(t, t);
}

// Packs of a row that start at a column where those of other rows do: single columns, where the row's own start elsewhere.
template <class Row, class Compute>
struct row_in_phase {
    Row row;
    int first;

    template <int Width>
    SMX_HD int head() const {
        return first;
    }
    template <int Width>
    SMX_HD auto fetch(int col) const {
        if constexpr (is_raw_pack<decltype(row.template fetch<Width>(col))>) {
            return Width == 1 || packs_may_start<Width>(row, first) ? row.template fetch<Width>(col) : singles().template fetch<Width>(col);
        } else {
            return Width == 1 || packs_may_start<Width>(row, first) ? row.template widen<Width>(row.template fetch<Width>(col))
                                                                    : singles().template fetch<Width>(col);
        }
    }
    template <int Width, class Fetched>
    SMX_HD pack<Compute, Width> widen(Fetched const& fetched) const {
        if constexpr (is_raw_pack<Fetched>) {
            return row.template widen<Width>(fetched);
        } else {
            return fetched;
        }
    }
    template <int Width, class Source = Row>
    static SMX_HD auto neg_inf() -> decltype(Source::template neg_inf<Width>()) {
        return Source::template neg_inf<Width>();
    }

private:
    SMX_HD row_of_singles<Row, Compute> singles() const { return {row}; }
};

template <class Input>
struct input_in_phase {
    Input input;
    int first;

    using compute = typename Input::compute;

    SMX_HD auto bind(row_id id) const { return row_in_phase<decltype(input_row(input, id)), compute>{input_row(input, id), first}; }
};
template <class Input>
struct stored_element<input_in_phase<Input>, void> : stored_element<Input> {};

// An input whose rows all have `first` columns before their first pack, so that a lane has the same columns of each. A tile that takes whole packs
// takes them from the beginning of every row as it is.
template <class Tile, class Input>
SMX_HD auto in_phase(Input const& input, int first) {
    if constexpr (Tile::fills_packs) {
        return input;
    } else {
        return input_in_phase<Input>{input, first};
    }
}
template <class Tile, class Input, class Sum, normalized To>
SMX_HD auto in_phase(recomputed_input<Input, Sum, To> const& y, int first) {
    auto const scores = detail::in_phase<Tile>(y.scores, first);
    return recomputed_input<decltype(detail::in_phase<Tile>(y.scores, first)), Sum, To>{scores, y.sums};
}
template <class Tile, class Input>
SMX_HD auto in_phase(recomputed_input<Input, void, normalized::logarithms> const& y, int first) {
    auto const scores = detail::in_phase<Tile>(y.scores, first);
    return recomputed_input<decltype(detail::in_phase<Tile>(y.scores, first)), void, normalized::logarithms>{scores};
}

}  // namespace detail

// Sums of columns: the gradients of rows, a column each, in the registers that hold them.
template <class Tile>
struct column_sums {
    static constexpr bool of_columns = true, in_chunks = false;
    using compute = typename Tile::compute;

    detail::tile_beside<Tile> columns;

    // Columns `part` of a row, of which `before` come before the first pack.
    template <class Group>
    SMX_HD void clear(Group const& g, interval part, int before) {
        columns.cover(g.rank(), part, before, part);
        smx::clear_all(columns);
    }
    SMX_HD void add(int p, pack<compute, Tile::vec> const& gradients) {
        SMX_UNROLL
        for (int i = 0; i < Tile::vec; ++i) columns.middle[p][i] += gradients[i];
    }
    SMX_HD void add_edge(int i, compute gradient) { columns.edge[i] += gradient; }
};

// The same of the chunks of a row. Between the rows they wait where they are written in the end, in elements of the type they are added up in: every
// lane reads what it wrote itself, so that no barrier is needed. Where all columns share an element, it is the lane that adds them up.
// Requires  rows in one phase
template <class Tile, class Memory>
struct waiting_column_sums : column_sums<Tile> {
    static constexpr bool in_chunks = true;

    Memory const* memory;  // bias_sums
    row_id row;
    int first;      // columns before the first pack
    bool is_fresh;  // nothing waits yet
    typename Tile::compute of_lane;

    SMX_HD void start(Memory const* where, row_id of, int before) {
        memory = where;
        row = of;
        first = before;
        is_fresh = true;
        of_lane = typename Tile::compute(0);
    }
    static SMX_HD constexpr bool takes(int) { return true; }
    template <class Group>
    SMX_HD void begin(Group& g, interval part, int before) {
        if (is_fresh || memory->over_columns) return this->clear(g, part, before);
        smx::load(g, this->columns, detail::in_phase<Tile>(memory->input, first), row, interval{0, row.cols}, part);
    }
    template <class Group>
    SMX_HD void end(Group& g) {
        if (memory->over_columns) {
            of_lane += detail::sum_of(this->columns);
        } else {
            smx::store(g, this->columns, memory->output, row, interval{0, row.cols});
        }
    }
};
// And of one chunk of every row.
template <class Tile>
struct chunk_sums : column_sums<Tile> {
    static constexpr bool in_chunks = true;

    int chunk;

    SMX_HD bool takes(int one) const { return one == chunk; }
    template <class Group>
    SMX_HD void begin(Group&, interval, int) {}
    template <class Group>
    SMX_HD void end(Group&) {}
};

// The gradient of a row's scale, from the scores: what is not finite in hidden columns counts as nothing, and so does an infinite score, whose
// probability is 0 or NaN.
template <class Tile>
struct score_sums {
    static constexpr bool of_scores = true;
    using compute = typename Tile::compute;

    detail::tile_beside<Tile> scores;
    compute with_terms, with_probabilities;
    compute gradient;  // after finish()

    SMX_HD void restart() { with_terms = with_probabilities = compute(0); }
    template <class Loaded>
    SMX_HD void keep(Loaded const& x) {
        scores.map = x.map;
        x.for_live_registers([&](int p) {
            auto const& xs = widen<compute>(x.middle[p]);
            SMX_UNROLL
            for (int i = 0; i < Tile::vec; ++i) scores.middle[p][i] = without_infinity(xs[i]);
        });
        if (!x.has_edges()) return;
        int const edges = x.edges_to_visit();
        SMX_UNROLL
        for (int i = 0; i < edges; ++i) scores.edge[i] = without_infinity(x.edge[i]);
    }
    // Requires  what is hidden is 0 in y and dy
    template <class Derivative, class Probabilities, class Beside, class Selection>
    SMX_HD void add_products(Probabilities const& y, Beside const& dy, Selection const& selected) {
        selected.clear(scores);
        pack<compute, Tile::vec> first = filled_pack<Tile::vec>(compute(0)), second = first;
        scores.for_live_registers([&](int p) {
            auto const& ys = widen<compute>(y.middle[p]);
            auto const& dys = widen<compute>(dy.middle[p]);
            SMX_UNROLL
            for (int i = 0; i < Tile::vec; ++i) {
                first[i] += Derivative::term(ys[i], dys[i]) * scores.middle[p][i];
                second[i] += ys[i] * scores.middle[p][i];
            }
        });
        with_terms += folded(first, plus());
        with_probabilities += folded(second, plus());
        if (!scores.has_edges()) return;
        int const edges = scores.edges_to_visit();
        SMX_UNROLL
        for (int i = 0; i < edges; ++i) {
            with_terms += Derivative::term(y.edge[i], dy.edge[i]) * scores.edge[i];
            with_probabilities += y.edge[i] * scores.edge[i];
        }
    }
    // Callers   all lanes of g
    template <class Group>
    SMX_HD void finish(Group& g, compute inner) {
        gradient = g.all_reduce(with_terms - inner * with_probabilities, plus());
    }

private:
    static SMX_HD compute without_infinity(compute score) { return score == neg_inf<compute>() || score == -neg_inf<compute>() ? compute(0) : score; }
};

template <class Columns, class Scores>
struct gradient_sums : Columns, Scores {};

SMX_END
