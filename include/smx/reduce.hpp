// Verb 4: the maximum and the sum of exponentials of a row, and the one numeric rule that every body and every merge uses.
#pragma once
#include "tile.hpp"

SMX_BEGIN

// What softmax must know of a set of scores: their maximum, and the sum of exp(score - anchor(max)).
// A monoid under merge, with the empty set as its neutral element: any split of a row gives the same statistics up to rounding.
// Source    M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018.
template <class Compute>
struct statistics {
    Compute max = neg_inf<Compute>();
    Compute sum = Compute(0);

    // No visible score above -inf: not a NaN row, whose sum is NaN.
    SMX_HD bool empty() const { return sum == Compute(0); }
};

// The weight of the largest of some scores beside the largest of all: mostly 1, which a CPU need not compute. Not by equality: +inf less +inf is NaN.
template <class Compute>
SMX_HD Compute weight_of_largest(Compute max, Compute anchored) {
    if (!SMX_DEVICE_CODE && max - anchored == Compute(0)) return Compute(1);
    return weight(max, anchored);
}

template <class Compute>
SMX_HD statistics<Compute> merge(statistics<Compute> a, statistics<Compute> b) {
    Compute const max = maximum()(a.max, b.max);
    Compute const anchored = anchor(max);
    return {max, a.sum * weight_of_largest(a.max, anchored) + b.sum * weight_of_largest(b.max, anchored)};
}

// 1 / sum; 0 for an empty row. Not "sum > 0": that is false for NaN and would turn a NaN row into zeros.
template <class Compute>
SMX_HD Compute reciprocal(statistics<Compute> stats) {
    return stats.empty() ? Compute(0) : reciprocal_of(stats.sum);
}

// ln(sum over visible of exp(score)); -inf for an empty row, NaN for a NaN row.
template <class Compute>
SMX_HD Compute log_sum_exp_of(statistics<Compute> stats) {
    return stats.max + natural_log(stats.sum);
}

// All places of a pack together, half of them at a time: the steps of one half do not wait for each other.
template <class Compute, int Width, class Op>
SMX_HD Compute folded(pack<Compute, Width> values, Op op) {
    if constexpr (Width == 1) {
        return values[0];
    } else {
        pack<Compute, Width / 2> half;
        SMX_UNROLL
        for (int i = 0; i < Width / 2; ++i) half[i] = op(values[i], values[i + Width / 2]);
        return folded(half, op);
    }
}

namespace detail {
// The largest scores of a lane, one for each place in a pack: independent, and what a compiler can vectorise.
template <packs_in Where, class Tile>
SMX_HD auto tops_of(Tile& t) {
    using compute = typename Tile::compute;
    if constexpr (Tile::is_stored) {
        auto tops = hidden_scores<typename Tile::held_pack>();
        t.template for_live_packs<Where>([&](int, typename Tile::held_pack& scores) { tops = larger(tops, scores); });
        return widen<compute>(tops);
    } else {
        pack<compute, Tile::vec> tops = filled_pack<Tile::vec>(neg_inf<compute>());
        t.template for_live_packs<Where>([&](int p, typename Tile::held_pack& scores) {
            SMX_UNROLL
            for (int i = 0; i < Tile::vec; ++i) tops[i] = Tile::begins_with(p) ? scores[i] : raised(tops[i], scores[i]);
        });
        return tops;
    }
}
template <packs_in Where, class Tile>
SMX_HD auto largest_of(Tile& t) {
    using compute = typename Tile::compute;
    return folded(tops_of<Where>(t), [](compute top, compute next) { return raised(top, next); });
}

struct nobody {};
// Groups that ask memory for what comes next while a lane computes exponentials, when nothing else waits for memory, have ask_ahead(next,
// column, columns): `columns` from next + column on.
template <class Group, class = void>
inline constexpr bool asks_ahead = false;
template <class Group>
inline constexpr bool asks_ahead<Group, always_void<decltype(&Group::ask_ahead)>> = true;

// The sum of the weights of a lane; a tile that keeps weights holds them afterwards.
template <packs_in Where, class Tile, class Weigh, class Group>
SMX_HD auto sum_of(Tile& t, Weigh const& weigh, [[maybe_unused]] Group const& g) {
    using compute = typename Tile::compute;
    pack<compute, Tile::vec> sums = filled_pack<Tile::vec>(compute(0));
    t.template for_live_packs<Where>([&](int p, typename Tile::held_pack& held) {
        if constexpr (asks_ahead<Group>) g.ask_ahead(t.map.end, p * Tile::vec, Tile::vec);
        auto const& scores = widen<compute>(held);
        SMX_UNROLL
        for (int i = 0; i < Tile::vec; ++i) {
            compute const w = weigh(scores[i]);
            sums[i] = Tile::begins_with(p) ? w : sums[i] + w;
            if constexpr (Tile::keeps == kept::weights) held[i] = w;
        }
    });
    return folded(sums, plus());
}

// What lane_statistics says of the packs of a tile that holds what is stored, with a factor that waits.
// Source    as of merge(): here the next set is one pack, whose weights are made for the maximum of both
template <class Weighing, class Tile, class Group>
SMX_HD auto statistics_in_turn(Tile& t, typename Tile::compute factor, Group const& g) {
    using compute = typename Tile::compute;
    statistics<compute> all;
    all.max = largest_of<packs_in::registers>(t);
    Weighing const first(all.max, factor);
    all.sum = sum_of<packs_in::registers>(t, first, g) * first.rest(all.max);
    wait_for_copies_after(static_cast<float>(all.sum));
    t.template for_live_packs<packs_in::behind>([&](int, typename Tile::held_pack& held) {
        auto const& scores = widen<compute>(held);
        compute const max = raised(all.max, folded(scores, maximum()));
        Weighing const weigh(max, factor);
        pack<compute, Tile::vec> weights;
        SMX_UNROLL
        for (int i = 0; i < Tile::vec; ++i) weights[i] = weigh(scores[i]);
        compute const rest = weigh.rest(max), before = max == all.max ? compute(1) : weigh(all.max) * rest;
        all.sum = all.sum * before + folded(weights, plus()) * rest;
        all.max = max;
    });
    return all;
}
}  // namespace detail

