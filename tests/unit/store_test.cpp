// store.hpp: every column is written, once; hidden::keep writes inside the span alone; log-sum-exp goes to its row.
#include "smx/store.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/data.hpp"
#include "support/emulated_group.hpp"
#include "support/guarded_buffer.hpp"

namespace {

// Stores column k as k + 1 and gives the row; poison where nothing was stored.
template <class Y, class Tile, smx::hidden Hidden>
void store_counting(support::guarded_buffer<Y>& y, int head, smx::interval visible, bool empty) {
    int const cols = static_cast<int>(y.size());
    smx::dense_output<Y, Hidden> const output{y.data(), {0, 0, 0, 1}};
    smx::row_id const row{0, 0, 0, 0, cols};
    smx::statistics<typename Tile::compute> stats;
    if (!empty) stats = {0, 1};
    support::run_lanes<Tile::lanes>([&](auto& g) {
        Tile t{};
        t.cover(g.rank(), {0, cols}, head, visible);
        for (int p = 0; p < t.packs_to_visit(); ++p) {
            for (int i = 0; i < Tile::vec; ++i)
                t.middle[p][i] = static_cast<typename Tile::compute>(t.pack_column(p) + i + 1);
        }
        for (int i = 0; i < t.edges_to_visit(); ++i)
            t.edge[i] = static_cast<typename Tile::compute>(t.edge_column(i) + 1);
        smx::store(g, t, output, row, visible, stats);
    });
}

template <class Y, class Tile>
void expect_stores() {
    for (int cols : {0, 1, 5, 8, 13, 16, 24, 31, 32}) {
        for (std::size_t offset = 0; offset < 9; ++offset) {
            for (int head : {0, 1, Tile::vec - 1}) {
                smx::interval const visible{cols / 3, cols - cols / 4};
                support::guarded_buffer<Y> all(static_cast<std::size_t>(cols), offset);
                store_counting<Y, Tile, smx::hidden::zeros>(all, head, visible, false);
                ASSERT_TRUE(all.intact());
                support::guarded_buffer<Y> kept(static_cast<std::size_t>(cols), offset);
                store_counting<Y, Tile, smx::hidden::keep>(kept, head, visible, false);
                ASSERT_TRUE(kept.intact());
                support::guarded_buffer<Y> untouched(static_cast<std::size_t>(cols), offset);
                store_counting<Y, Tile, smx::hidden::keep>(untouched, head, visible, true);
                for (int k = 0; k < cols; ++k) {
                    auto const at = static_cast<std::size_t>(k);
                    ASSERT_EQ(support::stored<Y>::value(all[at]), k + 1.0);
                    ASSERT_TRUE(untouched.is_poison(at)) << "an empty row is left whole";
                    if (k >= visible.begin && k < visible.end) {
                        ASSERT_EQ(support::stored<Y>::value(kept[at]), k + 1.0);
                    } else {
                        ASSERT_TRUE(kept.is_poison(at)) << "column " << k << " lies outside the span";
                    }
                }
            }
        }
    }
}

TEST(store, half) {
    expect_stores<smx::half, smx::tile<1, 8, 4>>();
    expect_stores<smx::half, smx::tile<4, 8, 1>>();
}
TEST(store, bfloat16) { expect_stores<smx::bfloat16, smx::tile<2, 16, 1>>(); }
TEST(store, single) { expect_stores<float, smx::tile<8, 4, 1>>(); }
TEST(store, double_precision) { expect_stores<double, smx::tile<4, 2, 4, double>>(); }
TEST(store, half_from_double) { expect_stores<smx::half, smx::tile<1, 8, 4, double>>(); }

TEST(store, rows_lie_at_their_strides) {
    std::vector<float> y(200, -1.0f);
    smx::dense_output<float> const output{y.data() + 100, {50, -20, 7, 1}};
    smx::row_id const row{1, 2, 3, 0, 4};
    support::run_lanes<1>([&](auto& g) {
        smx::tile<1, 4, 1> t{};
        t.cover(0, {0, 4}, 0, {0, 4});
        t.middle[0] = {{1, 2, 3, 4}};
        smx::store(g, t, output, row, {0, 4}, {0, 1});
    });
    for (int k = 0; k < 4; ++k)
        EXPECT_EQ(y[static_cast<std::size_t>(100 + 50 - 40 + 21 + k)], static_cast<float>(k + 1));
    EXPECT_EQ(y[130], -1.0f);
    EXPECT_EQ(y[135], -1.0f);
}

TEST(store, log_sum_exp_goes_to_its_row) {
    float singles[3] = {};
    double doubles[3] = {};
    smx::row_id const row{0, 0, 2, 2, 4};
    smx::log_sum_exp(singles).store(row, smx::statistics<float>{1.0f, 2.0f});
    smx::log_sum_exp(doubles).store(row, smx::statistics<double>{1.0, 2.0});
    EXPECT_NEAR(static_cast<double>(singles[2]), 1 + std::log(2.0), 1e-6);
    EXPECT_NEAR(doubles[2], 1 + std::log(2.0), 1e-15);
    smx::log_sum_exp(singles).store(row, smx::statistics<float>());
    EXPECT_EQ(singles[2], -std::numeric_limits<float>::infinity());
    smx::log_sum_exp(singles).store(row, smx::statistics<float>{1.0f, std::numeric_limits<float>::quiet_NaN()});
    EXPECT_TRUE(std::isnan(singles[2]));
    EXPECT_EQ(singles[0], 0.0f);
}

}  // namespace
