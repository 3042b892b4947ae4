// The sweep that the lanes tests share: one body, one tile, one mask, all lengths that have an edge.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "support/row_check.hpp"

namespace lanes {

// One tile for each width of a group; small, so that the edges of its capacity are cheap to reach.
using tiles = ::testing::Types<smx::tile<1, 8, 16>, smx::tile<2, 4, 8>, smx::tile<4, 8, 4>, smx::tile<8, 4, 4>,
                               smx::tile<16, 8, 2>, smx::tile<32, 4, 2>, smx::tile<256, 4, 1>>;

struct tile_names {
    template <class Tile>
    static std::string GetName(int) {
        return std::to_string(Tile::lanes) + "_lanes";
    }
};

// 0 to 33 and round powers of two; round the tile's capacity; and, where a row may be longer, round the ends of further
// chunks.
template <class Body, class Tile>
std::vector<int> lengths() {
    std::set<int> all;
    for (int cols = 0; cols <= 33; ++cols) all.insert(cols);
    for (int cols : {63, 64, 65, 127, 128, 129}) all.insert(cols);
    int const capacity = Tile::capacity;
    for (int cols : {capacity - Tile::vec, capacity - 1, capacity}) all.insert(cols);
    if (Body::has_capacity) {
        while (!all.empty() && *all.rbegin() > capacity) all.erase(*all.rbegin());
    } else {
        for (int cols : {capacity + 1, capacity + Tile::vec - 1, capacity + Tile::vec, 2 * capacity - 1, 2 * capacity,
                         2 * capacity + Tile::vec, 3 * capacity + 5}) {
            all.insert(cols);
        }
    }
    return std::vector<int>(all.begin(), all.end());
}

// Runs check(material, scores, b, h, q, options) for every length: rows, offsets, scores and factors vary along the
// way.
template <class X>
using row_check = std::function<std::string(support::mask_material const&, std::vector<X> const&, long long, long long,
                                            long long, support::row_options const&)>;

template <class X>
void sweep_lengths(std::vector<int> const& lengths, row_check<X> const& check, unsigned long long seed) {
    support::random_stream random(seed);
    constexpr smx::empty_row rules[] = {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan};
    constexpr double factors[] = {1.0, 0.125, -0.7, 0.0};
    int number = 0;
    for (int cols : lengths) {
        // Fewer queries than keys, as many, and more.
        long long const queries = cols > 129 || number % 3 == 0 ? 3 : number % 3 == 1 ? cols + 1 : cols + 5;
        support::shape4 const shape{3, 2, queries, cols};
        support::mask_material const material(shape, seed + static_cast<unsigned long long>(cols));
        for (int turn = 0; turn < 2; ++turn, ++number) {
            auto const pattern = support::all_patterns[random.below(9)];
            auto const scores = support::make_scores<X>(pattern, static_cast<std::size_t>(cols), std::max(cols, 1),
                                                        static_cast<unsigned long long>(number));
            support::row_options options;
            // Half of the rows end at the end of memory, the others start anywhere.
            options.x_offset = turn == 0 ? 0 : static_cast<std::size_t>(1 + random.below(16));
            options.y_offset = static_cast<std::size_t>(random.below(16));
            // A factor of -0.7 still fits; one above 1 would turn the largest scores into infinities.
            options.factor = factors[number % 4];
            options.when_empty = rules[random.below(3)];
            long long const b = random.below(3), h = random.below(2), q = random.below(static_cast<int>(queries));
            std::string const wrong = check(material, scores, b, h, q, options);
            ASSERT_EQ(wrong, "") << "cols " << cols << ", queries " << queries << ", row (" << b << ", " << h << ", "
                                 << q << "), " << support::name_of(pattern) << " scores, factor " << options.factor
                                 << ", x offset " << options.x_offset << ", y offset " << options.y_offset
                                 << ", empty rule " << static_cast<int>(options.when_empty) << ", seed " << seed;
        }
    }
}

template <class Carrier, class Body, class Tile, class X, class Y, class Mask>
void sweep_mask(support::answered_mask<Mask> (*answers)(support::mask_material const&), unsigned long long seed) {
    sweep_lengths<X>(
        lengths<Body, Tile>(),
        [&](support::mask_material const& material, std::vector<X> const& scores, long long b, long long h, long long q,
            support::row_options const& options) {
            return support::check_row<Carrier, Body, Tile, X, Y>(answers(material), material, scores, b, h, q, options);
        },
        seed);
}

template <class Body, class Tile, class Case, class X = float, class Y = X, class Carrier = support::fibers>
void sweep(unsigned long long seed = 1) {
    // Eight lanes compile every kind of mask, the other widths two.
    using erased = support::erased_case<Case, typename Tile::compute, Tile::lanes == 8>;
    sweep_mask<Carrier, Body, Tile, X, Y, typename erased::mask_type>(&support::answered<erased>, seed);
}

}  // namespace lanes
