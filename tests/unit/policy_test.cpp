// policy.hpp: kernel types are numbers that compare, and say what they need of a device.
#include "smx/policy.hpp"

#include <gtest/gtest.h>

namespace {

constexpr smx::row_shape row_of(smx::int64 cols) {
    smx::row_shape shape;
    shape.cols = cols;
    return shape;
}

TEST(policy, a_kernel_type_is_its_numbers) {
    using kernel = smx::resident<smx::block_group<128>, 8, 2>;
    static_assert(kernel::value.lanes == 128 && kernel::value.vec == 8 && kernel::value.packs == 2);
    static_assert(kernel::value.threads == 128);
    static_assert(kernel::value.body == smx::body_kind::resident);
    static_assert(kernel::value.columns() == 2048);
    static_assert(kernel::value == smx::resident<smx::block_group<128>, 8, 2>::value);
    static_assert(kernel::value != smx::resident<smx::block_group<128>, 8, 1>::value);
    static_assert(kernel::value != smx::chunked_online<smx::block_group<128>, 8, 2>::value);
    static_assert(kernel::shared_bytes(row_of(2048)) == 0);
    static_assert(kernel::can_run(row_of(2048), {}) && !kernel::can_run(row_of(2049), {}));
}

TEST(policy, a_cluster_is_its_lanes_and_its_blocks) {
    using kernel = smx::resident<smx::cluster_group<256, 8>, 8, 8>;
    static_assert(kernel::value.lanes == 2048 && kernel::value.threads == 256 && kernel::value.blocks == 8);
    static_assert(kernel::value.columns() == 131072 && kernel::rows_per_block == 1);
    static_assert(smx::resident<smx::block_group<256>, 8, 8>::value.blocks == 1);
    static_assert(kernel::value == smx::resident<smx::cluster_group<256, 8>, 8, 8>::value);
    static_assert(kernel::value != smx::resident<smx::cluster_group<512, 4>, 8, 8>::value);
    constexpr smx::policy one_block{smx::body_kind::resident, 2048, 256, 8, 8};
    static_assert(kernel::value != one_block);
    constexpr smx::device_limits none{}, eight{48 * 1024, true, 8}, four{48 * 1024, true, 4};
    static_assert(!kernel::can_run(row_of(100000), none) && !kernel::can_run(row_of(100000), four));
    static_assert(kernel::can_run(row_of(131072), eight) && !kernel::can_run(row_of(131073), eight));
    static_assert(!smx::chunked_online<smx::cluster_group<256, 8>, 4, 4>::can_run(row_of(1), none));
    static_assert(smx::chunked_online<smx::cluster_group<256, 8>, 4, 4>::can_run(row_of(1000000), eight));
}

TEST(policy, compute_capability_says_how_large_a_cluster_may_be) {
    EXPECT_EQ(smx::cluster_blocks_of(7), 1);
    EXPECT_EQ(smx::cluster_blocks_of(8), 1);
    EXPECT_EQ(smx::cluster_blocks_of(9), 16);
    EXPECT_EQ(smx::cluster_blocks_of(10), 16);
    EXPECT_EQ(smx::cluster_blocks_of(12), 8);
}

}  // namespace
