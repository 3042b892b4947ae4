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

}  // namespace
