// Both bodies for every pair of storage types: one rounding at the store, arithmetic in double where x is double.
#include "lanes/row_sweep.hpp"

namespace lanes {

namespace {

template <class X, class Y>
void sweep_pair() {
    using compute = smx::compute_of<X>;
    for (char const* name : {"no_mask", "both_of_five"}) {
        any_mask const& mask = mask_named(name);
        sweep(runner<fibers, staged_body, smx::tile<1, 16, 4, compute>, X, Y, kinds::two>(), mask);
        sweep(runner<fibers, resident_body, smx::tile<8, 8, 4, compute>, X, Y, kinds::two>(), mask);
        sweep(runner<fibers, online_body, smx::tile<32, 8, 1, compute>, X, Y, kinds::two>(), mask);
    }
}

TEST(dtypes, float_to_half) { sweep_pair<float, smx::half>(); }
TEST(dtypes, float_to_bfloat16) { sweep_pair<float, smx::bfloat16>(); }
TEST(dtypes, float_to_double) { sweep_pair<float, double>(); }
TEST(dtypes, half_to_half) { sweep_pair<smx::half, smx::half>(); }
TEST(dtypes, half_to_float) { sweep_pair<smx::half, float>(); }
TEST(dtypes, bfloat16_to_bfloat16) { sweep_pair<smx::bfloat16, smx::bfloat16>(); }
TEST(dtypes, bfloat16_to_float) { sweep_pair<smx::bfloat16, float>(); }
TEST(dtypes, bfloat16_to_half) { sweep_pair<smx::bfloat16, smx::half>(); }
TEST(dtypes, double_to_double) { sweep_pair<double, double>(); }
TEST(dtypes, double_to_float) { sweep_pair<double, float>(); }
TEST(dtypes, double_to_half) { sweep_pair<double, smx::half>(); }

}  // namespace

}  // namespace lanes
