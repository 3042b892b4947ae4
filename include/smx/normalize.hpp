// Verb 5: turn scores into probabilities.
#pragma once
#include "reduce.hpp"

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

// Each score (or weight) becomes exp(score - max) / sum; hidden scores become 0.
// Callers   any lane, on its own, with the statistics of the whole row
// Cost      one reciprocal a row, no division an element
template <class Tile>
SMX_HD void normalize(Tile& t, statistics<typename Tile::compute> stats, empty_row when_empty, int cols) {
    using compute = typename Tile::compute;
    compute const anchored = anchor(stats.max);
    compute const filling = empty_value(stats, when_empty, cols);  // an empty row's weights are all exp(-inf) = 0
    compute factor = reciprocal(stats);
    if constexpr (Tile::keeps == kept::weights) factor *= weight(t.max, anchored);
    auto const probability = [&](compute held) {
        if constexpr (Tile::keeps == kept::weights) {
            return held * factor + filling;
        } else {
            return weight(held, anchored) * factor + filling;
        }
    };
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
    if (t.has_edges()) {
        int const edges = t.edges_to_visit();
        SMX_UNROLL
        for (int i = 0; i < edges; ++i) t.edge[i] = probability(t.edge[i]);
    }
}

SMX_END
