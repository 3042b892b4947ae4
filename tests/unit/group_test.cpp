// group.hpp: the group of one lane keeps the contract of every group.
#include "smx/group.hpp"

#include <gtest/gtest.h>

namespace {

TEST(group, one_lane_is_a_group) {
    static_assert(smx::thread_group::size == 1);
    smx::thread_group::storage memory;
    smx::thread_group g(memory);
    EXPECT_EQ(g.rank(), 0);
    g.sync();
    EXPECT_EQ(g.all_reduce(2.5f, smx::maximum()), 2.5f);
    EXPECT_EQ(g.all_reduce(2.5, smx::plus()), 2.5);
}

}  // namespace
