// Bodies of the backward pass: the gradient of a row's scores from its probabilities and their gradient.
//
// With s = factor * x + bias over the visible columns and y = softmax(s), y_j changes with s_k by y_j * ([j == k] - y_k), hence
//   dx_k = factor * sum over j of dy_j * y_j * ([j == k] - y_k) = factor * y_k * (dy_k - sum over j of dy_j * y_j).
// A hidden column has no s: it is in no sum, and its gradient is 0. So is every one of a row that sees nothing, whatever was written as its y.
// Where y was not kept it is exp(s - log-sum-exp). Where d = m * y left the forward pass, with m = 1 / (1 - p) in what a dropout kept and 0 elsewhere,
// dy is m times the gradient of d.
// Where not y but z = ln y left the forward pass, z_j changes with s_k by [j == k] - y_k, hence, dy being the gradient of z,
//   dx_k = factor * (dy_k - y_k * sum over j of dy_j).
// Without the factor either is the gradient of s_k: that of a bias is its sum over the rows, and columns, to which the bias is added; that of a factor
// the sum of its products with x_k (row/gradient_sums.hpp).
// Source    J. S. Bridle, "Training stochastic model recognition algorithms as networks can lead to maximum mutual information estimation of
//           parameters", 1989: the derivative; T. Dao et al., "FlashAttention", 2022, appendix B.2: the sum that all columns share.
#pragma once
#include "../dropped.hpp"
#include "../load_pair.hpp"
#include "../mask/selection.hpp"
#include "../recompute.hpp"
#include "../store.hpp"
#include "chunked.hpp"

SMX_BEGIN

// What the columns of a row add to a sum that all of them share, and the gradient that follows from it: dy of y, and of ln y. A product of -0 becomes
// 0 by the sum, which costs nothing beside the product.
struct derivative_of_probabilities {
    template <class Compute>
    static SMX_HD Compute term(Compute y, Compute dy) {
        return y * dy;
    }
    template <class Compute>
    static SMX_HD Compute gradient(Compute y, Compute factor, Compute dy, Compute inner) {
        return y * factor * (dy - inner) + Compute(0);
    }
};
struct derivative_of_logarithms {
    template <class Compute>
    static SMX_HD Compute term(Compute, Compute dy) {
        return dy;
    }
    template <class Compute>
    static SMX_HD Compute gradient(Compute y, Compute factor, Compute dy, Compute inner) {
        return factor * (dy - y * inner) + Compute(0);
    }
};
template <class Input>
using derivative_of = chosen_type<is_of_logarithms<Input>, derivative_of_logarithms, derivative_of_probabilities>;

// The sum of the terms of y and dy, two tiles with one map, over what one lane holds.
// Requires  what is hidden is 0 in both
// Callers   any lane, on its own
template <class Derivative = derivative_of_probabilities, class Tile, class Beside>
SMX_HD typename Tile::compute inner_product(Tile const& y, Beside const& dy) {
    using compute = typename Tile::compute;
    pack<compute, Tile::vec> sums = filled_pack<Tile::vec>(compute(0));
    y.for_live_registers([&](int p) {
        auto const& ys = widen<compute>(y.middle[p]);
        auto const& dys = widen<compute>(dy.middle[p]);
        SMX_UNROLL
        for (int i = 0; i < Tile::vec; ++i) sums[i] += Derivative::term(ys[i], dys[i]);
    });
    compute sum = folded(sums, plus());
    if (!y.has_edges()) return sum;
    int const edges = y.edges_to_visit();
    SMX_UNROLL
    for (int i = 0; i < edges; ++i) sum += Derivative::term(y.edge[i], dy.edge[i]);
    return sum;
}

// What else a backward pass adds up: nothing. Any other says with `true` which of these it has:
//   of_scores    keep(scores), before they become probabilities; add_products<Derivative>(y, dy, selected) and then, once a row, finish(g, inner)
//   of_columns   add(p, pack) and add_edge(i, number), which store_gradients gives the gradients without the factor
//   in_chunks    begin(g, part, before) and end(g), round what store_gradients does to a chunk, also to one of which nothing is visible; of the
//                chunks alone for which takes(chunk)
struct no_column_sums {
    static constexpr bool of_columns = false, in_chunks = false;
};
struct no_score_sums {
    static constexpr bool of_scores = false;
};
struct no_sums : no_column_sums, no_score_sums {};

