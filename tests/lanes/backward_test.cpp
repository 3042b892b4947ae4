// row/backward.hpp on 1 to 256 emulated lanes: every mask, every edge of a row's length, types of every tensor on its
// own.
#include "lanes/backward_runner.hpp"

namespace lanes {

namespace {

class every_mask_backward : public ::testing::TestWithParam<backward_runner<float, float, float>> {};

TEST_P(every_mask_backward, every_length) {
    for (any_mask const& mask : all_masks()) sweep_backward(GetParam(), mask);
}

template <class Body>
auto backward_on_every_width() {
    return ::testing::Values(
        backward<fibers, Body, smx::tile<1, 8, 16>>(), backward<fibers, Body, smx::tile<2, 4, 8>>(),
        backward<fibers, Body, smx::tile<8, 4, 4>, float, float, float, kinds::each>(),
        backward<fibers, Body, smx::tile<32, 4, 2>>(), backward<fibers, Body, smx::tile<256, 4, 1>>());
}

std::string width_of(::testing::TestParamInfo<backward_runner<float, float, float>> const& info) {
    return std::to_string(info.param.lanes) + "_lanes";
}

INSTANTIATE_TEST_SUITE_P(resident, every_mask_backward, backward_on_every_width<resident_backward>(), width_of);
INSTANTIATE_TEST_SUITE_P(chunked, every_mask_backward, backward_on_every_width<chunked_backward>(), width_of);

template <class Y, class Dy, class Dx, class Compute>
void sweep_types() {
    for (char const* name : {"no_mask", "causal_bottom_right", "both_of_five"}) {
        any_mask const& mask = mask_named(name);
        sweep_backward(backward<fibers, resident_backward, smx::tile<8, 8, 2, Compute>, Y, Dy, Dx>(), mask);
        sweep_backward(backward<fibers, chunked_backward, smx::tile<1, 16, 4, Compute>, Y, Dy, Dx>(), mask);
    }
}

TEST(backward_types, of_halves) { sweep_types<smx::half, smx::half, smx::half, float>(); }
TEST(backward_types, of_bfloat16s) { sweep_types<smx::bfloat16, smx::bfloat16, smx::bfloat16, float>(); }
TEST(backward_types, of_doubles) { sweep_types<double, double, double, double>(); }
TEST(backward_types, dy_narrower) { sweep_types<float, smx::half, float, float>(); }
TEST(backward_types, dy_wider) { sweep_types<smx::half, float, smx::half, float>(); }
TEST(backward_types, dx_wider) { sweep_types<smx::half, float, double, float>(); }
TEST(backward_types, all_apart) { sweep_types<smx::bfloat16, smx::half, float, float>(); }
TEST(backward_types, dy_in_double) { sweep_types<float, double, float, double>(); }
TEST(backward_types, y_in_double) { sweep_types<double, float, smx::half, double>(); }

// From the scores and their log-sum-exp: the same gradients, under every mask.
template <class Body>
void sweep_recomputed() {
    constexpr auto from = probabilities_from::scores;
    for (any_mask const& mask : all_masks()) {
        sweep_backward(backward<fibers, Body, smx::tile<8, 4, 4>, float, float, float, kinds::each, from>(), mask);
        sweep_backward(backward<fibers, Body, smx::tile<1, 8, 8, double>, double, double, double, kinds::two, from>(),
                       mask);
        sweep_backward(backward<fibers, Body, smx::tile<32, 8, 1>, smx::half, float, smx::half, kinds::two, from>(),
                       mask);
    }
}

TEST(backward, resident_from_scores) { sweep_recomputed<resident_backward>(); }
TEST(backward, chunked_from_scores) { sweep_recomputed<chunked_backward>(); }

// Lanes in the other order: a sum that depends on which lane runs first lacks a sync.
TEST(backward, lanes_in_any_order) {
    for (any_mask const& mask : all_masks()) {
        sweep_backward(backward<fibers_descending, resident_backward, smx::tile<8, 4, 4>>(), mask);
    }
}

}  // namespace

}  // namespace lanes
