// host.hpp from and to every storage type.
#include "support/host_call.hpp"

namespace {

using support::expect_shapes;

template <class X>
void expect_output_types() {
    expect_shapes<X, float, support::bottom_right_case>();
    expect_shapes<X, double, support::bottom_right_case>();
    expect_shapes<X, smx::half, support::bottom_right_case>();
    expect_shapes<X, smx::bfloat16, support::bottom_right_case>();
}
TEST(host_types, float_to_every_type) { expect_output_types<float>(); }
TEST(host_types, double_to_every_type) { expect_output_types<double>(); }
TEST(host_types, half_to_every_type) { expect_output_types<smx::half>(); }
TEST(host_types, bfloat16_to_every_type) { expect_output_types<smx::bfloat16>(); }

}  // namespace
