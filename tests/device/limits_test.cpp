// GPUs that have less than this one: less shared memory, or none, no bulk copies and no clusters. The answer is right
// by another kernel, or a status says what is missing.
#include "device/limits.hpp"

#include <iterator>

#include "device/suite.hpp"

namespace {

using device::int64;
using device::problem;
using device::runner;

problem drawn(runner const& kernel, int64 cols, int number) {
    problem p;
    p.shape = cols > 2048 ? smx::extents(1, 1, 2, cols) : smx::extents(2, 1, 3, cols);
    p.seed = 600 + static_cast<unsigned long long>(number);
    p.factor_per_head = kernel.factor == device::factor_type::head;
    p.factor_on_device = kernel.factor == device::factor_type::device;
    auto const masks = device::masks_of(kernel.masks, p.shape);
    p.masks = masks[static_cast<std::size_t>(number) % masks.size()];
    return p;
}

// launch_auto always has a kernel; with the GPU's own limits last, so that nothing stays set as the lesser ones had it.
void expect_automatic(device::space& where, device::storage x) {
    int number = 0;
    for (runner const& kernel : device::all_kernels()) {
        if (kernel.kind != runner::automatic || kernel.x != x) continue;
        for (int64 cols :
             {1, 7, 33, 100, 129, 1000, 2049, 4097, 9001, 13000, 24000, 40000, 57000, 70001, 140001, 524288, 1300000}) {
            if (!where.is_gpu() && cols > 100000) continue;  // the host path has no limits
            problem const p = drawn(kernel, cols, ++number);
            device::execution one(p, device::at(where, kernel), where);
            std::vector<smx::device_limits> limits{where.limits()};
            if (where.is_gpu())
                limits.insert(limits.begin(), std::begin(device::lesser_limits), std::end(device::lesser_limits));
            for (smx::device_limits const& most : limits) {
                auto const what = "\n  " + device::name_of(kernel) + "\n  " + device::in_words(p) + "\n  " +
                                  std::to_string(most.shared_bytes_per_block) +
                                  " bytes of shared memory, clusters of " + std::to_string(most.cluster_blocks);
                one.arguments.at_most = &most;
                one.redraw(p.seed);
                ASSERT_EQ(one.run(), "") << what;
                ASSERT_EQ(one.difference(), "") << what;
            }
        }
    }
}

SMX_DEVICE_TEST(limits, launch_auto_of_half) { expect_automatic(where, device::storage::f16); }
SMX_DEVICE_TEST(limits, launch_auto_of_bfloat16) { expect_automatic(where, device::storage::bf16); }
SMX_DEVICE_TEST(limits, launch_auto_of_float) { expect_automatic(where, device::storage::f32); }
SMX_DEVICE_TEST(limits, launch_auto_of_double) { expect_automatic(where, device::storage::f64); }

// A kernel by its name has no other to take its place.
TEST(limits, kernels_that_need_more_are_refused_by_name) {
    std::string why;
    device::space* const gpu = device::gpu_space(&why);
    if (gpu == nullptr) GTEST_SKIP() << why;
    int number = 0, refused = 0;
    for (runner const& kernel : device::all_kernels()) {
        if (kernel.kind != runner::named || !device::can_take(kernel, 5, *gpu)) continue;
        int64 const longest = device::longest_row(kernel, *gpu);
        int64 const cols = longest == smx::most_columns ? kernel.policy.columns() + 5 : longest;
        problem const p = drawn(kernel, cols, ++number);
        device::execution one(p, kernel, *gpu);
        for (smx::device_limits const& most : device::lesser_limits) {
            smx::row_shape shape;
            shape.cols = cols;
            shape.element_bytes = device::bytes_of(kernel.x);
            shape.compute_bytes = kernel.x == device::storage::f64 ? 8 : 4;
            bool const fits = kernel.can_run(shape, most);
            one.arguments.at_most = &most;
            one.redraw(p.seed);
            ASSERT_EQ(gpu->finish(), "");
            smx::status const s = one.launch();
            ASSERT_EQ(gpu->pending_error(), 0) << device::name_of(kernel);
            ASSERT_EQ(one.wait_and_download(), "") << device::name_of(kernel);
            if (!fits && s.code == smx::errc::device_limit) {
                ++refused;
                ASSERT_STRNE(s.argument, "") << device::name_of(kernel);
                ASSERT_TRUE(one.untouched()) << device::name_of(kernel);
                continue;
            }
            // What waits as it is stored may need less than was asked here.
            ASSERT_TRUE(s.ok()) << device::name_of(kernel) << ": " << s.argument << ", " << s.requirement;
            ASSERT_EQ(one.difference(), "") << device::name_of(kernel) << ", " << device::in_words(p);
        }
    }
    EXPECT_GT(refused, 0);
}

}  // namespace
