// Body: the whole row waits in registers.
#pragma once
#include "../group.hpp"
#include "../load.hpp"
#include "../mask.hpp"
#include "../normalize.hpp"
#include "../scale.hpp"
#include "../store.hpp"

SMX_BEGIN

namespace detail {

// What softmax_row does with a row that is bound: the six verbs.
template <class Tile, class Group, class Input, class Seen, class Ahead, class Output>
SMX_HD statistics<typename Tile::compute> softmax_by_verbs(Group& g, Tile& t, Input const& input, typename Tile::compute factor, Seen const& seen, Ahead& ahead,
                                                           Output const& output, row_id row, empty_row when_empty) {
    smx::load(g, t, input, row, ahead);
    smx::scale(t, factor);
    smx::mask(t, seen);
    auto const stats = smx::reduce(g, t);
    smx::normalize_for<Output>(t, stats, when_empty, row.cols);
    smx::store(g, t, output, row, seen.span(), stats);
    return stats;
}

}  // namespace detail

// Softmax of one row: the algorithm.
// Requires  row.cols <= Tile::capacity; memory for Tile::lanes * Tile::behind_packs packs, where there are such, aligned to 16 bytes
// Callers   all lanes of g, convergent; lanes of one group pass the same row
// Gives     every lane stores its own packs; every lane gets the statistics of the row
// Storage   g's, reusable without a barrier
// Cost      one read of what can be visible, one write, two reductions
template <class Tile, class Group, class Input, class Mask, class Output>
SMX_HD statistics<typename Tile::compute> softmax_row(Group& g, Input const& input, typename Tile::compute factor, Mask const& masks,
                                                      Output const& output, row_id row, extents shape,
                                                      empty_row when_empty = empty_row::zeros, void* memory = nullptr) {
    auto const bound = masks.bind(row, shape);
    read_ahead<Tile, decltype(masks.bind(row, shape))> seen(bound);
    Tile t;
    if constexpr (Tile::behind_packs > 0) t.behind = static_cast<typename Tile::held_pack*>(memory) + g.rank();
    if constexpr (detail::works_ahead<Output, Tile>) {
        auto target = output.template ahead<Tile>(row);
        detail::both_ahead<decltype(seen), decltype(target)> ahead{seen, target};
        return detail::softmax_by_verbs(g, t, input, factor, seen, ahead, target, row, when_empty);
    } else {
        return detail::softmax_by_verbs(g, t, input, factor, seen, seen, output, row, when_empty);
    }
}

SMX_END
