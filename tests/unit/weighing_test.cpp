// weighing.hpp: scores become weights beside the largest of them.
#include "smx/weighing.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

template <class Real>
class weighing : public ::testing::Test {};
using reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(weighing, reals);

TYPED_TEST(weighing, of_a_difference_the_largest_weighs_one) {
    for (TypeParam max : {TypeParam(0), TypeParam(-3.25), TypeParam(7e4), TypeParam(-1e30)}) {
        for (TypeParam factor : {TypeParam(1), TypeParam(0.125), TypeParam(40)}) {
            smx::weighing<TypeParam, smx::exponent::of_difference> const weigh(max, factor);
            EXPECT_EQ(weigh(max) * weigh.rest(max), TypeParam(1));
            EXPECT_EQ(weigh(-std::numeric_limits<TypeParam>::infinity()), TypeParam(0));
        }
    }
    smx::weighing<TypeParam, smx::exponent::of_difference> const weigh(TypeParam(5), TypeParam(0.5));
    EXPECT_NEAR(static_cast<double>(weigh(TypeParam(3))), std::exp(-1.0), 1e-7);
    EXPECT_TRUE(std::isnan(weigh(std::numeric_limits<TypeParam>::quiet_NaN())));
}

TYPED_TEST(weighing, nothing_visible_weighs_nothing) {
    TypeParam const none = -std::numeric_limits<TypeParam>::infinity();
    smx::weighing<TypeParam, smx::exponent::of_difference> const weigh(none, TypeParam(2));
    EXPECT_EQ(weigh(none), TypeParam(0));
    EXPECT_EQ(weigh.rest(none), TypeParam(1));
}

float fused(float score, float max, float factor) {
    smx::weighing<float, smx::exponent::of_product> const weigh(max, factor);
    return weigh(score) * weigh.rest(max);
}

// Maxima of every size and sign, factors that can wait of every size, and scores from the maximum down.
TEST(weighing_of_product, of_finite_scores_is_exp_of_the_difference) {
    int seen = 0;
    for (float size = 0x1p-126f; size < 0x1p127f; size *= 8) {
        for (float max : {size * 1.37f, -size * 1.61f, 0.0f}) {
            for (float factor = 0x1p-119f; factor < 0x1p126f; factor *= 11.3f) {
                float const step = std::fabs(max) * 0x1p-23f;
                for (float below : {0.0f, step, 2 * step, 1000 * step, 0.5f / factor, 3.0f / factor, 40.0f / factor,
                                    std::fabs(max), 2 * std::fabs(max)}) {
                    float const score = max - below;
                    if (!std::isfinite(score)) continue;
                    double const exponent =
                        (static_cast<double>(score) - static_cast<double>(max)) * static_cast<double>(factor);
                    double const want = std::exp(exponent);
                    if (want > 1e-6 && want < 1) ++seen;
                    // The slope is rounded, as are the exponent and what is left of it for the largest, which may be 64
                    // either way: what is less than 2^-62 is 0, and less than 16 bits can show.
                    double const bound = want * (2e-7 * (2 - std::fmax(exponent, -80.0)) + 1e-6) + 0x1p-62;
                    ASSERT_LE(std::fabs(static_cast<double>(fused(score, max, factor)) - want), bound)
                        << "score " << score << ", max " << max << ", factor " << factor;
                }
            }
        }
    }
    EXPECT_GT(seen, 1000);
}

// A factor that takes the largest to infinity, and what is not finite itself.
TEST(weighing_of_product, of_what_is_not_finite) {
    float const infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(fused(-3.3e38f, -3.3e38f, 4.0f), 1.0f);
    EXPECT_EQ(fused(-10.0f, -10.0f, 8e37f), 1.0f);
    EXPECT_EQ(fused(-infinity, -infinity, 0.5f), 0.0f);
    EXPECT_EQ(fused(-infinity, 3.0f, 0.5f), 0.0f);
    EXPECT_EQ(fused(-infinity, 3e38f, 1.0f), 0.0f);
    EXPECT_TRUE(std::isnan(fused(nan, 3.0f, 0.5f)));
    EXPECT_TRUE(std::isnan(fused(nan, -infinity, 0.5f)));
    EXPECT_TRUE(std::isnan(fused(infinity, infinity, 0.5f)));
}

}  // namespace
