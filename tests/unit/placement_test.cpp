// placement.hpp: what tensors reach, and whether they have elements in common.
#include "smx/placement.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

smx::extents const shape(2, 1, 3, 4);

smx::detail::placement place(float* x, smx::strides x_step, float* y, smx::strides y_step) {
    return smx::detail::place_of(smx::dense_input<float>{x, x_step}, smx::dense_output<float>{y, y_step}, shape);
}

TEST(placement, what_a_tensor_reaches) {
    float data[64] = {};
    smx::detail::byte_range range;
    smx::int64 taken = 0;
    ASSERT_TRUE(smx::detail::reach(data + 32, shape, {-12, 12, 4, 1}, sizeof(float), range, taken));
    EXPECT_EQ(range.low, smx::detail::address_of(data + 20));
    EXPECT_EQ(range.high, smx::detail::address_of(data + 44));
    constexpr smx::int64 most = std::numeric_limits<smx::int64>::max();
    EXPECT_FALSE(smx::detail::reach(data, shape, {most / 2, 12, 4, 1}, sizeof(float), range, taken));
    EXPECT_EQ(taken, most / 2);
}

TEST(placement, the_same_elements_or_none) {
    float data[128] = {};
    smx::strides const packed{12, 12, 4, 1}, wide{24, 24, 8, 1};
    EXPECT_TRUE(place(data, packed, data, packed).same);
    EXPECT_FALSE(place(data, packed, data, wide).same);
    EXPECT_TRUE(place(data, packed, data + 24, packed).apart);
    EXPECT_FALSE(place(data, packed, data + 23, packed).apart);
    EXPECT_EQ(place(data, packed, data + 23, packed).distance, 23 * smx::int64{sizeof(float)});
    EXPECT_TRUE(place(data, wide, data + 4, wide).apart) << "halves of the rows of one buffer";
    EXPECT_FALSE(place(data, wide, data + 3, wide).apart);
}

TEST(placement, of_two_outputs) {
    float data[64] = {};
    smx::dense_output<float> const first{data, {12, 12, 4, 1}}, behind{data + 24, {12, 12, 4, 1}};
    EXPECT_TRUE(smx::detail::place_of(first, behind, shape).apart);
    EXPECT_FALSE(smx::detail::place_of(first, first, shape).apart);
}

}  // namespace
