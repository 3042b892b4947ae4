// Verb 1: bring what one lane holds of a row into its tile.
#pragma once
#include "mask/read_ahead.hpp"
#include "tensor.hpp"
#include "tile.hpp"

SMX_BEGIN

namespace detail {

// Loads what the map of t covers.
template <class Tile, class Source>
SMX_HD void load_covered(Tile& t, Source const& source, interval visible) {
    constexpr int vec = Tile::vec;
#if !SMX_DEVICE_CODE
    // A CPU looks ahead itself: a pack is widened where it is read, and no array of packs is cleared, filled and read back.
    t.for_live_packs([&](int p) {
        int const col = t.pack_column(p);
        if (col < t.map.seen.end && col + vec > t.map.seen.begin) {
            t.middle[p] = source.template widen<vec>(source.template fetch<vec>(col));
        } else {
            t.middle[p] = filled_pack<vec>(typename Tile::compute(0));
        }
    });
    if (t.has_edges()) {
        int const edges = t.edges_to_visit();
        SMX_UNROLL
        for (int i = 0; i < edges; ++i) {
            int const col = t.edge_column(i);
            bool const wanted = col < t.map.end && col >= visible.begin && col < visible.end;
            t.edge[i] = wanted ? source.template widen<1>(source.template fetch<1>(col))[0] : typename Tile::compute(0);
        }
    }
#else
    // Everything is on its way before the first is waited for: what is not fetched is zero, so that widening needs no branch.
    decltype(source.template fetch<vec>(0)) fetched[Tile::packs] = {};
    int const packs = t.packs_to_visit();
    int const blocks_in_use = t.blocks_to_visit();
    SMX_UNROLL
    for (int b = 0; b < blocks_in_use; ++b) {
        if (t.is_whole(b)) {
            t.for_packs(b, packs, [&](int p) { fetched[p] = source.template fetch<vec>(t.pack_column(p)); });
        } else {
            t.for_packs(b, packs, [&](int p) {
                int const col = t.pack_column(p);
                if (col < t.map.seen.end && col + vec > t.map.seen.begin) fetched[p] = source.template fetch<vec>(col);
            });
        }
    }
    if (t.has_edges()) {
        decltype(source.template fetch<1>(0)) single[Tile::edges > 0 ? Tile::edges : 1] = {};
        int const edges = t.edges_to_visit();
        SMX_UNROLL
        for (int i = 0; i < edges; ++i) {
            int const col = t.edge_column(i);
            if (col < t.map.end && col >= visible.begin && col < visible.end) single[i] = source.template fetch<1>(col);
        }
        SMX_UNROLL
        for (int i = 0; i < edges; ++i) t.edge[i] = source.template widen<1>(single[i])[0];
    }
    if constexpr (Tile::in_blocks || Tile::packs > 4) {
        t.for_live_packs([&](int p) { t.middle[p] = source.template widen<vec>(fetched[p]); });
    } else {
        SMX_UNROLL
        for (int p = 0; p < packs; ++p) t.middle[p] = source.template widen<vec>(fetched[p]);
    }
#endif
}

SMX_HD interval span_of(interval span) { return span; }
template <class Tile, class Seen>
SMX_HD interval span_of(read_ahead<Tile, Seen> const& seen) {
    return seen.span();
}
template <class Tile>
SMX_HD void read_meanwhile(interval, Tile const&) {}
template <class Tile, class Seen>
SMX_HD void read_meanwhile(read_ahead<Tile, Seen>& seen, Tile const& t) {
    seen.fetch(t);
}

template <class Group, class Tile, class Input, class Seen>
SMX_HD void load_part(Group& g, Tile& t, Input const& input, row_id row, Seen& seen, interval part) {
    static_assert(Group::size == Tile::lanes, "the tile is made for another number of lanes: write tile<Group::size, vec, packs>");
    auto const source = input_row(input, row);
    t.cover(g.rank(), part, part.begin == 0 ? source.template head<Tile::vec>() : 0, span_of(seen));
    read_meanwhile(seen, t);
    load_covered(t, source, span_of(seen));
}

}  // namespace detail

// Loads columns `part` of a row, as far as its span reaches; fixes the tile's map from slots to columns. With a read_ahead in place of the
// span, what the mask will want to know of these columns is read meanwhile.
// Requires  part within [0, row.cols), at most Tile::capacity columns beyond its head, and starting at 0 or where a pack may start
// Callers   all lanes of g
// Gives     slots outside the span hold 0, finite, so that no scale can make a NaN of them, or are never looked at
// Cost      one read of what can be visible
template <class Group, class Tile, class Input>
SMX_HD void load(Group& g, Tile& t, Input const& input, row_id row, interval span, interval part) {
    detail::load_part(g, t, input, row, span, part);
}
template <class Group, class Tile, class Input, class Seen>
SMX_HD void load(Group& g, Tile& t, Input const& input, row_id row, read_ahead<Tile, Seen>& seen, interval part) {
    detail::load_part(g, t, input, row, seen, part);
}

// The whole row.
template <class Group, class Tile, class Input>
SMX_HD void load(Group& g, Tile& t, Input const& input, row_id row, interval span) {
    smx::load(g, t, input, row, span, interval{0, row.cols});
}
template <class Group, class Tile, class Input, class Seen>
SMX_HD void load(Group& g, Tile& t, Input const& input, row_id row, read_ahead<Tile, Seen>& seen) {
    smx::load(g, t, input, row, seen, interval{0, row.cols});
}

SMX_END
