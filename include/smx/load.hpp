// Verb 1: bring what one lane holds of a row into its tile.
#pragma once
#include "tensor.hpp"
#include "tile.hpp"

SMX_BEGIN

// Loads columns `part` of a row, as far as `visible` reaches; fixes the tile's map from slots to columns.
// Requires  part within [0, row.cols), no longer than Tile::capacity, and starting at 0 or where a pack may start
// Callers   all lanes of g
// Gives     slots outside `visible` hold 0: finite, so that no scale can make a NaN of them
// Cost      one read of what can be visible
template <class Group, class Tile, class Input>
SMX_HD void load(Group& g, Tile& t, Input const& input, row_id row, interval visible, interval part) {
    using compute = typename Tile::compute;
    static_assert(Group::size == Tile::lanes, "the tile is made for another number of lanes: write tile<Group::size, vec, packs>");
    t.cover(g.rank(), part.begin, part.end, part.begin == 0 ? head_of<Tile::vec>(input, row) : 0);

    int const packs = t.packs_to_visit();
    SMX_UNROLL
    for (int p = 0; p < packs; ++p) {
        int const col = t.pack_column(p);
        bool const wanted = col < t.map.last && col < visible.end && col + Tile::vec > visible.begin;
        t.middle[p] = wanted ? input.template load<Tile::vec>(row, col) : filled_pack<Tile::vec>(compute(0));
    }
    int const edges = t.edges_to_visit();
    SMX_UNROLL
    for (int i = 0; i < edges; ++i) {
        int const col = t.edge_column(i);
        bool const wanted = col < t.map.end && col >= visible.begin && col < visible.end;
        t.edge[i] = wanted ? input.template load<1>(row, col)[0] : compute(0);
    }
}

// The whole row.
template <class Group, class Tile, class Input>
SMX_HD void load(Group& g, Tile& t, Input const& input, row_id row, interval visible) {
    smx::load(g, t, input, row, visible, interval{0, row.cols});
}

SMX_END
