// Calls that cannot be done: the status says why, nothing is written, and CUDA remembers no error.
#include "device/suite.hpp"

namespace {

using device::int64;
using device::problem;
using device::runner;

// A named kernel that is too small for the rows.
TEST(refusal, rows_too_long_for_the_kernel) {
    std::string why;
    device::space* const gpu = device::gpu_space(&why);
    if (gpu == nullptr) GTEST_SKIP() << why;
    for (runner const& kernel : device::all_kernels()) {
        int64 const longest = device::longest_row(kernel, *gpu);
        if (longest == smx::most_columns) continue;
        for (int64 more : {1, 1000}) {
            problem p;
            p.shape = {2, longest + more};
            p.seed = 100;
            p.factor_per_head = kernel.factor == device::factor_type::head;
            p.factor_on_device = kernel.factor == device::factor_type::device;
            device::execution one(p, kernel, *gpu);
            ASSERT_EQ(gpu->finish(), "");
            smx::status const s = one.launch();
            EXPECT_TRUE(s.code == smx::errc::too_large || s.code == smx::errc::device_limit)
                << device::name_of(kernel) << ", code " << static_cast<int>(s.code);
            EXPECT_STRNE(s.argument, "") << device::name_of(kernel);
            EXPECT_STRNE(s.requirement, "") << device::name_of(kernel);
            EXPECT_EQ(gpu->pending_error(), 0) << device::name_of(kernel);
            ASSERT_EQ(one.wait_and_download(), "");
            EXPECT_TRUE(one.untouched()) << device::name_of(kernel);
        }
    }
}

}  // namespace
