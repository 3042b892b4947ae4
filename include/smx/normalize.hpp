// Verb 5: turn scores into probabilities, or into their logarithms.
#pragma once
#include "reduce.hpp"
#include "tensor.hpp"

SMX_BEGIN

// What an empty row (nothing visible, or nothing above -inf) is written as.
enum class empty_row {
    zeros,
    uniform,  // 1 / cols in every column
    nan,
};

// The value of every column of an empty row; 0 for any other row.
template <class Compute>
SMX_HD Compute empty_value(statistics<Compute> stats, empty_row when_empty, int cols) {
    if (!stats.empty() || when_empty == empty_row::zeros) return Compute(0);
    return when_empty == empty_row::nan ? quiet_nan<Compute>() : Compute(1) / static_cast<Compute>(cols);
}

namespace detail {
template <class Tile, class Probability>
SMX_HD void normalize_packs(Tile& t, typename Tile::compute filling, Probability const& probability) {
    int const packs = t.packs_to_visit();
    int const stripes_in_use = t.stripes_to_visit();
    SMX_UNROLL
    for (int b = 0; b < stripes_in_use; ++b) {
        if (t.is_live(b)) {
            t.for_packs(b, packs, [&](int p) {
                SMX_UNROLL
                for (int i = 0; i < Tile::vec; ++i) t.middle[p][i] = probability(t.middle[p][i]);
            });
        } else {
            t.for_packs(b, packs, [&](int p) { t.middle[p] = filled_pack<Tile::vec>(filling); });
        }
    }
    t.for_packs_behind([&](int p, typename Tile::held_pack& held) {
        bool const is_live = t.is_live(p);
        SMX_UNROLL
        for (int i = 0; i < Tile::vec; ++i) held[i] = is_live ? probability(held[i]) : filling;
    });
}

// Of scores kept as stored: what makes probabilities of weights, when they are stored.
template <class Tile>
SMX_HD void await_store(Tile& t, typename Tile::compute factor, typename Tile::compute filling) {
    t.share = factor;
    t.filling = filling;
    forget_widened(t);
}
}  // namespace detail

// Each score (or weight) becomes exp(score - max) / sum, where scores are kept as stored when it is stored; hidden scores become 0.
// Callers   any lane, on its own, with the statistics of the whole row
// Cost      one reciprocal a row, no division an element
template <class Tile>
SMX_HD void normalize(Tile& t, statistics<typename Tile::compute> stats, empty_row when_empty, int cols) {
    using compute = typename Tile::compute;
    compute const filling = empty_value(stats, when_empty, cols);  // an empty row's weights are all exp(-inf) = 0
    compute factor = reciprocal(stats);
    weighing<compute, Tile::exponents> const weigh(stats.max, compute(1));
    factor *= Tile::keeps != kept::scores ? weight_of_largest(t.max, anchor(stats.max)) * t.rest : weigh.rest(stats.max);
    auto const probability = [&](compute held) {
        if constexpr (Tile::keeps != kept::scores) {
            return held * factor + filling;
        } else {
            return weigh(held) * factor + filling;
        }
    };
    if constexpr (Tile::is_stored) {
        detail::await_store(t, factor, filling);
    } else {
        detail::normalize_packs(t, filling, probability);
    }
    if (t.has_edges()) {
        int const edges = t.edges_to_visit();
        SMX_UNROLL
        for (int i = 0; i < edges; ++i) t.edge[i] = probability(t.edge[i]);
    }
}

// What ln of empty_value() is, where that is written.
template <class Compute>
SMX_HD Compute logarithm_of_empty(empty_row when_empty, int cols) {
    if (when_empty == empty_row::zeros) return neg_inf<Compute>();
    return when_empty == empty_row::nan ? quiet_nan<Compute>() : -natural_log(static_cast<Compute>(cols));
}

// Each score becomes score - max - ln(sum), the logarithm of its probability, however small that is; hidden scores become -inf. An empty row: -inf,
// -ln(cols) or NaN in every column, as the policy writes 0, 1 / cols or NaN as probabilities.
// Callers   any lane, on its own, with the statistics of the whole row
// Cost      one logarithm a row, two differences an element
// Source    S. Boyd, L. Vandenberghe, "Convex optimization", 2004, section 3.1.5: log-sum-exp; with the maximum taken out, as in reduce.hpp
template <class Tile>
SMX_HD void normalize_to_logarithms(Tile& t, statistics<typename Tile::compute> stats, empty_row when_empty, int cols) {
    using compute = typename Tile::compute;
    static_assert(Tile::keeps == kept::scores, "weights have no logarithms where they are 0: write kept::scores");
    bool const empty = stats.empty();
    compute const filling = empty ? logarithm_of_empty<compute>(when_empty, cols) : neg_inf<compute>();
    compute const anchored = anchor(stats.max), rest = empty ? -filling : natural_log(stats.sum);
    auto const logarithm = [&](compute score) { return (empty ? compute(0) : score - anchored) - rest; };
    detail::normalize_packs(t, filling, logarithm);
    if (!t.has_edges()) return;
    int const edges = t.edges_to_visit();
    SMX_UNROLL
    for (int i = 0; i < edges; ++i) t.edge[i] = logarithm(t.edge[i]);
}

// Either, as an output wants it.
template <class Output, class Tile>
SMX_HD void normalize_for(Tile& t, statistics<typename Tile::compute> stats, empty_row when_empty, int cols) {
    if constexpr (wants_logarithms<Output>) {
        smx::normalize_to_logarithms(t, stats, when_empty, cols);
    } else {
        smx::normalize(t, stats, when_empty, cols);
    }
}

SMX_END
