// A tile: what one lane holds of a row, and which column each of its slots is.
#pragma once
#include "column_map.hpp"
#include "memory.hpp"
#include "pack.hpp"
#include "weighing.hpp"

SMX_BEGIN

// Shape     Packs packs of Vec columns a lane in registers, Behind more in memory that its owner sets, and the elements before the first and after
//           the last pack of the row, dealt out to the lanes
// Requires  cover() is given at most capacity columns beyond the head, and a head of 0 to Vec - 1
template <int Lanes, int Vec, int Packs, class Compute = float, kept Kept = kept::scores, hidden_packs Hidden = hidden_packs::skipped,
          product Product = product::until_weighed, class Stored = Compute, row_ends Ends = row_ends::single,
          exponent Exponent = exponent::of_difference, int Behind = 0>
struct tile {
    static_assert(Vec >= 1 && (Vec & (Vec - 1)) == 0 && Vec <= 32, "a pack has 1, 2, 4, 8, 16 or 32 columns");
    static_assert(Lanes >= 1 && Packs >= 1 && Packs <= (Ends == row_ends::in_packs ? 1024 : 32), "a tile has at least one lane, and 1 to 32 packs a lane");
    static_assert(Behind == 0 || (Packs + Behind <= 32 && Ends == row_ends::single && (Kept == kept::weights || Kept == kept::stored)),
                  "with packs behind the registers a lane has at most 32, and keeps weights or what is stored (logarithms: write resident or chunked_online)");
    static_assert(Kept == kept::terms || Kept == kept::stored || same_type<Stored, Compute>, "a tile that names what is stored holds it: write kept::stored");
    static_assert((Kept != kept::stored && Kept != kept::terms) || Product != product::until_biased, "biased scores are not stored ones: write kept::weights");
    using compute = Compute;
    static constexpr int lanes = Lanes;
    static constexpr int vec = Vec;
    static constexpr int packs = Packs;
    static constexpr kept keeps = Kept;
    static constexpr bool skips = Hidden == hidden_packs::skipped;
    static constexpr bool sees_parts = Hidden != hidden_packs::all_or_none;
    static constexpr bool awaits_bias = Product == product::until_biased;
    static constexpr row_ends ends = Ends;
    static constexpr bool fills_packs = Ends == row_ends::in_packs;
    static constexpr int edges = Ends != row_ends::single ? 0 : (2 * (Vec - 1) + Lanes - 1) / Lanes;  // slots a lane for up to Vec - 1 columns at either end
    static constexpr int behind_packs = Behind;
    static constexpr int capacity = Lanes * Vec * (Packs + Behind);
    // A stripe is what all lanes hold side by side of one pack, or of several short ones: a jump over less than 8 columns a lane costs more than
    // it saves. Where no jump is taken, each pack is one.
    static constexpr int packs_per_stripe = Vec >= 4 || !skips || Behind > 0 ? 1 : 8 / Vec < Packs ? 8 / Vec : Packs;
    static constexpr int stripes = (Packs + packs_per_stripe - 1) / packs_per_stripe;
    static constexpr bool in_stripes = packs_per_stripe > 1;
    static constexpr bool is_stored = Kept == kept::stored || !same_type<Stored, Compute>;
    static constexpr exponent exponents = Exponent;
    using held_pack = chosen_type<is_stored, detail::raw_pack<Stored, Vec>, pack<Compute, Vec>>;

    held_pack middle[Packs];
    held_pack* behind;            // where there are such: the lane's first, Lanes from the next
    pack<Compute, (edges > 0 ? edges : 1)> edge;  // holds weights where the packs are kept as stored
    column_map map;
    Compute factor = Compute(1);  // what the slots are still to be multiplied by: above 0 and finite, unless a bias is awaited
    // From the reduction on, where scores are not kept: the largest of them, and what makes them weights but for `rest`.
    Compute max, rest;
    weighing<Compute, Exponent> weigh;
    Compute share, filling;  // of packs kept as stored: a probability is a weight times share, plus filling

    // Takes columns [begin, end), the first `head` of which come before the first pack, and of which `visible` can be seen.
    SMX_HD void cover(int rank, interval part, int head, interval visible) {
        int const cols = part.end - part.begin;
#if SMX_DEVICE_CODE
        __builtin_assume(static_cast<unsigned>(rank) < static_cast<unsigned>(Lanes));
#endif
        map.begin = part.begin;
        map.first = part.begin + (Ends == row_ends::none ? 0 : head < cols ? head : cols);
        map.last = Ends == row_ends::none ? part.end : map.first + whole_packs(part.end - map.first) * Vec;
        map.end = part.end;
        map.rank = rank;
        map.mine = map.first + rank * Vec;
        if constexpr (sees_parts) {
            // As the compiler sees, a span that begins at 0 begins at the first pack of a row: half of the questions then answer themselves.
            int const from = visible.begin > part.begin && visible.begin > map.first ? visible.begin : map.first;
            int const to = visible.end < map.last ? visible.end : map.last;
            map.seen.begin = from < to ? from : map.first;  // none: an empty interval between two packs, which no pack touches
            map.seen.end = from < to ? to : map.first;
            map.edges_seen = intersection({map.begin, map.end}, visible);
        } else {
            bool const all = visible.begin < visible.end;
            map.seen = {map.first, all ? map.last : map.first};
            map.edges_seen = {map.begin, all ? map.end : map.begin};
        }
        // The same for all lanes of the group, so that skipping a stripe is a jump and not a divergence.
        constexpr unsigned width = Lanes * Vec * packs_per_stripe;
        unsigned const from = static_cast<unsigned>(map.seen.begin - map.first), to = static_cast<unsigned>(map.seen.end - map.first);
#if SMX_DEVICE_CODE
        map.live = bits_below((to + width - 1) / width) & ~bits_below(from / width);
#else
        map.live = {static_cast<int>(from / width), static_cast<int>((to + width - 1) / width)};
#endif
        if constexpr (in_stripes) map.whole = bits_below(to / width) & ~bits_below((from + width - 1) / width);
    }

