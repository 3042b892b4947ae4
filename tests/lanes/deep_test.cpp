// row/resident.hpp with packs that wait behind the registers, as stored or as weights, on 1 to 256 emulated lanes:
// every mask, every edge of a row's length.
#include "lanes/row_sweep.hpp"

namespace lanes {

namespace {

template <smx::kept Kept, int Behind, class Numbers, class X, class Y, class Carrier = fibers>
void sweep_masks() {
    for (any_mask const& mask : all_masks()) {
        if (Kept == smx::kept::stored && mask.kind.biases) continue;
        sweep(runner<Carrier, deep_body<Kept, Behind>, Numbers, X, Y, kinds::two>(), mask);
    }
}

constexpr smx::kept stored = smx::kept::stored, weights = smx::kept::weights;

TEST(deep, one_lane) { sweep_masks<stored, 3, smx::tile<1, 8, 4>, smx::half, smx::half>(); }
TEST(deep, two_lanes) { sweep_masks<stored, 9, smx::tile<2, 4, 1>, smx::bfloat16, smx::half>(); }
TEST(deep, eight_lanes_of_floats) { sweep_masks<stored, 4, smx::tile<8, 4, 2>, float, float>(); }
TEST(deep, four_lanes_of_doubles) { sweep_masks<stored, 5, smx::tile<4, 4, 2, double>, double, double>(); }
TEST(deep, eight_lanes_of_weights) { sweep_masks<weights, 4, smx::tile<8, 4, 2>, float, float>(); }
// A lane that reads a pack which another one brings shows in one of the two orders.
TEST(deep, lanes_in_the_other_order) {
    sweep_masks<stored, 2, smx::tile<4, 8, 1>, smx::half, smx::half, fibers_descending>();
}
TEST(deep, thirty_two_lanes) { sweep_masks<stored, 2, smx::tile<32, 4, 5>, smx::half, float>(); }
TEST(deep, a_block) { sweep_masks<weights, 1, smx::tile<256, 4, 1>, smx::half, smx::half>(); }

}  // namespace

}  // namespace lanes
