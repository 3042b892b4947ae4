// dtype.hpp: all 65,536 halves and bfloat16s there and back, and rounding to nearest even against an independent
// opinion.
#include "smx/dtype.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "support/data.hpp"
#include "support/stored.hpp"

namespace {

template <class T>
class sixteen_bits : public ::testing::Test {};
using sixteen_bit_types = ::testing::Types<smx::half, smx::bfloat16>;
TYPED_TEST_SUITE(sixteen_bits, sixteen_bit_types);

template <class T>
T from_bits(unsigned bits) {
    return T{static_cast<unsigned short>(bits)};
}

TYPED_TEST(sixteen_bits, has_the_size_of_its_bits) {
    static_assert(sizeof(TypeParam) == 2 && alignof(TypeParam) == 2);
    static_assert(std::is_trivially_copyable_v<TypeParam> && std::is_standard_layout_v<TypeParam>);
    static_assert(std::is_same_v<smx::compute_of<TypeParam>, float>);
}

TYPED_TEST(sixteen_bits, every_value_widens_exactly) {
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        double const want = support::stored<TypeParam>::format.value_of(bits);
        float const got = smx::dtype<TypeParam>::widen(from_bits<TypeParam>(bits));
        if (std::isnan(want)) {
            ASSERT_TRUE(std::isnan(got)) << bits;
        } else {
            ASSERT_EQ(static_cast<double>(got), want) << bits;
            ASSERT_EQ(std::signbit(got), std::signbit(want)) << bits;
        }
    }
}

TYPED_TEST(sixteen_bits, every_value_returns_to_its_bits) {
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        float const value = smx::dtype<TypeParam>::widen(from_bits<TypeParam>(bits));
        unsigned const back = smx::dtype<TypeParam>::narrow(value).bits;
        if (std::isnan(value)) {
            ASSERT_TRUE(std::isnan(smx::dtype<TypeParam>::widen(from_bits<TypeParam>(back)))) << bits;
        } else {
            ASSERT_EQ(back, bits);
            ASSERT_EQ(smx::dtype<TypeParam>::narrow(static_cast<double>(value)).bits, bits);
        }
    }
}

// The midpoint between two neighbours goes to the even one; one float further goes to the nearer one.
TYPED_TEST(sixteen_bits, midpoints_round_to_even) {
    auto const& format = support::stored<TypeParam>::format;
    unsigned const infinity = format.bits_of(std::numeric_limits<double>::infinity());
    for (unsigned sign : {0U, 0x8000U}) {
        for (unsigned bits = 0; bits < infinity; ++bits) {
            double const low = format.value_of(bits);
            // Behind the largest value lies where the next one would be.
            double const high = bits + 1 == infinity ? low + format.step_at(low) : format.value_of(bits + 1);
            double const flip = sign != 0 ? -1.0 : 1.0;
            double const middle = flip * (low + high) / 2;
            unsigned const even = sign | (bits % 2 == 0 ? bits : bits + 1);
            ASSERT_EQ(smx::dtype<TypeParam>::narrow(middle).bits, even) << middle;
            ASSERT_EQ(smx::dtype<TypeParam>::narrow(std::nextafter(middle, 0.0)).bits, sign | bits) << middle;
            ASSERT_EQ(smx::dtype<TypeParam>::narrow(std::nextafter(middle, flip * 1e300)).bits, sign | (bits + 1))
                << middle;
            float const single = static_cast<float>(middle);
            if (static_cast<double>(single) != middle) continue;  // between the smallest bfloat16s there is no float
            ASSERT_EQ(smx::dtype<TypeParam>::narrow(single).bits, even) << middle;
            ASSERT_EQ(smx::dtype<TypeParam>::narrow(std::nextafter(single, 0.0f)).bits, sign | bits) << middle;
            float const outward = static_cast<float>(flip) * std::numeric_limits<float>::infinity();
            ASSERT_EQ(smx::dtype<TypeParam>::narrow(std::nextafter(single, outward)).bits, sign | (bits + 1)) << middle;
        }
    }
}

