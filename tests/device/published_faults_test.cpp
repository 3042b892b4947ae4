// The known faults of published versions of this operator: each as an input that shows it.
#include <cmath>

#include "device/suite.hpp"

namespace {

using device::family;
using device::int64;
using device::problem;
using device::runner;

// Kernels that can run without a mask, on rows of this length.
template <class Run>
void on_unmasked_kernels(device::space& where, int64 cols, Run&& run) {
    for (runner const& kernel : device::kernels_of(where)) {
        bool const absent =
            kernel.masks == family::none || kernel.masks == family::structured || kernel.masks == family::composed;
        if (!absent || !device::can_take(kernel, cols, where)) continue;
        problem p;
        p.seed = 70;
        p.factor_per_head = kernel.factor == device::factor_type::head;
        p.factor_on_device = kernel.factor == device::factor_type::device;
        if (!run(p, kernel)) return;
    }
}

// A block of several rows keeps one maximum: rows beside each other differ by thousands.
SMX_DEVICE_TEST(published_faults, row_maximum_shared_by_the_rows_of_a_block) {
    for (int64 cols : {13, 64}) {
        on_unmasked_kernels(where, cols, [&](problem p, runner const& kernel) {
            p.shape = {67, cols};
            p.score = [](int64, int64, int64 q, int k) {
                return 2048.0 * static_cast<double>(q * 7 % 16) - 16384.0 + (k % 3 == 0 ? 0.0 : -64.0);
            };
            return device::is_right(p, kernel, where);
        });
    }
}

// Rows leave the kernel before the others have met at a barrier: the last block is not full.
SMX_DEVICE_TEST(published_faults, early_return_before_a_barrier) {
    for (int64 cols : {5, 129}) {
        on_unmasked_kernels(where, cols, [&](problem p, runner const& kernel) {
            for (int64 rows : {1, 3, 63, 65, 130}) {
                p.shape = {rows, cols};
                if (!device::is_right(p, kernel, where)) return false;
            }
            return true;
        });
    }
}

// Only the first lane knows the maximum: it lies in every column once.
SMX_DEVICE_TEST(published_faults, maximum_in_the_first_lane_only) {
    for (int64 cols : {32, 100}) {
        on_unmasked_kernels(where, cols, [&](problem p, runner const& kernel) {
            p.shape = {cols, cols};
            p.score = [](int64, int64, int64 q, int k) { return k == q ? 40.0 : 0.25 * (k % 4); };
            return device::is_right(p, kernel, where);
        });
    }
}

// A reduction that ends at the warp: rows as long as a kernel takes, with the maximum in each warp's part once.
SMX_DEVICE_TEST(published_faults, reduction_within_each_warp_only) {
    for (runner const& kernel : device::all_kernels()) {
        if (kernel.kind != runner::named || kernel.policy.lanes <= 32 || kernel.masks != family::composed) continue;
        int64 const warps = kernel.policy.lanes / 32;
        // On the host an expectation is tried, which is the same for any number of columns.
        if (!where.is_gpu() && warps * kernel.policy.columns() > 1 << 18) continue;
        problem p;
        p.shape = {warps, kernel.policy.columns()};
        p.score = [&](int64, int64, int64 q, int k) {
            return k == q * p.shape.keys / warps + 5 ? 20.0 : static_cast<double>(k % 8) - 4.0;
        };
        if (!device::can_take(kernel, p.shape.keys, where)) continue;
        if (!device::is_right(p, kernel, where)) return;
    }
}

// The two halves of a word change places.
SMX_DEVICE_TEST(published_faults, packed_halves_swapped) {
    for (int64 cols : {8, 15, 64}) {
        on_unmasked_kernels(where, cols, [&](problem p, runner const& kernel) {
            p.shape = {3, cols};
            p.score = [](int64, int64, int64 q, int k) { return (k + q) % 2 == 0 ? 3.0 : -1.0 - 0.25 * (k % 16); };
            return device::is_right(p, kernel, where);
        });
    }
}

// The mask is walked as if it had the shape of x: broadcast ones end long before.
SMX_DEVICE_TEST(published_faults, broadcast_mask_read_past_its_end) {
    for (runner const& kernel : device::kernels_of(where)) {
        if (!device::selects_by_tensor(kernel.masks) && kernel.masks != family::composed) continue;
        bool right = true;
        for (int64 cols : {7, 200}) {
            for (device::form axes :
                 {device::form::query_key, device::form::batch_key, device::form::batch_query_key}) {
                problem p;
                p.shape = {3, 4, 5, cols};
                if (!device::can_take(kernel, cols, where) || !right) continue;
                p.exact = true;
                p.seed = 71;
                device::selecting_tensor(p.masks, kernel.masks) = {axes, 0, 0};
                p.masks.flag = [](int64 b, int64, int64 q, int k) { return (k + q + 3 * b) % 4 != 0; };
                right = device::is_right(p, kernel, where);
            }
        }
    }
}

// -infinity - -infinity: NaN, or attention to padding.
SMX_DEVICE_TEST(published_faults, fully_masked_row_is_nan) {
    for (runner const& kernel : device::kernels_of(where)) {
        if (kernel.masks != family::structured || !device::can_take(kernel, 6, where)) continue;
        problem p;
        p.shape = {2, 1, 6, 6};
        p.masks.causal = device::causal_kind::top_left;
        p.masks.lengths = device::lengths_kind::left;
        p.masks.length_of_batch = {4, 6};  // causal hides what padding shows: rows 0 and 1 of batch 0
        device::execution one(p, device::at(where, kernel), where);
        ASSERT_EQ(one.run(), "") << device::name_of(kernel);
        ASSERT_EQ(one.difference(), "") << device::name_of(kernel);
        for (int k = 0; k < 6; ++k) {
            if (kernel.hidden == smx::hidden::keep) break;
            ASSERT_EQ(one.value(0, 0, 1, k), 0.0) << device::name_of(kernel) << ", column " << k;
            ASSERT_EQ(one.value(0, 0, 2, k) != 0.0, k == 2) << device::name_of(kernel) << ", column " << k;
        }
    }
}

// -10000 or -1e9 in place of exclusion: the visible score is lower than that.
SMX_DEVICE_TEST(published_faults, fill_in_place_of_exclusion) {
    for (runner const& kernel : device::kernels_of(where)) {
        if (!device::selects_by_tensor(kernel.masks)) continue;
        for (double visible : {-20480.0, -61440.0, -1e30}) {
            if (!device::can_take(kernel, 2, where) || (visible < -65504 && kernel.x == device::storage::f16)) continue;
            problem p;
            p.shape = {1, 2};
            device::selecting_tensor(p.masks, kernel.masks) = {device::form::query_key, 0, 0};
            p.masks.flag = [](int64, int64, int64, int k) { return k == 0; };
            p.score = [=](int64, int64, int64, int k) { return k == 0 ? visible : 5.0; };
            device::execution one(p, device::at(where, kernel), where);
            ASSERT_EQ(one.run(), "") << device::name_of(kernel);
            EXPECT_EQ(one.value(0, 0, 0, 0), 1.0) << device::name_of(kernel) << ", visible score " << visible;
            EXPECT_EQ(one.value(0, 0, 0, 1), 0.0) << device::name_of(kernel) << ", visible score " << visible;
        }
    }
}

// Columns that are no multiple of 4, and so rows that start at every phase.
SMX_DEVICE_TEST(published_faults, columns_not_a_multiple_of_four) {
    for (int64 cols : {1, 2, 3, 5, 6, 7, 37, 129, 383, 385, 1001, 8201, 16387}) {
        on_unmasked_kernels(where, cols, [&](problem p, runner const& kernel) {
            p.shape = {9, cols};
            p.exact = true;
            return device::is_right(p, kernel, where);
        });
    }
}

// Lanes without a column bring a neutral value of zero: all scores of a row are lower (B013).
SMX_DEVICE_TEST(published_faults, idle_lanes_count_as_zero) {
    for (int64 cols : {1, 2, 3, 17, 31, 32, 33, 1025}) {
        on_unmasked_kernels(where, cols, [&](problem p, runner const& kernel) {
            p.shape = {5, cols};
            p.score = [](int64, int64, int64, int k) { return -128.0 - k % 128; };
            return device::is_right(p, kernel, where);
        });
    }
}

// A slice of the keys and a transposed view, as a framework passes them.
SMX_DEVICE_TEST(published_faults, contiguity_assumed) {
    for (runner const& kernel : device::chosen_kernels()) {
        if (!device::can_take(kernel, 40, where)) continue;
        problem p;
        p.shape = {2, 3, 4, 40};
        p.x_step = device::pitched(p.shape, 64);
        p.x_phase = 11;  // keys 11 to 50 of 64
        if (!device::is_right(p, kernel, where)) return;
        p.x_step = device::query_major(p.shape, 64);
        if (!device::is_right(p, kernel, where)) return;
    }
}

}  // namespace
