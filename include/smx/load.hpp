// Verb 1: bring what one lane holds of a row into its tile.
#pragma once
#include "fetched.hpp"

SMX_BEGIN

namespace detail {

// A row that a CPU reads in one step, with no pack in between, has read_into(pack&, col).
template <class Source, int Width, class Compute, class = void>
inline constexpr bool reads_into = false;
template <class Source, int Width, class Compute>
inline constexpr bool reads_into<Source, Width, Compute, always_void<decltype(&Source::template read_into<Width, Compute>)>> = true;

// Loads what the map of t covers; calls meanwhile() when everything is on its way.
template <class Tile, class Source, class Meanwhile>
SMX_HD void load_covered(Tile& t, Source const& source, Meanwhile const& meanwhile) {
    constexpr int vec = Tile::vec;
    static_assert(!Tile::is_stored || loads_zeros<Tile> || has_neg_inf<Source, vec>,
                  "a tile with kept::stored is for rows that have neg_inf<Width>(), as tensors do: write kept::weights");
    if constexpr (Tile::behind_packs > 0) bring_behind(t, source);
#if !SMX_DEVICE_CODE
    meanwhile();
    // A CPU looks ahead itself: a pack is widened where it is read, and no array of packs is cleared, filled and read back.
    using compute = typename Tile::compute;
    compute const nothing = loads_zeros<Tile> ? compute(0) : neg_inf<compute>();
    if constexpr (Tile::is_stored) {
        int const packs = t.packs_to_visit();
        for (int p = 0; p < packs; ++p) t.middle[p] = t.touches_seen(p) ? source.template fetch<vec>(t.pack_column(p)) : not_fetched<Tile, vec>(source);
    } else {
        t.for_live_registers([&](int p) {
            if (!t.touches_seen(p)) {
                t.middle[p] = filled_pack<vec>(nothing);
            } else if constexpr (reads_into<Source, vec, compute>) {
                source.read_into(t.middle[p], t.pack_column(p));
            } else {
                t.middle[p] = source.template widen<vec>(source.template fetch<vec>(t.pack_column(p)));
            }
        });
    }
    if (t.has_edges()) {
        int const edges = t.edges_to_visit();
        SMX_UNROLL
        for (int i = 0; i < edges; ++i) {
            int const col = t.edge_column(i);
            t.edge[i] = t.edge_is_seen(col) ? source.template widen<1>(source.template fetch<1>(col))[0] : nothing;
        }
    }
#else
    fetched_packs<Tile, Source> packs;
    ask_packs(packs, t, source);
    meanwhile();
    if (t.has_edges()) {
        fetched_edges<Tile, Source> edges;
        ask_edges(edges, t, source);
        take_edges(edges, t, source);
    }
    take_packs(packs, t, source);
#endif
}

// A span, with nothing to be read beside it.
struct span_alone {
    interval visible;

    SMX_HD interval span() const { return visible; }
    template <class Tile>
    SMX_HD void fetch(Tile const&) {}
};
// What a mask reads ahead, and what else is worked out meanwhile.
template <class Seen, class Other>
struct both_ahead {
    Seen& seen;
    Other& other;

