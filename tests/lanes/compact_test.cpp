// row/resident.hpp with scores that wait as they are stored, on 1 to 256 emulated lanes: every mask that does not bias,
// every edge of a row's length.
#include "lanes/row_sweep.hpp"

namespace lanes {

namespace {

template <class Numbers, class X, class Y>
void sweep_masks() {
    for (any_mask const& mask : all_masks()) {
        if (!mask.kind.biases) sweep(runner<fibers, compact_body, Numbers, X, Y, kinds::two>(), mask);
    }
}

TEST(compact, one_lane) { sweep_masks<smx::tile<1, 8, 16>, smx::half, smx::half>(); }
TEST(compact, two_lanes) { sweep_masks<smx::tile<2, 4, 8>, smx::bfloat16, smx::half>(); }
TEST(compact, eight_lanes) { sweep_masks<smx::tile<8, 8, 5>, smx::bfloat16, smx::bfloat16>(); }
TEST(compact, thirty_two_lanes) { sweep_masks<smx::tile<32, 4, 2>, smx::half, float>(); }
TEST(compact, a_block) { sweep_masks<smx::tile<256, 4, 1>, smx::half, smx::half>(); }

}  // namespace

}  // namespace lanes
