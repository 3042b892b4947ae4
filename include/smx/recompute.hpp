// Probabilities made again from the scores and their log-sum-exp, or from their logarithms: for a backward pass of rows whose probabilities were not kept.
#pragma once
#include "fetched.hpp"
#include "mask.hpp"
#include "normalize.hpp"
#include "scale.hpp"
#include "tensor.hpp"

SMX_BEGIN

namespace detail {
// A gradient of logarithms counts as 0 where they are -inf: there nothing could have come of it.
template <class Tile, class Beside>
SMX_HD void clear_beside_neg_inf(Tile const& scores, Beside& dy) {
    using compute = typename Tile::compute;
    scores.for_live_registers([&](int p) {
        SMX_UNROLL
        for (int i = 0; i < Tile::vec; ++i) dy.middle[p][i] = scores.middle[p][i] == neg_inf<compute>() ? compute(0) : dy.middle[p][i];
    });
    if (!scores.has_edges()) return;
    int const edges = scores.edges_to_visit();
    SMX_UNROLL
    for (int i = 0; i < edges; ++i) dy.edge[i] = scores.edge[i] == neg_inf<compute>() ? compute(0) : dy.edge[i];
}
}  // namespace detail

// Scores as an input, with what makes probabilities of them once they are loaded. To: what the gradient beside them is of.
// Shape     sums: batch x heads x queries, packed; natural logarithm; -inf for an empty row, as log_sum_exp writes them
template <class Input, class Sum, normalized To = normalized::probabilities>
struct recomputed_input {
    Input scores;
    Sum const* sums;

    using compute = typename Input::compute;
    static constexpr int pack_columns = pack_columns_of<Input>;

    SMX_HD auto bind(row_id id) const { return detail::input_row(scores, id); }

    // The scores in t become exp(score - log-sum-exp), by the verbs of the forward pass; a row whose log-sum-exp is -inf is 0.
    // Requires  t holds scores, loaded with seen, dy the gradient beside them
    // Callers   any lane, on its own
    // Cost      no reduction
    template <class Tile, class Beside, class Seen>
    SMX_HD void make_probabilities(Tile& t, Beside& dy, typename Tile::compute factor, Seen const& seen, row_id row) const {
        using wide = typename Tile::compute;
        smx::scale(t, factor);
        smx::mask(t, seen);
        if constexpr (To == normalized::logarithms) detail::clear_beside_neg_inf(t, dy);
        wide const sum = static_cast<wide>(dtype<Sum>::widen(sums[row.index]));
        smx::normalize(t, statistics<wide>{sum, sum == neg_inf<wide>() ? wide(0) : wide(1)}, empty_row::zeros, row.cols);
    }
};

// Logarithms of probabilities that were kept: scores whose scale is 1 and whose log-sum-exp is 0.
template <class Input>
struct recomputed_input<Input, void, normalized::logarithms> {
    Input scores;

    using compute = typename Input::compute;
    static constexpr int pack_columns = pack_columns_of<Input>;

    SMX_HD auto bind(row_id id) const { return detail::input_row(scores, id); }

    template <class Tile, class Beside, class Seen>
    SMX_HD void make_probabilities(Tile& t, Beside& dy, typename Tile::compute, Seen const&, row_id row) const {
        using wide = typename Tile::compute;
        detail::clear_beside_neg_inf(t, dy);
        smx::normalize(t, statistics<wide>{wide(0), wide(1)}, empty_row::zeros, row.cols);
    }
};

template <class Input>
inline constexpr bool is_recomputed = false;
template <class Input, class Sum, normalized To>
inline constexpr bool is_recomputed<recomputed_input<Input, Sum, To>> = true;

// The gradient beside it is of logarithms.
template <class Input>
inline constexpr bool is_of_logarithms = false;
template <class Input, class Sum>
inline constexpr bool is_of_logarithms<recomputed_input<Input, Sum, normalized::logarithms>> = true;

template <class Input, class Sum, normalized To>
inline constexpr int element_bytes_of<recomputed_input<Input, Sum, To>, void> = element_bytes_of<Input>;

namespace detail {

// Another tile with the map of one, for terms or scores.
template <class Tile, kept Kept = kept::terms, class Stored = typename Tile::compute>
using tile_beside = tile<Tile::lanes, Tile::vec, Tile::packs, typename Tile::compute, Kept,
                         !Tile::sees_parts ? hidden_packs::all_or_none : Tile::skips ? hidden_packs::skipped : hidden_packs::computed,
                         product::until_weighed, Stored, Tile::fills_packs ? row_ends::in_packs : row_ends::single>;

// What y waits in beside a tile of terms: another, or where it is made from scores, a tile of those.
template <class Tile, class Input>
using tile_of_y = tile_beside<Tile, is_recomputed<Input> ? kept::scores : kept::terms,
                              chosen_type<Tile::is_stored, stored_of<Input>, typename Tile::compute>>;

}  // namespace detail

SMX_END
