// math.hpp: exponentials against double and long double over their whole range, operators, and products rounded once.
#include "smx/math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "support/data.hpp"

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr double infinity_double = std::numeric_limits<double>::infinity();

float float_of(unsigned bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

unsigned bits_of(float value) {
    unsigned bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

TEST(math, neg_inf_and_nan_are_what_they_say) {
    EXPECT_EQ(smx::neg_inf<float>(), -infinity);
    EXPECT_EQ(smx::neg_inf<double>(), -infinity_double);
    EXPECT_TRUE(std::isnan(smx::quiet_nan<float>()));
    EXPECT_TRUE(std::isnan(smx::quiet_nan<double>()));
}

TEST(math, exponential_of_float_is_accurate_over_its_range) {
    // The exponent is x * log2(e) rounded to float: its error grows with |x|, that of the polynomial does not.
    double worst = 0;
    float worst_at = 0;
    unsigned const last = bits_of(-87.3f);
    for (unsigned bits = bits_of(-0x1p-40f); bits <= last; bits += 37) {
        float const x = float_of(bits);
        double const want = std::exp(static_cast<double>(x));
        double const error = std::fabs(static_cast<double>(smx::exponential(x)) - want) / want;
        double const allowed = 0x1p-24 * (2.5 + 1.3 * std::fabs(static_cast<double>(x)));
        if (error / allowed > worst) {
            worst = error / allowed;
            worst_at = x;
        }
    }
    EXPECT_LE(worst, 1.0) << "at x = " << worst_at;
}

TEST(math, exponential_of_double_is_accurate_over_its_range) {
    support::random_stream random(7);
    long double worst = 0;
    double worst_at = 0;
    for (int i = 0; i < 400000; ++i) {
        double const x =
            i % 2 == 0 ? -707.9 * random.uniform() : -std::ldexp(1.0 + random.uniform(), -random.below(60));
        long double const want = std::exp(static_cast<long double>(x));
        long double const error = std::fabs(static_cast<long double>(smx::exponential(x)) - want) / want;
        if (error > worst) {
            worst = error;
            worst_at = x;
        }
    }
    EXPECT_LE(worst, 4e-16L) << "at x = " << worst_at;
}

TEST(math, exponential_is_exact_where_the_rules_need_it) {
    EXPECT_EQ(smx::exponential(0.0f), 1.0f);
    EXPECT_EQ(smx::exponential(-0.0f), 1.0f);
    EXPECT_EQ(smx::exponential(-infinity), 0.0f);
    EXPECT_EQ(smx::exponential(0.0), 1.0);
    EXPECT_EQ(smx::exponential(-0.0), 1.0);
    EXPECT_EQ(smx::exponential(-infinity_double), 0.0);
    EXPECT_TRUE(std::isnan(smx::exponential(std::numeric_limits<float>::quiet_NaN())));
    EXPECT_TRUE(std::isnan(smx::exponential(std::numeric_limits<double>::quiet_NaN())));
    EXPECT_FALSE(std::isfinite(smx::exponential(infinity)));
    EXPECT_FALSE(std::isfinite(smx::exponential(infinity_double)));
}

// What is too small is zero, and nothing on the way there is negative, infinite or out of order.
TEST(math, exponential_vanishes_below_the_normal_range) {
    for (float x = -87.0f; x > -110.0f; x = std::nextafter(x, -infinity)) {
        float const got = smx::exponential(x);
        double const want = std::exp(static_cast<double>(x));
        ASSERT_GE(got, 0.0f) << x;
        if (want < 0x1p-126 * (1 - 2e-5)) {
            ASSERT_EQ(got, 0.0f) << x;
        }
        if (want > 0x1p-126 * (1 + 2e-5)) {
            ASSERT_NEAR(static_cast<double>(got) / want, 1.0, 1e-5) << x;
        }
    }
    for (float x : {-110.0f, -126.0f, -127.0f, -128.0f, -150.0f, -1000.0f, -1e7f, -1e10f, -1e30f, -3.4e38f}) {
        EXPECT_EQ(smx::exponential(x), 0.0f) << x;
    }
    for (double x : {-745.2, -746.0, -800.0, -1023.0, -1024.0, -1e4, -1e9, -1e15, -1e16, -1e19, -1e300, -1.7e308}) {
        EXPECT_EQ(smx::exponential(x), 0.0) << x;
    }
    for (double x = -700.0; x > -760.0; x -= 0.0137) {
        double const got = smx::exponential(x);
        ASSERT_GE(got, 0.0) << x;
        if (x > -708.0) {
            ASSERT_NEAR(got / std::exp(x), 1.0, 1e-15) << x;
        }
    }
}

TEST(math, exponential_decreases) {
    // Not needed bit by bit, but a jump between two pieces of the range would show here.
    float before = 1.0f;
    for (float x = -0.001f; x > -88.0f; x -= 0.001f) {
        float const now = smx::exponential(x);
        ASSERT_LE(now, before) << x;
        before = now;
    }
}

TEST(math, maximum_ignores_nan) {
    float const nan = std::numeric_limits<float>::quiet_NaN();
    smx::maximum const op;
    EXPECT_EQ(op(1.0f, 2.0f), 2.0f);
    EXPECT_EQ(op(2.0f, 1.0f), 2.0f);
    EXPECT_EQ(op(-infinity, -3.0f), -3.0f);
    EXPECT_EQ(op(-infinity, -infinity), -infinity);
    EXPECT_EQ(op(infinity, 1.0f), infinity);
    EXPECT_EQ(op(nan, 1.0f), 1.0f);
    EXPECT_EQ(op(1.0f, nan), 1.0f);
    EXPECT_EQ(op(-infinity, nan), -infinity);
    EXPECT_EQ(op(1.0, 2.0), 2.0);
}

TEST(math, plus_adds) {
    EXPECT_EQ(smx::plus{}(1.5f, 2.25f), 3.75f);
    EXPECT_EQ(smx::plus{}(1.5, 2.25), 3.75);
}

TEST(math, natural_log) {
    EXPECT_EQ(smx::natural_log(1.0f), 0.0f);
    EXPECT_EQ(smx::natural_log(0.0f), -infinity);
    EXPECT_NEAR(static_cast<double>(smx::natural_log(10.0f)), 2.302585092994046, 3e-7);
    EXPECT_NEAR(smx::natural_log(10.0), 2.302585092994046, 5e-16);
    EXPECT_TRUE(std::isnan(smx::natural_log(std::numeric_limits<float>::quiet_NaN())));
}

#if defined(__x86_64__)
// A product that is contracted into the sum after it would not cancel to exactly zero.
template <class Real>
__attribute__((target("fma,avx2"))) Real residue(Real const* a, Real const* b, Real const* rounded, int count) {
    Real worst = 0;
    for (int i = 0; i < count; ++i) {
        Real product[1] = {smx::rounded_product(a[i], b[i])};
        smx::settle_products(product);
        Real const difference = product[0] - rounded[i];
        worst = difference != 0 ? difference : worst;
    }
    return worst;
}

template <class Real>
void expect_no_contraction() {
    if (!__builtin_cpu_supports("fma") || !__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this machine has no FMA";
    support::random_stream random(3);
    Real a[256], b[256], rounded[256];
    for (int i = 0; i < 256; ++i) {
        a[i] = static_cast<Real>(random.normal());
        b[i] = static_cast<Real>(random.normal());
        Real const volatile product = a[i] * b[i];
        rounded[i] = product;
    }
    EXPECT_EQ(residue(a, b, rounded, 256), Real(0));
}

TEST(math, products_of_floats_are_rounded_before_they_are_added) { expect_no_contraction<float>(); }
TEST(math, products_of_doubles_are_rounded_before_they_are_added) { expect_no_contraction<double>(); }
#endif

}  // namespace
