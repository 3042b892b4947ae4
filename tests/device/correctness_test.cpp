// Every kernel against the reference: lengths at every edge, masks, layouts, scores and factors.
#include "device/suite.hpp"

namespace {

using device::problem;
using device::runner;

// Every fourth kernel: the longest of these tests are four each, to run side by side.
device::runner_list quarter_of_kernels(device::space& where, int quarter) {
    device::runner_list const& all = device::kernels_of(where);
    device::runner_list some;
    for (std::size_t i = static_cast<std::size_t>(quarter); i < all.size(); i += 4) some.push_back(all[i]);
    return some;
}

// No more masks than these: each kernel, of hundreds, draws its own.
std::vector<device::mask_parts> some_of(std::vector<device::mask_parts> masks, support::random_stream& random) {
    constexpr std::size_t most = 24;
    while (masks.size() > most) masks.erase(masks.begin() + random.below(static_cast<int>(masks.size())));
    return masks;
}

// All that can vary varies at once, at every length where a kernel's code path changes.
void check_edges(device::space& where, int quarter) {
    support::random_stream random(static_cast<unsigned>(20 + 100 * quarter));
    for (runner const& kernel : quarter_of_kernels(where, quarter)) {
        for (int cols : device::edges_of(kernel, where)) {
            int const turns = !where.is_gpu() || cols > 32768 ? 1 : cols > 8192 ? 2 : 4;
            bool right = true;
            for (int turn = 0; turn < turns && right; ++turn) {
                right = device::is_right(device::random_problem(kernel, cols, random), kernel, where);
            }
            if (!right) break;
        }
    }
}
SMX_DEVICE_TEST(correctness, edges_in_the_first_quarter) { check_edges(where, 0); }
SMX_DEVICE_TEST(correctness, edges_in_the_second_quarter) { check_edges(where, 1); }
SMX_DEVICE_TEST(correctness, edges_in_the_third_quarter) { check_edges(where, 2); }
SMX_DEVICE_TEST(correctness, edges_in_the_last_quarter) { check_edges(where, 3); }

SMX_DEVICE_TEST(correctness, every_short_length) {
    support::random_stream random(21);
    for (runner const& kernel : device::chosen_kernels()) {
        for (int cols = 1; cols <= 129; ++cols) {
            if (!device::can_take(kernel, cols, where)) break;
            if (!device::is_right(device::random_problem(kernel, cols, random), kernel, where)) break;
        }
    }
}

void check_masks(device::space& where, int quarter) {
    support::random_stream random(22 + 100 * quarter);
    for (runner const& kernel : quarter_of_kernels(where, quarter)) {
        for (smx::extents const& shape : {smx::extents(2, 3, 5, 7), smx::extents(3, 2, 7, 5), smx::extents(2, 2, 1, 61),
                                          smx::extents(2, 3, 4, 4), smx::extents(2, 2, 3, 203)}) {
            if (!device::can_take(kernel, shape.keys, where)) continue;
            bool right = true;
            for (device::mask_parts const& masks : some_of(device::masks_of(kernel.masks, shape), random)) {
                problem p = device::random_problem(kernel, static_cast<int>(shape.keys), random);
                problem plain;
                plain.shape = shape;
                plain.masks = masks;
                plain.seed = p.seed;
                plain.when_empty = p.when_empty;
                plain.factor = 0.5;
                plain.factor_on_device = kernel.factor == device::factor_type::device;
                plain.factor_per_head = kernel.factor == device::factor_type::head;
                right = device::is_right(plain, kernel, where);
                if (!right) break;
            }
            if (!right) break;
        }
    }
}
SMX_DEVICE_TEST(correctness, masks_in_the_first_quarter) { check_masks(where, 0); }
SMX_DEVICE_TEST(correctness, masks_in_the_second_quarter) { check_masks(where, 1); }
SMX_DEVICE_TEST(correctness, masks_in_the_third_quarter) { check_masks(where, 2); }
SMX_DEVICE_TEST(correctness, masks_in_the_last_quarter) { check_masks(where, 3); }

void check_scores(device::space& where, int quarter) {
    support::random_stream random(23 + 100 * quarter);
    for (runner const& kernel : quarter_of_kernels(where, quarter)) {
        bool right = true;
        for (support::pattern scores : support::all_patterns) {
            for (int cols : {3, 100}) {
                if (!device::can_take(kernel, cols, where) || !right) continue;
                problem p = device::random_problem(kernel, cols, random);
                p.scores = scores;
                p.factor = 1.0;
                if (scores == support::pattern::huge) {
                    p.factor = kernel.factor == device::factor_type::head ? 0.25 : 1.0;
                    p.factor_per_head = kernel.factor == device::factor_type::head;
                }
                right = device::is_right(p, kernel, where);
            }
        }
    }
}
SMX_DEVICE_TEST(correctness, scores_in_the_first_quarter) { check_scores(where, 0); }
SMX_DEVICE_TEST(correctness, scores_in_the_second_quarter) { check_scores(where, 1); }
SMX_DEVICE_TEST(correctness, scores_in_the_third_quarter) { check_scores(where, 2); }
SMX_DEVICE_TEST(correctness, scores_in_the_last_quarter) { check_scores(where, 3); }

}  // namespace
