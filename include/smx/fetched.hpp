// The steps of a load: what stands for packs that are not fetched, and how those that are come to a tile.
#pragma once
#include "tensor.hpp"
#include "tile.hpp"

SMX_BEGIN

namespace detail {

// A row says `template <int Width> static auto neg_inf()` where something it can fetch widens to -inf.
template <class Source, int Width, class = void>
inline constexpr bool has_neg_inf = false;
template <class Source, int Width>
inline constexpr bool has_neg_inf<Source, Width, always_void<decltype(Source::template neg_inf<Width>())>> = true;

// Zeros stand for what is not fetched, and not -inf.
template <class Tile>
inline constexpr bool loads_zeros = Tile::awaits_bias || Tile::keeps == kept::terms;

// What stands for a pack that is not fetched: what widens to -inf, where the source knows it; zeros, where a factor waits that may make a NaN of
// -inf, and in sums of products.
template <class Tile, int Width, class Source>
SMX_HD auto not_fetched(Source const& source) {
    if constexpr (!loads_zeros<Tile> && has_neg_inf<Source, Width>) {
        return Source::template neg_inf<Width>();
    } else {
        return decltype(source.template fetch<Width>(0)){};
    }
}
template <class Tile, int Width, class Source>
SMX_HD auto widened(Source const& source, decltype(source.template fetch<Width>(0)) const& fetched, bool was_fetched) {
    auto values = source.template widen<Width>(fetched);
    if constexpr (!loads_zeros<Tile> && !has_neg_inf<Source, Width>) {
        if (!was_fetched) values = filled_pack<Width>(neg_inf<typename Tile::compute>());
    }
    return values;
}

// What a tile may hold of an input's scores: what is stored, where a row fetches that, it is smaller and something stored is -inf; or else the
// type to compute with.
template <class Input, class = void>
struct stored_element {
    using type = typename Input::compute;
};
template <class Input>
struct stored_element<Input, always_void<typename Input::element>> {
    using element = typename Input::element;
    using row = decltype(input_row(some<Input>(), row_id()));
    using fetched = decltype(some<row>().template fetch<1>(0));
    static constexpr bool is_smaller = sizeof(element) < sizeof(float) && same_type<typename Input::compute, float>;
    using type = chosen_type<is_smaller && same_type<fetched, raw_pack<element, 1>> && has_neg_inf<row, 1>, element, typename Input::compute>;
};
template <class Input>
using stored_of = typename stored_element<Input>::type;

// Whether the rows of an input lie in memory as the numbers to compute with.
template <class Row>
inline constexpr bool lies_as_numbers = false;
template <class Element, traffic Traffic>
inline constexpr bool lies_as_numbers<memory_input_row<Element, Traffic>> = same_type<Element, compute_of<Element>>;
template <class Input>
inline constexpr bool gives_numbers = lies_as_numbers<decltype(input_row(some<Input>(), row_id()))>;

// A row that can bring a pack to shared memory as it is stored, for the lane that asks for it, has copy<Width>(target, col).
template <class Row, int Width, class = void>
inline constexpr bool copies_packs = false;
template <class Row, int Width>
inline constexpr bool copies_packs<Row, Width, always_void<decltype(some<Row>().template copy<Width>(nullptr, 0))>> = true;

// The packs that wait behind the registers: copied past them, where they are held as they are stored.
template <class Tile, class Source>
SMX_HD void bring_behind(Tile& t, Source const& source) {
    constexpr int vec = Tile::vec;
    using stored = decltype(source.template fetch<vec>(0));
    t.template for_packs_behind<copies::on_the_way>([&](int p, typename Tile::held_pack& held) {
        int const col = t.pack_column(p);
        if constexpr (copies_packs<Source, vec> && (Tile::is_stored || same_type<stored, raw_pack<typename Tile::compute, vec>>)) {
            if (t.touches_seen(p)) {
                source.template copy<vec>(&held, col);
                return;
            }
        }
        auto fetched = not_fetched<Tile, vec>(source);
        if (t.touches_seen(p)) fetched = source.template fetch<vec>(col);
        if constexpr (Tile::is_stored) {
            held = fetched;
        } else {
            held = widened<Tile, vec>(source, fetched, t.touches_seen(p));
        }
    });
}

#if SMX_DEVICE_CODE
// The packs of a lane, and its edges, are asked for and then taken: everything is on its way before the first is waited for; widening needs no
// branch.
template <class Tile, class Source>
using fetched_packs = decltype(some<Source>().template fetch<Tile::vec>(0))[Tile::packs];
template <class Tile, class Source>
using fetched_edges = decltype(some<Source>().template fetch<1>(0))[Tile::edges > 0 ? Tile::edges : 1];

template <class Tile, class Source>
SMX_DEVICE void ask_packs(fetched_packs<Tile, Source>& fetched, Tile const& t, Source const& source) {
    constexpr int vec = Tile::vec;
    auto const mine = from_column(source, t.map.mine);
    int const packs = t.packs_to_visit();
    int const stripes_in_use = t.stripes_to_visit();
    SMX_UNROLL
    for (int p = 0; p < packs; ++p) fetched[p] = not_fetched<Tile, vec>(source);
    SMX_UNROLL
    for (int b = 0; b < stripes_in_use; ++b) {
        if (t.is_whole(b)) {
            t.for_packs(b, packs, [&](int p) { fetched[p] = mine.template fetch<vec>(Tile::distance(p)); });
        } else {
            t.for_packs(b, packs, [&](int p) {
                if (t.touches_seen(p)) fetched[p] = mine.template fetch<vec>(Tile::distance(p));
            });
        }
    }
}
template <class Tile, class Source>
SMX_DEVICE void take_packs(fetched_packs<Tile, Source> const& fetched, Tile& t, Source const& source) {
    constexpr int vec = Tile::vec;
    int const packs = t.packs_to_visit();
    if constexpr (Tile::is_stored) {
        SMX_UNROLL
        for (int p = 0; p < packs; ++p) t.middle[p] = fetched[p];
    } else if constexpr (Tile::in_stripes || Tile::packs > 4) {
        t.for_live_registers([&](int p) { t.middle[p] = widened<Tile, vec>(source, fetched[p], t.touches_seen(p)); });
    } else {
        SMX_UNROLL
        for (int p = 0; p < packs; ++p) t.middle[p] = widened<Tile, vec>(source, fetched[p], t.touches_seen(p));
    }
}

template <class Tile, class Source>
SMX_DEVICE void ask_edges(fetched_edges<Tile, Source>& fetched, Tile const& t, Source const& source) {
    int const edges = t.edges_to_visit();
    SMX_UNROLL
    for (int i = 0; i < edges; ++i) {
        int const col = t.edge_column(i);
        fetched[i] = t.edge_is_seen(col) ? source.template fetch<1>(col) : not_fetched<Tile, 1>(source);
    }
}
template <class Tile, class Source>
SMX_DEVICE void take_edges(fetched_edges<Tile, Source> const& fetched, Tile& t, Source const& source) {
    int const edges = t.edges_to_visit();
    SMX_UNROLL
    for (int i = 0; i < edges; ++i) t.edge[i] = widened<Tile, 1>(source, fetched[i], t.edge_is_seen(t.edge_column(i)))[0];
}
#endif

}  // namespace detail

SMX_END
