// Every body, tier and family of masks once, in memory without a byte to spare: what compute-sanitizer runs, and what
// runs without it between fences.
#include <algorithm>

#include "device/suite.hpp"

namespace {

using device::int64;
using device::problem;
using device::runner;

// As many columns as the kernel takes at a time and a few more where it can, out of phase, under all the masks there
// are.
problem tight(runner const& kernel, device::space& where, int number) {
    problem p;
    int64 const chunk = kernel.kind == runner::named ? kernel.policy.columns() : 200;
    int64 const longest = std::min(device::longest_row(kernel, where), chunk + 3);
    bool const long_row = longest > 2048;
    p.shape = long_row ? smx::extents(1, 1, 1, longest) : smx::extents(2, 1, 2, longest);
    p.seed = 80 + static_cast<unsigned long long>(number);
    p.exact = true;
    p.x_phase = p.y_phase = number % 3;
    auto const masks = device::masks_of(kernel.masks, p.shape);
    p.masks = masks[static_cast<std::size_t>(number) % masks.size()];
    p.factor_per_head = kernel.factor == device::factor_type::head;
    p.factor_on_device = kernel.factor == device::factor_type::device;
    return p;
}

void run_all(device::space& where, device::runner_list const& kernels, int every) {
    int number = 0;
    for (runner const& kernel : kernels) {
        bool const runs = device::longest_row(kernel, where) > 0 && number++ % every == 0;
        if (runs && !device::is_right(tight(kernel, where, number), kernel, where)) return;
    }
}

SMX_DEVICE_TEST(sanitize, half_kernels) { run_all(where, device::half_kernels(), 1); }
SMX_DEVICE_TEST(sanitize, float_kernels_without_a_mask) {
    device::runner_list unmasked;
    for (runner const& kernel : device::plain_kernels()) {
        if (kernel.x == device::storage::f32) unmasked.push_back(kernel);
    }
    run_all(where, unmasked, 1);
}
SMX_DEVICE_TEST(sanitize, bfloat16_and_double_kernels) {
    run_all(where, device::bfloat16_kernels(), 5);
    run_all(where, device::double_kernels(), 4);
}
SMX_DEVICE_TEST(sanitize, masks) { run_all(where, device::half_mask_kernels(), 1); }
SMX_DEVICE_TEST(sanitize, other_kernels) { run_all(where, device::other_kernels(), 1); }
SMX_DEVICE_TEST(sanitize, other_types_of_y) { run_all(where, device::mixed_kernels(), 3); }

// More rows than one block takes, and a last block that is not full.
void run_several_blocks(device::space& where, bool large_clusters) {
    int number = 0;
    for (runner const& kernel : device::other_kernels()) {
        bool const is_large = kernel.kind == runner::named && kernel.policy.blocks > 8;
        if (is_large != large_clusters || !device::can_take(kernel, 5, where)) continue;
        if (!is_large && number++ % 2 != 0) continue;
        problem p = tight(kernel, where, number);
        p.shape = {1, 1, 67, 5};
        auto const masks = device::masks_of(kernel.masks, p.shape);
        p.masks = masks[static_cast<std::size_t>(number) % masks.size()];
        if (!device::is_right(p, kernel, where)) return;
    }
}

SMX_DEVICE_TEST(sanitize, rows_of_several_blocks) { run_several_blocks(where, false); }
SMX_DEVICE_TEST(sanitize, rows_of_large_clusters) { run_several_blocks(where, true); }

SMX_DEVICE_TEST(sanitize, in_place) {
    int number = 0;
    for (runner const& kernel : device::half_kernels()) {
        if (device::longest_row(kernel, where) == 0 || number++ % 3 != 0) continue;
        problem p = tight(kernel, where, number);
        p.in_place = true;
        if (!device::is_right(p, kernel, where)) return;
    }
}

// All kernels with tensors beside what the GPU cannot read: an access outside ends the test.
void run_between_fences(device::fence side) {
    std::string why;
    device::space* const where = device::fenced_gpu_space(side, &why);
    if (where == nullptr) GTEST_SKIP() << why;
    int number = 0;
    for (runner const& kernel : device::all_kernels()) {
        if (device::longest_row(kernel, *where) == 0) continue;
        problem p = tight(kernel, *where, ++number);
        if (side == device::fence::before) p.x_phase = p.y_phase = 0;
        if (!device::is_right(p, kernel, *where)) return;
    }
}

TEST(fences, nothing_is_touched_before_a_tensor) { run_between_fences(device::fence::before); }
TEST(fences, nothing_is_touched_behind_a_tensor) { run_between_fences(device::fence::behind); }

}  // namespace