TYPED_TEST(sixteen_bits, any_float_rounds_to_the_nearest) {
    auto const& format = support::stored<TypeParam>::format;
    for (unsigned long long word = 0; word < 0x100000000ULL; word += 2039) {
        auto const bits = static_cast<unsigned>(word);
        float value;
        std::memcpy(&value, &bits, sizeof value);
        unsigned const got = smx::dtype<TypeParam>::narrow(value).bits;
        if (std::isnan(value)) {
            ASSERT_TRUE(std::isnan(format.value_of(got))) << bits;
        } else {
            ASSERT_EQ(got, format.bits_of(static_cast<double>(value))) << value;
        }
    }
}

TYPED_TEST(sixteen_bits, a_double_is_rounded_once) {
    auto const& format = support::stored<TypeParam>::format;
    support::random_stream random(11);
    for (int i = 0; i < 200000; ++i) {
        // A hair off a midpoint: rounding to float first would land on it.
        double const base = std::ldexp(1.0 + random.uniform(), random.below(44) - 26);
        double const step = format.step_at(base);
        double const middle = (std::floor(base / step) + 0.5) * step;
        double const value = middle * (1.0 + (random.coin() ? 0x1p-40 : -0x1p-40)) * (random.coin() ? 1.0 : -1.0);
        ASSERT_EQ(smx::dtype<TypeParam>::narrow(value).bits, format.bits_of(value)) << value;
    }
    for (double value : {1e300, -1e300, 1e-300, -1e-300, 0.0, -0.0, 3.5e38, std::numeric_limits<double>::infinity()}) {
        ASSERT_EQ(smx::dtype<TypeParam>::narrow(value).bits, format.bits_of(value)) << value;
    }
    EXPECT_TRUE(
        std::isnan(format.value_of(smx::dtype<TypeParam>::narrow(std::numeric_limits<double>::quiet_NaN()).bits)));
}

TYPED_TEST(sixteen_bits, a_pair_is_its_two_halves) {
    support::random_stream random(5);
    for (int i = 0; i < 1000; ++i) {
        auto const low = static_cast<float>(random.normal());
        auto const high = static_cast<float>(100 * random.normal());
        unsigned const word = smx::dtype<TypeParam>::narrow_pair(low, high);
        ASSERT_EQ(word & 0xffffU, smx::dtype<TypeParam>::narrow(low).bits);
        ASSERT_EQ(word >> 16, smx::dtype<TypeParam>::narrow(high).bits);
    }
}

TEST(dtype, float_and_double_keep_their_values) {
    static_assert(std::is_same_v<smx::compute_of<float>, float>);
    static_assert(std::is_same_v<smx::compute_of<double>, double>);
    EXPECT_EQ(smx::dtype<float>::widen(1.1f), 1.1f);
    EXPECT_EQ(smx::dtype<float>::narrow(1.1f), 1.1f);
    EXPECT_EQ(smx::dtype<float>::narrow(1.1), 1.1f);
    EXPECT_EQ(smx::dtype<double>::widen(1.1), 1.1);
    EXPECT_EQ(smx::dtype<double>::narrow(1.1), 1.1);
    EXPECT_EQ(smx::dtype<double>::narrow(1.1f), static_cast<double>(1.1f));
    EXPECT_EQ(smx::dtype<float>::narrow(1e300), std::numeric_limits<float>::infinity());
}

template <class T>
void expect_neg_inf() {
    auto const value = smx::dtype<T>::widen(smx::dtype<T>::neg_inf());
    static_assert(std::is_same_v<decltype(smx::dtype<T>::neg_inf()), T>);
    EXPECT_TRUE(std::isinf(value) && value < 0);
    EXPECT_EQ(support::stored<T>::value(smx::dtype<T>::neg_inf()), -std::numeric_limits<double>::infinity());
}

TEST(dtype, every_built_in_type_has_a_minus_infinity) {
    expect_neg_inf<float>();
    expect_neg_inf<double>();
    expect_neg_inf<smx::half>();
    expect_neg_inf<smx::bfloat16>();
}

}  // namespace
