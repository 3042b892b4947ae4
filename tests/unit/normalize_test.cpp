// normalize.hpp: scores and kept weights become probabilities, scores their logarithms; what an empty row is written
// as.
#include "smx/normalize.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "smx/mask.hpp"

namespace {

template <class Real>
class normalize : public ::testing::Test {};
using reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(normalize, reals);

template <class Tile>
Tile full_tile(typename Tile::compute score) {
    Tile t{};
    t.cover(0, {0, Tile::capacity}, 0, {0, Tile::capacity});
    for (auto& pack : t.middle) pack = smx::filled_pack<Tile::vec>(score);
    return t;
}

TYPED_TEST(normalize, scores) {
    auto t = full_tile<smx::tile<1, 4, 1, TypeParam>>(TypeParam(2));
    t.middle[0][1] = TypeParam(3);
    t.middle[0][2] = -std::numeric_limits<TypeParam>::infinity();
    auto const stats = smx::lane_statistics(t);
    smx::normalize(t, stats, smx::empty_row::zeros, 4);
    double const sum = 1 + 2 * std::exp(-1.0);
    EXPECT_NEAR(static_cast<double>(t.middle[0][0]), std::exp(-1.0) / sum, 1e-7);
    EXPECT_NEAR(static_cast<double>(t.middle[0][1]), 1 / sum, 1e-7);
    EXPECT_EQ(t.middle[0][2], TypeParam(0));
}

TYPED_TEST(normalize, weights) {
    auto t = full_tile<smx::tile<1, 4, 3, TypeParam, smx::kept::weights>>(TypeParam(2));
    auto const mine = smx::lane_statistics(t);
    // Another lane's maximum is larger: the weights of this one are brought to it.
    smx::statistics<TypeParam> const row = smx::merge(mine, {TypeParam(4), TypeParam(1)});
    smx::normalize(t, row, smx::empty_row::zeros, 13);
    double const sum = 1 + 12 * std::exp(-2.0);
    EXPECT_NEAR(static_cast<double>(t.middle[2][3]), std::exp(-2.0) / sum, 1e-7);
}

TYPED_TEST(normalize, to_logarithms) {
    auto t = full_tile<smx::tile<1, 4, 1, TypeParam>>(TypeParam(2));
    t.middle[0][1] = TypeParam(-3000);
    t.middle[0][2] = -std::numeric_limits<TypeParam>::infinity();
    auto const stats = smx::lane_statistics(t);
    smx::normalize_to_logarithms(t, stats, smx::empty_row::uniform, 4);
    EXPECT_NEAR(static_cast<double>(t.middle[0][0]), -std::log(2.0), 1e-7);
    EXPECT_NEAR(static_cast<double>(t.middle[0][1]), -3002 - std::log(2.0), 1e-3);
    EXPECT_EQ(t.middle[0][2], -std::numeric_limits<TypeParam>::infinity());
}

TYPED_TEST(normalize, an_empty_row_to_logarithms_by_each_rule) {
    auto const by = [](smx::empty_row rule) {
        auto t = full_tile<smx::tile<1, 4, 3, TypeParam>>(-std::numeric_limits<TypeParam>::infinity());
        smx::normalize_to_logarithms(t, smx::statistics<TypeParam>(), rule, 12);
        return t.middle[2][3];
    };
    EXPECT_EQ(by(smx::empty_row::zeros), -std::numeric_limits<TypeParam>::infinity());
    EXPECT_NEAR(static_cast<double>(by(smx::empty_row::uniform)), -std::log(12.0), 1e-6);
    EXPECT_TRUE(std::isnan(by(smx::empty_row::nan)));
}

TYPED_TEST(normalize, an_empty_row_by_each_rule) {
    smx::statistics<TypeParam> const none;
    auto const hidden = -std::numeric_limits<TypeParam>::infinity();
    auto t = full_tile<smx::tile<1, 4, 3, TypeParam>>(hidden);
    smx::normalize(t, none, smx::empty_row::zeros, 12);
    EXPECT_EQ(t.middle[2][3], TypeParam(0));
    t = full_tile<smx::tile<1, 4, 3, TypeParam>>(hidden);
    smx::normalize(t, none, smx::empty_row::uniform, 12);
    EXPECT_EQ(t.middle[2][3], TypeParam(1) / TypeParam(12));
    t = full_tile<smx::tile<1, 4, 3, TypeParam>>(hidden);
    smx::normalize(t, none, smx::empty_row::nan, 12);
    EXPECT_TRUE(std::isnan(t.middle[2][3]));
}

// The rule is for empty rows alone.
TYPED_TEST(normalize, other_rows_do_not_feel_the_rule) {
    for (auto rule : {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan}) {
        auto t = full_tile<smx::tile<1, 4, 1, TypeParam>>(std::numeric_limits<TypeParam>::lowest());
        auto const stats = smx::lane_statistics(t);
        smx::normalize(t, stats, rule, 4);
        EXPECT_EQ(t.middle[0][0], TypeParam(0.25));
    }
}

TYPED_TEST(normalize, a_nan_row_is_nan_under_every_rule) {
    for (auto rule : {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan}) {
        for (TypeParam poison :
             {std::numeric_limits<TypeParam>::quiet_NaN(), std::numeric_limits<TypeParam>::infinity()}) {
            auto t = full_tile<smx::tile<1, 4, 1, TypeParam>>(TypeParam(1));
            t.middle[0][2] = poison;
            auto const stats = smx::lane_statistics(t);
            smx::normalize(t, stats, rule, 4);
            for (TypeParam y : t.middle[0].data) EXPECT_TRUE(std::isnan(y));
        }
    }
}

TYPED_TEST(normalize, empty_value) {
    smx::statistics<TypeParam> const none;
    smx::statistics<TypeParam> const some{TypeParam(0), TypeParam(1)};
    EXPECT_EQ(smx::empty_value(some, smx::empty_row::nan, 5), TypeParam(0));
    EXPECT_EQ(smx::empty_value(some, smx::empty_row::uniform, 5), TypeParam(0));
    EXPECT_EQ(smx::empty_value(none, smx::empty_row::uniform, 5), TypeParam(1) / TypeParam(5));
    EXPECT_EQ(smx::empty_value(none, smx::empty_row::zeros, 5), TypeParam(0));
}

// The weights of a lane whose scores the scale took to -infinity are finite, and none of them is written.
TYPED_TEST(normalize, weights_that_the_scale_emptied) {
    using tile = smx::tile<1, 4, 3, TypeParam, smx::kept::weights>;
    TypeParam const lowest = std::numeric_limits<TypeParam>::lowest();
    auto const emptied = [&] {
        auto t = full_tile<tile>(lowest);
        t.factor = TypeParam(4);
        return t;
    };
    for (auto rule : {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan}) {
        auto t = emptied();
        auto const row = smx::merge(smx::statistics<TypeParam>(), smx::lane_statistics(t));
        smx::normalize(t, row, rule, 12);
        for (auto const& pack : t.middle) {
            for (TypeParam y : pack.data) {
                if (rule == smx::empty_row::nan) {
                    EXPECT_TRUE(std::isnan(y));
                } else {
                    EXPECT_EQ(y, rule == smx::empty_row::zeros ? TypeParam(0) : TypeParam(1) / TypeParam(12));
                }
            }
        }
    }
    // Another lane has a score.
    auto t = emptied();
    smx::normalize(t, smx::merge(smx::lane_statistics(t), {TypeParam(-3), TypeParam(1)}), smx::empty_row::nan, 13);
    for (auto const& pack : t.middle) {
        for (TypeParam y : pack.data) EXPECT_EQ(y, TypeParam(0));
    }
}

// Hidden packs that are computed are written like all others.
TYPED_TEST(normalize, hidden_packs_that_are_computed) {
    using tile = smx::tile<1, 4, 3, TypeParam, smx::kept::weights, smx::hidden_packs::computed>;
    tile t{};
    t.cover(0, {0, 12}, 0, {0, 0});
    for (auto& pack : t.middle) pack = smx::filled_pack<4>(-std::numeric_limits<TypeParam>::infinity());
    auto const mine = smx::lane_statistics(t);
    EXPECT_TRUE(mine.empty());
    smx::normalize(t, mine, smx::empty_row::uniform, 12);
    for (auto const& pack : t.middle) {
        for (TypeParam y : pack.data) EXPECT_EQ(y, TypeParam(1) / TypeParam(12));
    }
}

// A chunk that nobody sees is not loaded: what the tile held before, or never held, does not show.
template <smx::kept Kept>
void expect_zeros_of_a_hidden_chunk() {
    using tile = smx::tile<1, 4, 2, float, Kept>;
    tile t;
    std::memset(static_cast<void*>(&t), 0xff, sizeof(t));  // NaN everywhere
    t.cover(0, {0, 9}, 1, {0, 0});
    smx::hide_all(t);
    smx::normalize(t, smx::statistics<float>{2.0f, 3.0f}, smx::empty_row::zeros, 9);
    int columns = 0;
    t.for_columns([&](int, float& value) {
        EXPECT_EQ(value, 0.0f);
        ++columns;
    });
    EXPECT_EQ(columns, 9);
}

TEST(normalize_chunk, a_hidden_chunk_is_zeros_whatever_the_tile_held) {
    expect_zeros_of_a_hidden_chunk<smx::kept::scores>();
    expect_zeros_of_a_hidden_chunk<smx::kept::weights>();
}

}  // namespace
