// scale.hpp: factors from everywhere, products rounded once, zero and negative factors.
#include "smx/scale.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/data.hpp"

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

template <class Tile>
Tile tile_of(std::vector<typename Tile::compute> const& scores, int head) {
    Tile t{};
    int const cols = static_cast<int>(scores.size());
    t.cover(0, {0, cols}, head, {0, cols});
    for (int p = 0; p < t.packs_to_visit(); ++p) {
        for (int i = 0; i < Tile::vec; ++i) t.middle[p][i] = scores[static_cast<std::size_t>(t.pack_column(p) + i)];
    }
    for (int i = 0; i < t.edges_to_visit(); ++i) t.edge[i] = scores[static_cast<std::size_t>(t.edge_column(i))];
    return t;
}

template <class Tile>
std::vector<typename Tile::compute> scores_of(Tile const& t) {
    std::vector<typename Tile::compute> scores(static_cast<std::size_t>(t.map.end - t.map.begin));
    for (int p = 0; p < t.packs_to_visit(); ++p) {
        for (int i = 0; i < Tile::vec; ++i) scores[static_cast<std::size_t>(t.pack_column(p) + i)] = t.middle[p][i];
    }
    for (int i = 0; i < t.edges_to_visit(); ++i) scores[static_cast<std::size_t>(t.edge_column(i))] = t.edge[i];
    return scores;
}

template <class Compute>
void expect_rounded_products(Compute factor) {
    using tile = smx::tile<1, 4, 8, Compute>;
    support::random_stream random(1);
    for (int cols = 0; cols <= 35 - 3; ++cols) {
        std::vector<Compute> scores(static_cast<std::size_t>(cols));
        for (auto& score : scores) score = static_cast<Compute>(random.normal());
        tile t = tile_of<tile>(scores, 3);
        smx::scale(t, factor);
        auto const got = scores_of(t);
        for (std::size_t at = 0; at < scores.size(); ++at) {
            Compute const volatile want = scores[at] * factor;
            ASSERT_EQ(got[at], want);
        }
    }
}

TEST(scale, every_slot_is_multiplied) {
    for (double factor : {1.0, 0.125, -0.7, 0.0, 1e-5}) {
        expect_rounded_products(static_cast<float>(factor));
        expect_rounded_products(factor);
    }
}

TEST(scale, infinity_counts_after_the_scale) {
    using tile = smx::tile<1, 1, 4>;
    tile t = tile_of<tile>({-infinity, infinity, 1.0f}, 0);
    smx::scale(t, -2.0f);
    auto const got = scores_of(t);
    EXPECT_EQ(got[0], infinity);
    EXPECT_EQ(got[1], -infinity);
    t = tile_of<tile>({-infinity, 1.0f}, 0);
    smx::scale(t, 0.0f);
    EXPECT_TRUE(std::isnan(scores_of(t)[0]));
    EXPECT_EQ(scores_of(t)[1], 0.0f);
}

TEST(scale, fixed) {
    smx::row_id const row{};
    EXPECT_EQ(smx::fixed_scale(0.1).value<double>(row), 0.1);
    EXPECT_EQ(smx::fixed_scale(0.1).value<float>(row), 0.1f);
    EXPECT_EQ(smx::inv_sqrt(64).value<float>(row), 0.125f);
    EXPECT_EQ(smx::inv_sqrt(128).value<double>(row), 1.0 / std::sqrt(128.0));
}

TEST(scale, read_when_the_row_runs) {
    float number = 2.0f;
    smx::device_scale const factor(&number);
    number = 3.0f;
    EXPECT_EQ(factor.value<float>({}), 3.0f);
    EXPECT_EQ(factor.value<double>({}), 3.0);
    double const wide = 0.1;
    EXPECT_EQ(smx::device_scale(&wide).value<double>({}), 0.1);
    EXPECT_EQ(smx::device_scale(&wide).value<float>({}), 0.1f);
    smx::half const half{0x3800};  // 0.5
    EXPECT_EQ(smx::device_scale(&half).value<float>({}), 0.5f);
}

TEST(scale, one_number_a_head) {
    float const numbers[] = {1.0f, -2.0f, 0.0f};
    smx::head_scale const factor(numbers);
    for (int head = 0; head < 3; ++head) EXPECT_EQ(factor.value<float>(smx::row_id{5, head, 7, 0, 1}), numbers[head]);
}

#if defined(__x86_64__)
// Every pass over a row must see the same score, whatever the compiler does with the sums that follow: were one product
// fused into the subtraction after it, the difference of the largest score to itself would not be 0.
template <class Compute>
__attribute__((target("fma,avx2"))) Compute distance_to_own_maximum(std::vector<Compute> const& values,
                                                                    Compute factor) {
    using tile = smx::tile<1, 8, 4, Compute>;
    tile t{};
    int const cols = static_cast<int>(values.size());
    t.cover(0, {0, cols}, 0, {0, cols});
    for (int p = 0; p < t.packs_to_visit(); ++p) {
        for (int i = 0; i < 8; ++i) t.middle[p][i] = values[static_cast<std::size_t>(t.pack_column(p) + i)];
    }
    smx::scale(t, factor);
    Compute top = t.middle[0][0];
    for (int p = 0; p < t.packs_to_visit(); ++p) {
        for (int i = 0; i < 8; ++i) top = t.middle[p][i] > top ? t.middle[p][i] : top;
    }
    Compute closest = Compute(1);
    for (int p = 0; p < t.packs_to_visit(); ++p) {
        for (int i = 0; i < 8; ++i) {
            Compute const distance = top - t.middle[p][i];
            closest = distance < closest ? distance : closest;
        }
    }
    return closest;
}

TEST(scale, passes_see_the_same_score) {
    if (!__builtin_cpu_supports("fma") || !__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this machine has no FMA";
    support::random_stream random(6);
    for (int turn = 0; turn < 200; ++turn) {
        std::vector<float> singles(32);
        std::vector<double> doubles(32);
        for (auto& value : singles) value = static_cast<float>(random.normal());
        for (auto& value : doubles) value = random.normal();
        ASSERT_EQ(distance_to_own_maximum(singles, 0.37f), 0.0f);
        ASSERT_EQ(distance_to_own_maximum(doubles, 0.37), 0.0);
    }
}
#endif

}  // namespace
