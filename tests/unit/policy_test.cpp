// policy.hpp: what a device has.
#include "smx/policy.hpp"

#include <gtest/gtest.h>

namespace {

TEST(policy, compute_capability_says_how_large_a_cluster_may_be) {
    EXPECT_EQ(smx::cluster_blocks_of(7), 1);
    EXPECT_EQ(smx::cluster_blocks_of(8), 1);
    EXPECT_EQ(smx::cluster_blocks_of(9), 16);
    EXPECT_EQ(smx::cluster_blocks_of(10), 16);
    EXPECT_EQ(smx::cluster_blocks_of(12), 8);
}

}  // namespace