// Writes dx, with inner the sum of the terms over the whole row; in what is hidden 0, whatever factor and inner are.
// Requires  the span that load_pair was given
// Callers   any lane, on its own
template <class Derivative = derivative_of_probabilities, class Group, class Probabilities, class Tile, class Selection, class Output, class Sums>
SMX_HD void store_gradients(Group&, Probabilities& y, Tile& dy, typename Tile::compute inner, typename Tile::compute factor, Selection const& selected,
                            Output const& output, row_id row, interval span, [[maybe_unused]] Sums& sums) {
    using compute = typename Tile::compute;
    detail::forget_widened(y);
    detail::forget_widened(dy);
    // Where not, hidden columns of a pack are not 0: they are 0 times inner and factor.
    bool const are_finite = is_finite(inner) && is_finite(factor);
    if (dy.has_edges()) {
        int const edges = dy.edges_to_visit();
        SMX_UNROLL
        for (int i = 0; i < edges; ++i) {
            bool const touched = dy.edge_is_seen(dy.edge_column(i));
            if constexpr (Sums::of_columns) {
                bool const counts = are_finite || selected.shows_edge(dy, i);
                sums.add_edge(i, counts ? Derivative::gradient(y.edge[i], compute(1), dy.edge[i], touched ? inner : compute(0)) : compute(0));
            }
            dy.edge[i] = Derivative::gradient(y.edge[i], touched ? factor : compute(0), dy.edge[i], touched ? inner : compute(0));
        }
        if (!are_finite) selected.clear_edges(dy);
    }
    detail::store_values<true>(dy, output, row, span, [&](int p, typename Tile::held_pack const& held) {
        pack<compute, Tile::vec> gradients = filled_pack<Tile::vec>(compute(0));
        if (!dy.is_live(p / Tile::packs_per_stripe)) return gradients;
        bool const touched = dy.touches_seen(p);
        compute const by = touched ? factor : compute(0), mean = touched ? inner : compute(0);
        auto const& ys = widen<compute>(y.middle[p]);
        auto const& dys = widen<compute>(held);
        SMX_UNROLL
        for (int i = 0; i < Tile::vec; ++i) gradients[i] = Derivative::gradient(ys[i], by, dys[i], mean);
        if (!are_finite) selected.clear_pack(dy, p, gradients);
        if constexpr (Sums::of_columns) {
            pack<compute, Tile::vec> of_biases;
            SMX_UNROLL
            for (int i = 0; i < Tile::vec; ++i) of_biases[i] = Derivative::gradient(ys[i], compute(1), dys[i], mean);
            if (!are_finite) selected.clear_pack(dy, p, of_biases);
            sums.add(p, of_biases);
        }
        return gradients;
    });
}
template <class Derivative = derivative_of_probabilities, class Group, class Probabilities, class Tile, class Selection, class Output>
SMX_HD void store_gradients(Group& g, Probabilities& y, Tile& dy, typename Tile::compute inner, typename Tile::compute factor, Selection const& selected,
                            Output const& output, row_id row, interval span) {
    no_sums none;
    smx::store_gradients<Derivative>(g, y, dy, inner, factor, selected, output, row, span, none);
}

// A tile of zeros.
template <class Tile>
SMX_HD void clear_all(Tile& t) {
    using compute = typename Tile::compute;
    int const packs = t.packs_to_visit();
    SMX_UNROLL
    for (int p = 0; p < packs; ++p) t.middle[p] = filled_pack<Tile::vec>(compute(0));
    int const edges = t.edges_to_visit();
    SMX_UNROLL
    for (int i = 0; i < edges; ++i) t.edge[i] = compute(0);
}

// The gradient of the scores of one row, from its probabilities and their gradient.
// Requires  row.cols <= Tile::capacity; the mask of the forward pass
// Callers   all lanes of g, convergent; lanes of one group pass the same row
// Gives     every lane stores its own packs, after all of the row is loaded: the output may be where the gradient was
// Storage   g's, reusable without a barrier
// Cost      one read of what can be visible of both, one write, one reduction
template <class Tile, class Group, class Input, class Gradient, class Mask, class Output, class Sums>
SMX_HD void softmax_backward_row(Group& g, Input const& probabilities, Gradient const& gradients, typename Tile::compute factor, Mask const& masks,
                                 Output const& output, row_id row, extents shape, [[maybe_unused]] Sums& sums) {
    using compute = typename Tile::compute;
    using y_tile = detail::tile_of_y<Tile, Input>;
    auto const bound = masks.bind(row, shape);
    read_ahead<y_tile, decltype(masks.bind(row, shape))> seen(bound);
    y_tile y;
    Tile dy;
    selection<y_tile, decltype(masks.bind(row, shape))> selected;
    decltype(auto) drawn = detail::part_ahead<y_tile>(gradients, row);
    decltype(auto) ahead = detail::ahead_of<y_tile, Gradient>(seen, drawn);
    smx::load_pair(g, y, probabilities, dy, gradients, row, ahead);
    if constexpr (Sums::of_scores) sums.keep(y);
    if constexpr (is_dropped<Gradient>) drawn.drop(dy);
    if constexpr (is_recomputed<Input>) probabilities.make_probabilities(y, dy, factor, seen, row);
    selected.ask(y, seen);
    selected.clear(y);
    selected.clear(dy);
    if constexpr (Sums::of_scores) sums.template add_products<derivative_of<Input>>(y, dy, selected);
    compute const inner = g.all_reduce(smx::inner_product<derivative_of<Input>>(y, dy), plus());
    if constexpr (Sums::of_scores) sums.finish(g, inner);
    smx::store_gradients<derivative_of<Input>>(g, y, dy, inner, factor, selected, output, row, seen.span(), sums);
}
template <class Tile, class Group, class Input, class Gradient, class Mask, class Output>
SMX_HD void softmax_backward_row(Group& g, Input const& probabilities, Gradient const& gradients, typename Tile::compute factor, Mask const& masks,
                                 Output const& output, row_id row, extents shape) {
    no_sums none;
    smx::softmax_backward_row<Tile>(g, probabilities, gradients, factor, masks, output, row, shape, none);
}

