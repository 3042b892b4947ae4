// The bodies on lanes that are threads: what one lane writes for another is separated by a barrier.
#include "lanes/row_sweep.hpp"

namespace lanes {

namespace {

TEST(threaded_lanes, resident) {
    sweep(runner<threads, resident_body, smx::tile<8, 4, 4>>(), mask_named("both_of_five"));
}
TEST(threaded_lanes, resident_weights) {
    sweep(runner<threads, resident_weights_body, smx::tile<16, 8, 2>>(), mask_named("key_lengths_left"));
}
TEST(threaded_lanes, staged) {
    sweep(runner<threads, staged_body, smx::tile<4, 8, 4>, smx::half>(), mask_named("both_of_five"));
}
TEST(threaded_lanes, online) { sweep(runner<threads, online_body, smx::tile<8, 4, 1>>(), mask_named("either")); }

}  // namespace

}  // namespace lanes
