// Lanes that run in another order: nothing depends on who comes first.
#include "lanes/row_sweep.hpp"

namespace lanes {

namespace {

TEST(lane_order, descending_resident) {
    sweep(runner<fibers_descending, resident_body, smx::tile<16, 8, 2>>(), mask_named("both_of_five"));
}
TEST(lane_order, descending_staged) {
    sweep(runner<fibers_descending, staged_body, smx::tile<8, 4, 4>>(), mask_named("either"));
}
TEST(lane_order, descending_online) {
    sweep(runner<fibers_descending, online_body, smx::tile<4, 8, 4>>(), mask_named("both_of_five"));
}

}  // namespace

}  // namespace lanes