namespace detail {
// Behind a reduction of packs kept as they are stored: or the compiler keeps what it widened before, in twice the registers.
template <class Tile>
SMX_HD void forget_widened([[maybe_unused]] Tile& t) {
#if SMX_DEVICE_CODE
    if constexpr (Tile::is_stored) {
        unsigned const zero = ptx::zero_of(t.map.end);
        SMX_UNROLL
        for (int p = 0; p < Tile::packs; ++p) t.middle[p].mix(zero);
    }
#endif
}
}  // namespace detail

// The scores that one lane holds; a tile that keeps weights holds them afterwards.
template <class Tile, class Group = detail::nobody>
SMX_HD statistics<typename Tile::compute> lane_statistics(Tile& t, Group const& g = {}) {
    using compute = typename Tile::compute;
    using weighing_type = weighing<compute, Tile::exponents>;
    int const edges = t.edges_to_visit();
    bool const has_edges = t.has_edges();
    constexpr bool keeps_weights = Tile::keeps != kept::scores;
    compute const factor = keeps_weights ? t.factor : compute(1);

    // Packs behind the registers come later: those in registers are summed up meanwhile, then each of the others as it is read, which is once.
    constexpr bool in_turn = Tile::behind_packs > 0 && Tile::is_stored;
    [[maybe_unused]] statistics<compute> packs;
    if constexpr (in_turn) packs = detail::statistics_in_turn<weighing_type>(t, factor, g);

    compute max = packs.max;
    if constexpr (!in_turn) max = detail::largest_of<packs_in::all>(t);
    if (has_edges) {
        SMX_UNROLL
        for (int i = 0; i < edges; ++i) max = raised(max, t.edge[i]);
    }

    weighing_type const weigh(max, factor);
    compute sum;
    if constexpr (in_turn) {
        sum = packs.sum * weigh(packs.max);
    } else {
        sum = detail::sum_of<packs_in::all>(t, weigh, g);
    }
    if (has_edges) {
        SMX_UNROLL
        for (int i = 0; i < edges; ++i) {
            compute const w = weigh(t.edge[i]);
            sum += w;
            if constexpr (keeps_weights) t.edge[i] = w;
        }
    }
    compute const rest = weigh.rest(max);
    sum *= rest;
    if constexpr (keeps_weights) {
        t.weigh = weigh;
        t.rest = rest;
        max = rounded_product(max, t.factor);
        t.max = max;
    }
    return {max, sum};
}

namespace detail {
// A group whose lanes meet in parts: part() is the group of one, across() holds a value of each part, and exchange(value, neutral) gets
// from the one to the other.
template <class Group, class = void>
inline constexpr bool exchanges_parts = false;
template <class Group>
inline constexpr bool exchanges_parts<Group, always_void<decltype(some<Group>().across())>> = true;
}  // namespace detail

// The statistics of all lanes together, in every lane: the maximum first, so that each sum is brought to it once.
// Callers   all lanes of g, convergent
template <class Group, class Compute>
SMX_HD statistics<Compute> all_reduce(Group& g, statistics<Compute> lane) {
    if constexpr (Group::size == 1) {
        return {lane.max, lane.sum * weight_of_largest(lane.max, anchor(lane.max))};  // 0 where the scale took every score to -inf
    } else if constexpr (detail::exchanges_parts<Group>) {
        auto&& within = g.part();
        auto across = g.across();
        return smx::all_reduce(across, g.exchange(smx::all_reduce(within, lane), statistics<Compute>()));
    } else {
        Compute const max = g.all_reduce(lane.max, maximum());
        Compute const sum = g.all_reduce(lane.sum * weight_of_largest(lane.max, anchor(max)), plus());
        return {max, sum};
    }
}

// The statistics of the row, in every lane; the tile still holds its scores, unless it keeps weights.
// Requires  mask(t, ...) has run: unused slots are -inf
// Callers   all lanes of g, convergent
// Storage   g's, reusable without a barrier
// Cost      two reductions
template <class Group, class Tile>
SMX_HD statistics<typename Tile::compute> reduce(Group& g, Tile& t) {
    return smx::all_reduce(g, lane_statistics(t, g));
}

SMX_END
