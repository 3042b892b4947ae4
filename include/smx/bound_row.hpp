// What a bound row may be able to say of itself beyond its packs.
#pragma once
#include "pack.hpp"
#include "traits.hpp"

SMX_BEGIN

namespace detail {

// A row that can say `from(col)`, itself with column `col` for its first: what a lane asks of it then differs by constants, which cost
// no instruction in an address.
template <class Row, class = void>
inline constexpr bool has_from = false;
template <class Row>
inline constexpr bool has_from<Row, always_void<decltype(some<Row>().from(0))>> = true;

// A bound output row that can say once for all packs of a lane how they are written.
template <class Row, int Width, class = void>
inline constexpr bool has_whole_packs = false;
template <class Row, int Width>
inline constexpr bool has_whole_packs<Row, Width, always_void<decltype(some<Row>().template takes_whole<Width>())>> = Width > 1;

// An output or an input, some of whose work can be done while the row is on its way, has ahead<Tile>(row_id): what stands for it in that row and
// tile, with fetch(tile) to be called first.
template <class Part, class Tile, class = void>
inline constexpr bool works_ahead = false;
template <class Part, class Tile>
inline constexpr bool works_ahead<Part, Tile, always_void<decltype(&Part::template ahead<Tile>)>> = true;

template <class Tile, class Part, class Row>
SMX_HD decltype(auto) part_ahead(Part const& part, [[maybe_unused]] Row const& row) {
    if constexpr (works_ahead<Part, Tile>) {
        return part.template ahead<Tile>(row);
    } else {
        return (part);
    }
}

// Any other row, from a column of it on.
template <class Row>
struct row_from {
    Row const& row;
    int first;

    template <int Width>
    SMX_HD auto fetch(int col) const {
        return row.template fetch<Width>(first + col);
    }
    template <int Width, class Compute>
    SMX_HD void store(int col, pack<Compute, Width> const& values) const {
        row.template store<Width>(first + col, values);
    }
};

template <class Row>
SMX_HD auto from_column(Row const& row, int col) {
    if constexpr (has_from<Row>) {
        return row.from(col);
    } else {
        return row_from<Row>{row, col};
    }
}

}  // namespace detail

SMX_END
