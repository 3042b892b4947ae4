// Lanes that run in another order, and lanes that are threads: nothing depends on who comes first.
#include "lanes/row_sweep.hpp"

namespace {

TEST(lane_order, descending_resident) {
    lanes::sweep<support::resident_body, smx::tile<16, 8, 2>, support::everything_case, float, float,
                 support::fibers_descending>();
}
TEST(lane_order, descending_staged) {
    lanes::sweep<support::staged_body, smx::tile<8, 4, 4>, support::either_case, float, float,
                 support::fibers_descending>();
}
TEST(lane_order, descending_online) {
    lanes::sweep<support::online_body, smx::tile<4, 8, 4>, support::everything_case, float, float,
                 support::fibers_descending>();
}

TEST(threaded_lanes, resident) {
    lanes::sweep<support::resident_body, smx::tile<8, 4, 4>, support::everything_case, float, float,
                 support::threads>();
}
TEST(threaded_lanes, resident_weights) {
    lanes::sweep<support::resident_weights_body, smx::tile<16, 8, 2>, support::left_padding_case, float, float,
                 support::threads>();
}
TEST(threaded_lanes, staged) {
    lanes::sweep<support::staged_body, smx::tile<4, 8, 4>, support::everything_case, smx::half, smx::half,
                 support::threads>();
}
TEST(threaded_lanes, online) {
    lanes::sweep<support::online_body, smx::tile<8, 4, 1>, support::either_case, float, float, support::threads>();
}

}  // namespace
