// The sweep that the lanes tests share: one body, one tile, one mask, all lengths that have an edge.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lanes/row_runner.hpp"

namespace lanes {

// Row (b, h, q): runs it, and says in a sentence what is wrong, or nothing.
// x ends where memory ends unless an offset is asked for; y is surrounded by canaries and poisoned; hidden elements of
// x are NaN.
template <class X, class Y>
std::string check_row(row_runner<X, Y> const& runner, any_mask const& mask, support::mask_material const& material,
                      std::vector<X> const& scores, support::index b, support::index h, support::index q,
                      row_options const& options = {});

// 0 to 33 and round powers of two; round the tile's capacity; and, where a row may be longer, round the ends of further
// chunks.
std::vector<int> edge_lengths(int vec, int capacity, bool has_capacity);

// Rows of every length: offsets, scores and factors vary along the way.
template <class X, class Y>
void sweep(row_runner<X, Y> const& runner, any_mask const& mask, std::vector<int> const& lengths);

template <class X, class Y>
void sweep(row_runner<X, Y> const& runner, any_mask const& mask) {
    sweep(runner, mask, edge_lengths(runner.vec, runner.capacity, runner.has_capacity));
}

// A body's file names its runners; every_mask_test.cpp goes through all masks and lengths with them.
class every_mask : public ::testing::TestWithParam<row_runner<float, float>> {};

// One tile for each width of a group; small, so that the edges of its capacity are cheap to reach. Eight lanes compile
// every kind of mask.
template <class Body>
auto on_every_width() {
    return ::testing::Values(runner<fibers, Body, smx::tile<1, 8, 16>, float, float, kinds::two>(),
                             runner<fibers, Body, smx::tile<2, 4, 8>, float, float, kinds::two>(),
                             runner<fibers, Body, smx::tile<4, 8, 4>, float, float, kinds::two>(),
                             runner<fibers, Body, smx::tile<8, 4, 4>, float, float, kinds::each>(),
                             runner<fibers, Body, smx::tile<16, 8, 2>, float, float, kinds::two>(),
                             runner<fibers, Body, smx::tile<32, 4, 2>, float, float, kinds::two>(),
                             runner<fibers, Body, smx::tile<256, 4, 1>, float, float, kinds::two>());
}

inline std::string name_of_width(::testing::TestParamInfo<row_runner<float, float>> const& info) {
    return std::to_string(info.param.lanes) + "_lanes";
}

}  // namespace lanes
