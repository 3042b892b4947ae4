// Bodies of the backward pass: the gradient of a row's scores from its probabilities and their gradient.
//
// With s = factor * x + bias over the visible columns and y = softmax(s), y_j changes with s_k by y_j * ([j == k] - y_k), hence
//   dx_k = factor * sum over j of dy_j * y_j * ([j == k] - y_k) = factor * y_k * (dy_k - sum over j of dy_j * y_j).
// A hidden column has no s: it is in no sum, and its gradient is 0. So is every one of a row that sees nothing, whatever was written as its y.
// Where y was not kept it is exp(s - log-sum-exp).
// Source    J. S. Bridle, "Training stochastic model recognition algorithms as networks can lead to maximum mutual information estimation of
//           parameters", 1989: the derivative; T. Dao et al., "FlashAttention", 2022, appendix B.2: the sum that all columns share.
#pragma once
#include "../load_pair.hpp"
#include "../mask/selection.hpp"
#include "../recompute.hpp"
#include "../store.hpp"
#include "chunked.hpp"

SMX_BEGIN

// The sum of the products of two tiles with one map, over what one lane holds.
// Requires  what is hidden is 0 in both
// Callers   any lane, on its own
template <class Tile, class Beside>
SMX_HD typename Tile::compute inner_product(Tile const& a, Beside const& b) {
    using compute = typename Tile::compute;
    pack<compute, Tile::vec> sums = filled_pack<Tile::vec>(compute(0));
    a.for_live_registers([&](int p) {
        SMX_UNROLL
        for (int i = 0; i < Tile::vec; ++i) sums[i] += a.middle[p][i] * b.middle[p][i];
    });
    compute sum = folded(sums, plus());
    if (!a.has_edges()) return sum;
    int const edges = a.edges_to_visit();
    SMX_UNROLL
    for (int i = 0; i < edges; ++i) sum += a.edge[i] * b.edge[i];
    return sum;
}

// dy becomes dx = factor * y * (dy - inner), with inner the sum of dy * y over the whole row.
// Gives     0 in what is hidden, whatever factor and inner are
// Callers   any lane, on its own
template <class Probabilities, class Tile, class Selection>
SMX_HD void differentiate(Probabilities const& y, Tile& dy, typename Tile::compute inner, typename Tile::compute factor, Selection const& selected) {
    using compute = typename Tile::compute;
    // A product of -0 becomes 0 by the sum, which costs nothing beside the product.
    auto const gradient = [](compute probability, compute by, compute given, compute mean) { return probability * by * (given - mean) + compute(0); };
    int const packs = dy.packs_to_visit();
    int const stripes_in_use = dy.stripes_to_visit();
    SMX_UNROLL
    for (int b = 0; b < stripes_in_use; ++b) {
        if (dy.is_live(b)) {
            dy.for_packs(b, packs, [&](int p) {
                bool const touched = dy.touches_seen(p);
                compute const by = touched ? factor : compute(0), mean = touched ? inner : compute(0);
                SMX_UNROLL
                for (int i = 0; i < Tile::vec; ++i) dy.middle[p][i] = gradient(y.middle[p][i], by, dy.middle[p][i], mean);
            });
        } else {
            dy.for_packs(b, packs, [&](int p) { dy.middle[p] = filled_pack<Tile::vec>(compute(0)); });
        }
    }
    if (dy.has_edges()) {
        int const edges = dy.edges_to_visit();
        SMX_UNROLL
        for (int i = 0; i < edges; ++i) {
            bool const touched = dy.edge_is_seen(dy.edge_column(i));
            dy.edge[i] = gradient(y.edge[i], touched ? factor : compute(0), dy.edge[i], touched ? inner : compute(0));
        }
    }
    // Hidden columns of a pack are 0 times inner and factor.
    if (!is_finite(inner) || !is_finite(factor)) selected.clear(dy);
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
template <class Tile, class Group, class Input, class Gradient, class Mask, class Output>
SMX_HD void softmax_backward_row(Group& g, Input const& probabilities, Gradient const& gradients, typename Tile::compute factor, Mask const& masks,
                                 Output const& output, row_id row, extents shape) {
    using compute = typename Tile::compute;
    using y_tile = detail::tile_of_y<Tile, Input>;
    auto const bound = masks.bind(row, shape);
    read_ahead<y_tile, decltype(masks.bind(row, shape))> seen(bound);
    y_tile y;
    Tile dy;
    selection<y_tile, decltype(masks.bind(row, shape))> selected;
    smx::load_pair(g, y, probabilities, dy, gradients, row, seen);
    if constexpr (is_recomputed<Input>) probabilities.make_probabilities(y, factor, seen, row);
    selected.ask(y, seen);
    selected.clear(y);
    selected.clear(dy);
    compute const inner = g.all_reduce(smx::inner_product(y, dy), plus());
    smx::differentiate(y, dy, inner, factor, selected);
    smx::store(g, dy, output, row, seen.span());
}

// The same of a row of any length, which is read twice, a chunk at a time.
// Gives     every lane stores its own packs of a chunk, after all of that is loaded for the last time
// Cost      two reads of what can be visible of both, one write, one reduction
template <class Tile, class Group, class Input, class Gradient, class Mask, class Output>
SMX_HD void chunked_backward_row(Group& g, Input const& probabilities, Gradient const& gradients, typename Tile::compute factor, Mask const& masks,
                                 Output const& output, row_id row, extents shape) {
    using compute = typename Tile::compute;
    using y_tile = detail::tile_of_y<Tile, Input>;
    auto const bound = masks.bind(row, shape);
    read_ahead<y_tile, decltype(masks.bind(row, shape))> seen(bound);
    interval const visible = seen.span();
    row_chunks<Tile> const chunks(g, head_of<Tile::vec>(probabilities, row), row);

    y_tile y;
    Tile dy;
    selection<y_tile, decltype(masks.bind(row, shape))> selected;
    auto const load_visible = [&](interval part) {
        smx::load_pair(g, y, probabilities, dy, gradients, row, seen, part);
        if constexpr (is_recomputed<Input>) probabilities.make_probabilities(y, factor, seen, row);
        selected.ask(y, seen);
        selected.clear(y);
        selected.clear(dy);
    };

    compute inner = compute(0);
    for (int chunk = 0; chunk < chunks.count; ++chunk) {
        interval const part = chunks.part(chunk);
        if (part.begin >= visible.end || part.end <= visible.begin) continue;
        load_visible(part);
        inner += smx::inner_product(y, dy);
    }
    inner = g.all_reduce(inner, plus());

    for (int chunk = 0; chunk < chunks.count; ++chunk) {
        interval const part = chunks.part(chunk);
        if (part.begin < visible.end && part.end > visible.begin) {
            load_visible(part);
            smx::differentiate(y, dy, inner, factor, selected);
        } else {
            dy.cover(g.rank(), part, chunk == 0 ? chunks.before : 0, visible);
            smx::clear_all(dy);
        }
        smx::store(g, dy, output, row, visible);
    }
}

SMX_END
