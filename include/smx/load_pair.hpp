// Verb 1 for two rows at once: the same columns of both, in two tiles with one map.
#pragma once
#include "load.hpp"

SMX_BEGIN

namespace detail {

// Whether packs may start at a column of a row.
template <int Width, class Element, traffic Traffic>
SMX_HD bool packs_may_start(memory_input_row<Element, Traffic> const& row, int col) {
    return is_aligned(row.start + col, accesses<Element, Width>::widest);
}
template <int Width, class Row>
SMX_HD bool packs_may_start(Row const& row, int col) {
    return (static_cast<unsigned>(col - row.template head<Width>()) & (Width - 1)) == 0;
}

// A row read in single columns, where its packs do not lie as those of another row do.
template <class Row, class Compute>
struct row_of_singles {
    Row const& row;

    template <int Width>
    SMX_HD auto fetch(int col) const {
        if constexpr (is_raw_pack<decltype(row.template fetch<Width>(col))>) {
            return decltype(row.template fetch<Width>(col))::of([&](int i) { return row.template fetch<1>(col + i)[0]; });
        } else {
            pack<Compute, Width> values;
            SMX_UNROLL
            for (int i = 0; i < Width; ++i) values[i] = row.template widen<1>(row.template fetch<1>(col + i))[0];
            return values;
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
};

// A row whose numbers are computed with in a wider type than its own.
template <class Row, class Compute>
struct widened_row {
    Row row;

    template <int Width>
    SMX_HD auto fetch(int col) const {
        return row.template fetch<Width>(col);
    }
    template <int Width, class Fetched>
    SMX_HD pack<Compute, Width> widen(Fetched const& fetched) const {
        auto const own = row.template widen<Width>(fetched);
        pack<Compute, Width> values;
        SMX_UNROLL
        for (int i = 0; i < Width; ++i) values[i] = static_cast<Compute>(own[i]);
        return values;
    }
};

template <class Compute, class Row>
SMX_HD auto row_in(Row const& row) {
    using own = decltype(row.template widen<1>(row.template fetch<1>(0)));
    if constexpr (same_type<own, pack<Compute, 1>>) {
        return row;
    } else {
        return widened_row<Row, Compute>{row};
    }
}

// Loads what the map of both tiles covers; calls meanwhile() when everything is on its way.
template <class Tile, class First, class Beside, class Second, class Meanwhile>
SMX_HD void load_both_covered(Tile& a, First const& first, Beside& b, Second const& second, bool second_has_packs, Meanwhile const& meanwhile) {
    row_of_singles<Second, typename Tile::compute> const singles{second};
#if !SMX_DEVICE_CODE
    load_covered(a, first, meanwhile);
    if (second_has_packs) {
        load_covered(b, second, [] {});
    } else {
        load_covered(b, singles, [] {});
    }
#else
    fetched_packs<Tile, First> first_packs;
    fetched_packs<Beside, Second> second_packs;
    ask_packs(first_packs, a, first);
    if (second_has_packs) {  // the same for all lanes
        ask_packs(second_packs, b, second);
    } else {
        fetched_packs<Beside, row_of_singles<Second, typename Tile::compute>> columns;
        ask_packs(columns, b, singles);
        take_packs(columns, b, singles);
    }
    meanwhile();
    if (a.has_edges()) {
        fetched_edges<Tile, First> first_edges;
        fetched_edges<Beside, Second> second_edges;
        ask_edges(first_edges, a, first);
        ask_edges(second_edges, b, second);
        take_edges(first_edges, a, first);
        take_edges(second_edges, b, second);
    }
    take_packs(first_packs, a, first);
    if (second_has_packs) take_packs(second_packs, b, second);
#endif
}

}  // namespace detail

// Loads columns `part` of two rows, as far as their span reaches; fixes the map of both tiles, which follows the first row. Ahead: as load()
// takes it.
// Requires  part as load()
// Callers   all lanes of g
// Cost      one read of what can be visible; by single columns of the second row where its address differs from the first one's in their phase
template <class Group, class Tile, class First, class Beside, class Second, class Ahead>
SMX_HD void load_pair(Group& g, Tile& a, First const& first, Beside& b, Second const& second, row_id row, Ahead& ahead, interval part) {
    static_assert(Group::size == Tile::lanes, "the tile is made for another number of lanes: write tile<Group::size, vec, packs>");
    static_assert(Beside::keeps == kept::terms && Beside::capacity == Tile::capacity && Beside::vec == Tile::vec && Beside::packs == Tile::packs,
                  "the second of two rows is loaded as terms of products, in a tile of the same size: write tile<lanes, vec, packs, compute, kept::terms>");
    using compute = typename Tile::compute;
    auto const bound = detail::input_row(second, row);
    auto const source = detail::row_in<compute>(detail::input_row(first, row));
    a.cover(g.rank(), part, part.begin == 0 ? head_of<Tile::vec>(first, row) : 0, ahead.span());
    b.map = a.map;
    a.factor = b.factor = compute(1);
    if constexpr (detail::hears_of_loads<Group>) g.loads_begin();
    detail::load_both_covered(a, source, b, detail::row_in<compute>(bound), detail::packs_may_start<Tile::vec>(bound, a.map.first), [&] {
        if constexpr (detail::arrives_late<Group>) g.loads_are_issued();
        ahead.fetch(a);
    });
}

// The whole rows, or the group's slice of them.
template <class Group, class Tile, class First, class Beside, class Second, class Ahead, class = detail::spans<Ahead>>
SMX_HD void load_pair(Group& g, Tile& a, First const& first, Beside& b, Second const& second, row_id row, Ahead& ahead) {
    smx::load_pair(g, a, first, b, second, row, ahead, detail::part_of_row<Tile>(g, head_of<Tile::vec>(first, row), row));
}
template <class Group, class Tile, class First, class Beside, class Second>
SMX_HD void load_pair(Group& g, Tile& a, First const& first, Beside& b, Second const& second, row_id row, interval span) {
    detail::span_alone alone{span};
    smx::load_pair(g, a, first, b, second, row, alone);
}

SMX_END
