// smx.hpp: one include is the operator on the CPU.
#include "smx/smx.hpp"

#include <gtest/gtest.h>

namespace {

TEST(smx, one_include_one_call) {
    float const x[] = {0, 0, 5};
    float y[3];
    int const length = 2;
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(x, {1, 3}), smx::inv_sqrt(64),
                                     smx::both(smx::causal_mask::bottom_right(), smx::key_lengths(&length)),
                                     smx::probabilities(y)));
    EXPECT_EQ(y[0], 0.5f);
    EXPECT_EQ(y[1], 0.5f);
    EXPECT_EQ(y[2], 0.0f);
}

}  // namespace
