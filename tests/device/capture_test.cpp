// Graphs whose capture is the first call of a kernel: what the library sets once for it must be set while a stream is
// recorded. ctest runs each test in a process of its own, in which nothing has been launched before.
#include "device/suite.hpp"

namespace {

using device::int64;
using device::problem;
using device::runner;

// Recorded, run, and run again after other scores took the place of the first: right both times.
void expect_right_replays(problem const& p, runner const& kernel, device::space& where) {
    device::execution one(p, device::at(where, kernel), where);
    std::string const what = "\n  " + device::name_of(kernel) + "\n  " + device::in_words(p);
    ASSERT_EQ(where.finish(), "") << what;
    smx::status given;
    auto const recorded = where.record([&] { given = one.launch(); });
    for (unsigned long long turn = 0; turn < 2; ++turn) {
        if (turn > 0) one.redraw(p.seed + turn);
        ASSERT_EQ(where.finish(), "") << what;
        recorded->replay();
        ASSERT_TRUE(given.ok()) << given.argument << ": " << given.requirement << what;
        ASSERT_EQ(one.wait_and_download(), "") << what;
        ASSERT_EQ(one.difference(), "") << "replay " << turn << what;
    }
    ASSERT_EQ(where.pending_error(), 0) << what;
}

problem drawn(runner const& kernel, int64 cols, int number) {
    problem p;
    p.shape = cols > 20000  ? smx::extents(1, 1, 1, cols)
              : cols > 2048 ? smx::extents(1, 2, 1, cols)
                            : smx::extents(2, 2, 3, cols);
    p.seed = 500 + static_cast<unsigned long long>(number);
    p.factor = 0.3;
    p.factor_per_head = kernel.factor == device::factor_type::head;
    p.factor_on_device = kernel.factor == device::factor_type::device;
    auto const masks = device::masks_of(kernel.masks, p.shape);
    p.masks = masks[static_cast<std::size_t>(number) % masks.size()];
    return p;
}

// The host path is the same for all of them.
bool is_left_out(device::space const& where, int number, int64 cols) {
    return !where.is_gpu() && (number % 10 != 1 || cols > 100000);
}

// The longest rows a kernel has: those for which it needs shared memory that is not its own unasked, or a cluster of
// more blocks.
void expect_kernels(device::space& where, device::runner_list const& kernels) {
    int number = 0;
    for (runner const& kernel : kernels) {
        if (kernel.kind == runner::automatic) continue;
        int64 const longest = device::longest_row(kernel, where);
        if (longest == 0) continue;  // this GPU lacks an instruction that the kernel needs
        int64 const cols = longest == smx::most_columns ? kernel.policy.columns() + 5 : longest;
        if (is_left_out(where, ++number, cols)) continue;
        expect_right_replays(drawn(kernel, cols, number), kernel, where);
        if (::testing::Test::HasFatalFailure()) return;
    }
}

SMX_DEVICE_TEST(capture, half_kernels_on_their_first_call) { expect_kernels(where, device::half_kernels()); }
SMX_DEVICE_TEST(capture, bfloat16_kernels_on_their_first_call) { expect_kernels(where, device::bfloat16_kernels()); }
SMX_DEVICE_TEST(capture, float_kernels_on_their_first_call) { expect_kernels(where, device::float_kernels()); }
SMX_DEVICE_TEST(capture, double_kernels_on_their_first_call) { expect_kernels(where, device::double_kernels()); }
SMX_DEVICE_TEST(capture, plain_kernels_on_their_first_call) { expect_kernels(where, device::plain_kernels()); }
SMX_DEVICE_TEST(capture, kernels_of_masks_on_their_first_call) {
    expect_kernels(where, device::joined(device::half_mask_kernels(), device::float_mask_kernels()));
}
SMX_DEVICE_TEST(capture, other_kernels_on_their_first_call) {
    expect_kernels(where, device::joined(device::mixed_kernels(), device::other_kernels()));
}

// launch_auto at the ends of all that it chooses from.
SMX_DEVICE_TEST(capture, launch_auto_on_its_first_calls) {
    int number = 0;
    for (runner const& kernel : device::all_kernels()) {
        if (kernel.kind != runner::automatic) continue;
        for (int cols : device::edges_of(kernel, where)) {
            if (is_left_out(where, ++number, cols)) continue;
            expect_right_replays(drawn(kernel, cols, number), kernel, where);
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

}  // namespace