    // From the lane's first pack to pack p, in columns: a constant, which is what a pack is asked by.
    static SMX_HD constexpr int distance(int p) { return p * (Lanes * Vec); }
    // First column of pack p; the pack exists if that is below map.last.
    SMX_HD int pack_column(int p) const { return map.mine + distance(p); }
    SMX_HD bool exists(int p) const { return distance(p) < map.last - map.mine; }
    SMX_HD bool touches_seen(int p) const {
        return distance(p) < map.seen.end - map.mine && (!sees_parts || distance(p) > hidden_before() - Vec);
    }
    SMX_HD bool within_seen(int p) const {
        return distance(p) <= map.seen.end - map.mine - Vec && (!sees_parts || distance(p) >= hidden_before());
    }
    // Whether one of the lane's packs has an end of what can be seen in it.
    SMX_HD bool holds_end() const { return sees_parts && (is_within_pack(map.seen.begin) || is_within_pack(map.seen.end)); }
    SMX_HD bool edge_is_seen(int col) const { return col < map.edges_seen.end && (!sees_parts || col >= map.edges_seen.begin); }
    // A tile of one stripe, or of two packs, takes all as live.
    static constexpr bool all_are_live = !skips || stripes <= (in_stripes ? 1 : 2);
    SMX_HD bool is_live(int stripe) const { return all_are_live || map.is_live(stripe); }
    // Whether pack p is the first that for_live_packs visits, whatever the row.
    static SMX_HD constexpr bool begins_with(int p) { return SMX_DEVICE_CODE != 0 && p == 0 && all_are_live; }
    // Known for stripes of more than one pack: a single pack's lanes look for themselves.
    SMX_HD bool is_whole(int stripe) const { return in_stripes && (map.whole >> stripe & 1u) != 0; }

    // Calls visit(p) for every pack p of a stripe.
    template <class Visit>
    static SMX_HD void for_packs(int stripe, int in_use, Visit const& visit) {
        SMX_UNROLL
        for (int i = 0; i < packs_per_stripe; ++i) {
            if (stripe * packs_per_stripe + i < in_use) visit(stripe * packs_per_stripe + i);
        }
    }
    // Calls visit(p, pack) for every pack behind the registers that the part fills; waits for copies that must be there.
    template <copies Copies = copies::there, class Visit>
    SMX_HD void for_packs_behind(Visit const& visit) const {
        if constexpr (Behind > 0) {
            if constexpr (Copies == copies::there) detail::wait_for_copies();
            int const in_part = (whole_packs(map.last - map.first) + Lanes - 1) / Lanes;
            SMX_KEEP_LOOP
            for (int p = Packs; p < in_part; ++p) visit(p, behind[(p - Packs) * Lanes]);
        }
    }
    // Calls visit(p) for every pack p in registers that can be visible to some lane.
    template <class Visit>
    SMX_HD void for_live_registers(Visit const& visit) const {
        int const in_use = packs_to_visit();
        interval const to_visit = stripes_to_look_at();
        SMX_UNROLL
        for (int b = to_visit.begin; b < to_visit.end; ++b) {
            if (is_live(b)) for_packs(b, in_use, visit);
        }
    }
    // Calls visit(p, pack) for every pack that can be visible to some lane.
    template <packs_in Where = packs_in::all, class Visit>
    SMX_HD void for_live_packs(Visit const& visit) {
        if constexpr (Where != packs_in::behind) for_live_registers([&](int p) { visit(p, middle[p]); });
        if constexpr (Where != packs_in::registers) for_packs_behind([&](int p, held_pack& held) { if (is_live(p)) visit(p, held); });
    }

    // Calls visit(p, exists) for every pack in registers, visible or not.
    template <class Visit>
    SMX_HD void for_all_registers(Visit const& visit) const {
        int const in_use = packs_to_visit();
        int const stripes_in_use = stripes_to_visit();
        SMX_UNROLL
        for (int b = 0; b < stripes_in_use; ++b) {
            if (is_whole(b)) for_packs(b, in_use, [&](int p) { visit(p, true); });
            else for_packs(b, in_use, [&](int p) { visit(p, exists(p)); });
        }
    }
    // Calls visit(p, pack, exists) for every pack, visible or not.
    template <class Visit>
    SMX_HD void for_all_packs(Visit const& visit) const {
        for_all_registers([&](int p, bool exists) { visit(p, middle[p], exists); });
        for_packs_behind([&](int p, held_pack const& held) { visit(p, held, exists(p)); });
    }