    SMX_HD interval span() const { return seen.span(); }
    template <class Tile>
    SMX_HD void fetch(Tile const& t) {
        seen.fetch(t);
        other.fetch(t);
    }
};

template <class Tile, class Output, class Seen, class Target>
SMX_HD decltype(auto) ahead_of(Seen& seen, [[maybe_unused]] Target& target) {
    if constexpr (works_ahead<Output, Tile>) {
        return both_ahead<Seen, Target>{seen, target};
    } else {
        return (seen);
    }
}

// Groups that share a row in slices have slices() and slice(): how many, and which of them their lanes hold.
template <class Group, class = void>
inline constexpr bool has_slices = false;
template <class Group>
inline constexpr bool has_slices<Group, always_void<decltype(some<Group>().slices())>> = true;

// The columns of a row that the lanes of g hold: all, or a slice. Slices have as many packs each, as nearly as can be; the columns before the
// first pack are the first slice's, those after the last pack the last one's that has any.
template <int Vec, class Group>
SMX_HD interval slice_of(Group const& g, int head, row_id row) {
    if constexpr (has_slices<Group>) {
        int const packs = (row.cols - (head < row.cols ? head : row.cols)) / Vec;
        int64 const columns = row.slice_columns != 0 ? row.slice_columns : (packs + g.slices() - 1) / g.slices() * Vec;
        int64 const begin = head + columns * g.slice(), end = begin + columns;
        bool const has_pack = begin + Vec <= row.cols, is_last = end + Vec > row.cols;
        return {g.slice() == 0 ? 0 : has_pack ? static_cast<int>(begin) : row.cols, is_last ? row.cols : static_cast<int>(end)};
    } else {
        return {0, row.cols};
    }
}
// The same, to the end of the pack that the row ends in, where a tile takes whole packs; and for rows that are whole packs, whose slices the host has
// measured (row.slice_columns), without what the columns beside packs ask.
template <class Tile, class Group>
SMX_HD interval part_of_row(Group const& g, int head, row_id row) {
    if constexpr (Tile::fills_packs) {
        return {0, (row.cols + Tile::vec - 1) / Tile::vec * Tile::vec};
    } else if constexpr (Tile::ends == row_ends::none && has_slices<Group>) {
        int const begin = g.slice() * row.slice_columns, end = begin + row.slice_columns;
        return {begin < row.cols ? begin : row.cols, end < row.cols ? end : row.cols};
    } else {
        return slice_of<Tile::vec>(g, head, row);
    }
}

// Groups that want to know when a lane begins to load its part have loads_begin(): not when all of it has been asked for, since a compiler would
// put the word behind what waits for the first of it.
template <class Group, class = void>
inline constexpr bool hears_of_loads = false;
template <class Group>
inline constexpr bool hears_of_loads<Group, always_void<decltype(some<Group>().loads_begin())>> = true;

// Groups that arrive at their peers while loads are on their way have loads_are_issued().
template <class Group, class = void>
inline constexpr bool arrives_late = false;
template <class Group>
inline constexpr bool arrives_late<Group, always_void<decltype(&Group::loads_are_issued)>> = true;

template <class Ahead>
using spans = always_void<decltype(some<Ahead>().span())>;

}  // namespace detail

// Loads columns `part` of a row, as far as its span reaches; fixes the tile's map from slots to columns. In place of the span it takes whatever has
// span(), and fetch(tile) for what is to be read or worked out while the row is on its way, as a read_ahead.
// Requires  part within [0, row.cols), at most Tile::capacity columns beyond its head, and starting at 0 or where a pack may start
// Callers   all lanes of g
// Gives     slots that are not loaded hold -inf, or 0 where a bias is awaited or terms are kept, or are never looked at
// Cost      one read of what can be visible
template <class Group, class Tile, class Input, class Ahead, class = detail::spans<Ahead>>
SMX_HD void load(Group& g, Tile& t, Input const& input, row_id row, Ahead& ahead, interval part) {
    static_assert(Group::size == Tile::lanes, "the tile is made for another number of lanes: write tile<Group::size, vec, packs>");
    auto const source = detail::input_row(input, row);
    t.cover(g.rank(), part, part.begin == 0 ? source.template head<Tile::vec>() : 0, ahead.span());
    t.factor = typename Tile::compute(1);
    if constexpr (detail::hears_of_loads<Group>) g.loads_begin();
    detail::load_covered(t, source, [&] {
        if constexpr (detail::arrives_late<Group>) g.loads_are_issued();
        ahead.fetch(t);
    });
}
template <class Group, class Tile, class Input>
SMX_HD void load(Group& g, Tile& t, Input const& input, row_id row, interval span, interval part) {
    detail::span_alone alone{span};
    smx::load(g, t, input, row, alone, part);
}

// The whole row, or the group's slice of it.
template <class Group, class Tile, class Input, class Ahead, class = detail::spans<Ahead>>
SMX_HD void load(Group& g, Tile& t, Input const& input, row_id row, Ahead& ahead) {
    smx::load(g, t, input, row, ahead, detail::part_of_row<Tile>(g, head_of<Tile::vec>(input, row), row));
}
template <class Group, class Tile, class Input>
SMX_HD void load(Group& g, Tile& t, Input const& input, row_id row, interval span) {
    detail::span_alone alone{span};
    smx::load(g, t, input, row, alone);
}

SMX_END