// The same of a row of any length, which is read twice, a chunk at a time.
// Gives     every lane stores its own packs of a chunk, after all of that is loaded for the last time
// Cost      two reads of what can be visible of both, one write, one reduction
template <class Tile, class Group, class Input, class Gradient, class Mask, class Output, class Sums>
SMX_HD void chunked_backward_row(Group& g, Input const& probabilities, Gradient const& gradients, typename Tile::compute factor, Mask const& masks,
                                 Output const& output, row_id row, extents shape, [[maybe_unused]] Sums& sums) {
    using compute = typename Tile::compute;
    using y_tile = detail::tile_of_y<Tile, Input>;
    auto const bound = masks.bind(row, shape);
    read_ahead<y_tile, decltype(masks.bind(row, shape))> seen(bound);
    interval const visible = seen.span();
    row_chunks<Tile> const chunks(g, head_of<Tile::vec>(probabilities, row), row);

    y_tile y;
    Tile dy;
    selection<y_tile, decltype(masks.bind(row, shape))> selected;
    decltype(auto) drawn = detail::part_ahead<y_tile>(gradients, row);
    decltype(auto) ahead = detail::ahead_of<y_tile, Gradient>(seen, drawn);
    auto const load_visible = [&](interval part) {
        smx::load_pair(g, y, probabilities, dy, gradients, row, ahead, part);
        if constexpr (Sums::of_scores) sums.keep(y);
        if constexpr (is_dropped<Gradient>) drawn.drop(dy);
        if constexpr (is_recomputed<Input>) probabilities.make_probabilities(y, dy, factor, seen, row);
        selected.ask(y, seen);
        selected.clear(y);
        selected.clear(dy);
    };

    compute inner = compute(0);
    for (int chunk = 0; chunk < chunks.count; ++chunk) {
        interval const part = chunks.part(chunk);
        if (part.begin >= visible.end || part.end <= visible.begin) continue;
        load_visible(part);
        if constexpr (Sums::of_scores) sums.template add_products<derivative_of<Input>>(y, dy, selected);
        inner += smx::inner_product<derivative_of<Input>>(y, dy);
    }
    inner = g.all_reduce(inner, plus());
    if constexpr (Sums::of_scores) sums.finish(g, inner);

    for (int chunk = 0; chunk < chunks.count; ++chunk) {
        interval const part = chunks.part(chunk);
        if constexpr (Sums::in_chunks) {
            if (!sums.takes(chunk)) continue;
            sums.begin(g, part, chunk == 0 ? chunks.before : 0);
        }
        if (part.begin < visible.end && part.end > visible.begin) {
            load_visible(part);
            smx::store_gradients<derivative_of<Input>>(g, y, dy, inner, factor, selected, output, row, visible, sums);
        } else {
            dy.cover(g.rank(), part, chunk == 0 ? chunks.before : 0, visible);
            smx::clear_all(dy);
            smx::store(g, dy, output, row, visible);
        }
        if constexpr (Sums::in_chunks) sums.end(g);
    }
}
template <class Tile, class Group, class Input, class Gradient, class Mask, class Output>
SMX_HD void chunked_backward_row(Group& g, Input const& probabilities, Gradient const& gradients, typename Tile::compute factor, Mask const& masks,
                                 Output const& output, row_id row, extents shape) {
    no_sums none;
    smx::chunked_backward_row<Tile>(g, probabilities, gradients, factor, masks, output, row, shape, none);
}

SMX_END