    // Each slot times a number, rounded once; slots that were not loaded stay what they are.
    SMX_HD void multiply(Compute by) {
        for_live_packs([&](int p, held_pack& held) {
            if (touches_seen(p)) multiply_each(held, by);
        });
        settle_products(middle);
        if (!has_edges()) return;
        int const in_use = edges_to_visit();
        SMX_UNROLL
        for (int i = 0; i < in_use; ++i) {
            if (edge_is_seen(edge_column(i))) edge[i] = rounded_product(edge[i], by);
        }
        settle_products(edge);
    }

    // Does the product that waits: what follows looks at the scores themselves.
    SMX_HD void settle_factor() {
        static_assert(!is_stored, "a product would not be a stored score: write kept::weights");
        if constexpr (Kept == kept::weights || awaits_bias) {
            multiply(factor);
            factor = Compute(1);
        }
    }
    // The product that waits, for the caller to do on a GPU, where it costs nothing together with a sum; on a CPU it is done here, and is 1.
    SMX_HD Compute take_factor() {
#if SMX_DEVICE_CODE
        Compute const by = factor;
        factor = Compute(1);
        return by;
#else
        settle_factor();
        return Compute(1);
#endif
    }

    // Calls visit(column, value&) for every column this lane holds.
    template <class Visit>
    SMX_HD void for_columns(Visit const& visit) {
        static_assert(!is_stored, "a tile with kept::stored holds no probabilities: write kept::weights");
        auto const visit_pack = [&](int p, held_pack& held) {
            SMX_UNROLL
            for (int i = 0; i < Vec; ++i) visit(pack_column(p) + i, held[i]);
        };
        for_all_registers([&](int p, bool exists) { if (exists) visit_pack(p, middle[p]); });
        for_packs_behind([&](int p, held_pack& held) { if (exists(p)) visit_pack(p, held); });
        if (!has_edges()) return;
        int const edges_in_use = edges_to_visit();
        SMX_UNROLL
        for (int i = 0; i < edges_in_use; ++i) {
            if (edge_column(i) < map.end) visit(edge_column(i), edge[i]);
        }
    }

    // Column of edge slot i; the slot is used if that is below map.end.
    SMX_HD int edge_column(int i) const { return map.edge_column(i * Lanes + map.rank); }

    // Slots to walk through. On a GPU all of them, in unrolled loops: stripes that are not live are jumped over, edges only when the row has
    // none. On the CPU those the part fills.
    SMX_HD int packs_to_visit() const {
        if constexpr (SMX_DEVICE_CODE) return Packs;
        int const in_part = (map.last - map.first) / Vec - map.rank, packs_in_part = in_part <= 0 ? 0 : (in_part + Lanes - 1) / Lanes;
        return Behind > 0 && packs_in_part > Packs ? Packs : packs_in_part;
    }
    SMX_HD int stripes_to_visit() const {
        return SMX_DEVICE_CODE ? stripes : (packs_to_visit() + packs_per_stripe - 1) / packs_per_stripe;
    }
    // Stripes to look for live ones in.
    SMX_HD interval stripes_to_look_at() const {
#if SMX_DEVICE_CODE
        return {0, stripes};
#else
        return all_are_live ? interval{0, stripes_to_visit()} : Behind > 0 ? overlap(map.live, {0, stripes}) : map.live;
#endif
    }
    SMX_HD bool has_edges() const { return edges > 0 && (map.first - map.begin) + (map.end - map.last) != 0; }
    SMX_HD int edges_to_visit() const {
        if constexpr (SMX_DEVICE_CODE) return edges;
        int const in_part = (map.first - map.begin) + (map.end - map.last) - map.rank;
        return in_part <= 0 ? 0 : (in_part + Lanes - 1) / Lanes;
    }

private:
    // From the lane's first pack to the first column that can be seen: where a span begins with the row, a compiler sees that it is not above 0.
    SMX_HD int hidden_before() const { return (map.seen.begin - map.first) - map.rank * Vec; }
    // A column between first and last, and not where a pack begins, in a pack of this lane.
    SMX_HD bool is_within_pack(int col) const {
        int const past = static_cast<int>(static_cast<unsigned>(col - map.first) % (Lanes * Vec)) - map.rank * Vec;
        return past > 0 && past < Vec;
    }
    static SMX_HD constexpr int whole_packs(int cols) { return static_cast<int>(static_cast<unsigned>(cols) / Vec); }
    // n <= stripes
    static SMX_HD constexpr unsigned bits_below(unsigned n) { return stripes + Behind >= 32 && n >= 32 ? ~0u : (1u << n) - 1u; }
};

SMX_END
