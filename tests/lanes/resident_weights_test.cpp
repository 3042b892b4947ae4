// row/resident.hpp with exponentials kept in the tile, on 1 to 256 emulated lanes: every mask, every edge of a row's
// length.
#include "lanes/row_sweep.hpp"

namespace {

template <class Tile>
class resident_weights : public ::testing::Test {};
TYPED_TEST_SUITE(resident_weights, lanes::tiles, lanes::tile_names);

TYPED_TEST(resident_weights, no_mask) {
    lanes::sweep<support::resident_weights_body, TypeParam, support::no_mask_case>();
}
// Not behind virtual functions: the tile a kernel has for it, on the widths that have no other mask so.
template <class Tile>
void sweep_plain() {
    lanes::sweep_mask<support::fibers, support::resident_weights_body, Tile, float, float, smx::no_mask>(
        &support::answered<support::no_mask_case>, 2);
}
TEST(resident_weights_plain, one_lane) { sweep_plain<smx::tile<1, 8, 16>>(); }
TEST(resident_weights_plain, a_warp) { sweep_plain<smx::tile<32, 4, 2>>(); }
TEST(resident_weights_plain, a_block) { sweep_plain<smx::tile<256, 4, 1>>(); }

TYPED_TEST(resident_weights, causal_top_left) {
    lanes::sweep<support::resident_weights_body, TypeParam, support::top_left_case>();
}
TYPED_TEST(resident_weights, causal_bottom_right) {
    lanes::sweep<support::resident_weights_body, TypeParam, support::bottom_right_case>();
}
TYPED_TEST(resident_weights, causal_diagonal) {
    lanes::sweep<support::resident_weights_body, TypeParam, support::diagonal_case>();
}
TYPED_TEST(resident_weights, key_lengths) {
    lanes::sweep<support::resident_weights_body, TypeParam, support::right_padding_case>();
}
TYPED_TEST(resident_weights, key_lengths_left) {
    lanes::sweep<support::resident_weights_body, TypeParam, support::left_padding_case>();
}
TYPED_TEST(resident_weights, mask_tensor) {
    lanes::sweep<support::resident_weights_body, TypeParam, support::visible_flags_case>();
}
TYPED_TEST(resident_weights, hidden_where) {
    lanes::sweep<support::resident_weights_body, TypeParam, support::hidden_flags_case>();
}
TYPED_TEST(resident_weights, bias_tensor) {
    lanes::sweep<support::resident_weights_body, TypeParam, support::bias_case>();
}
TYPED_TEST(resident_weights, both) {
    lanes::sweep<support::resident_weights_body, TypeParam, support::causal_and_padding_case>();
}
TYPED_TEST(resident_weights, both_of_five) {
    lanes::sweep<support::resident_weights_body, TypeParam, support::everything_case>();
}
TYPED_TEST(resident_weights, either) {
    lanes::sweep<support::resident_weights_body, TypeParam, support::either_case>();
}
TYPED_TEST(resident_weights, either_in_both) {
    lanes::sweep<support::resident_weights_body, TypeParam, support::two_ends_case>();
}
TYPED_TEST(resident_weights, written_window) {
    lanes::sweep<support::resident_weights_body, TypeParam, support::written_window_case>();
}
TYPED_TEST(resident_weights, written_predicate) {
    lanes::sweep<support::resident_weights_body, TypeParam, support::written_predicate_case>();
}

}  // namespace
