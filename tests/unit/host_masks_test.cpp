// host.hpp with every mask: the real ones, compiled into the loop as a caller has them.
#include "support/host_call.hpp"

namespace {

using support::expect_shapes;

TEST(host_masks, no_mask) { expect_shapes<float, float, support::no_mask_case>(); }
TEST(host_masks, causal_top_left) { expect_shapes<float, float, support::top_left_case>(); }
TEST(host_masks, causal_bottom_right) { expect_shapes<float, float, support::bottom_right_case>(); }
TEST(host_masks, causal_diagonal) { expect_shapes<float, float, support::diagonal_case>(); }
TEST(host_masks, key_lengths) { expect_shapes<float, float, support::right_padding_case>(); }
TEST(host_masks, key_lengths_left) { expect_shapes<float, float, support::left_padding_case>(); }
TEST(host_masks, mask_tensor) { expect_shapes<float, float, support::visible_flags_case>(); }
TEST(host_masks, hidden_where) { expect_shapes<float, float, support::hidden_flags_case>(); }
TEST(host_masks, mask_bits) { expect_shapes<float, float, support::visible_bits_case>(); }
TEST(host_masks, hidden_bits) { expect_shapes<double, float, support::hidden_bits_case>(); }
TEST(host_masks, bias_tensor) { expect_shapes<float, float, support::bias_case>(); }
TEST(host_masks, both) { expect_shapes<float, float, support::causal_and_padding_case>(); }
TEST(host_masks, both_with_bits) { expect_shapes<float, float, support::structured_bits_case>(); }
TEST(host_masks, both_of_five) { expect_shapes<float, float, support::everything_case>(); }
TEST(host_masks, either) { expect_shapes<float, float, support::either_case>(); }
TEST(host_masks, either_with_bits) { expect_shapes<float, float, support::either_bits_case>(); }
TEST(host_masks, either_in_both) { expect_shapes<float, float, support::two_ends_case>(); }
TEST(host_masks, written_window) { expect_shapes<float, float, support::written_window_case>(); }
TEST(host_masks, written_predicate) { expect_shapes<float, float, support::written_predicate_case>(); }

}  // namespace
