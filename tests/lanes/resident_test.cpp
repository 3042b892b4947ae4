// row/resident.hpp on 1 to 256 emulated lanes: every mask, every edge of a row's length.
#include "lanes/row_sweep.hpp"

namespace {

template <class Tile>
class resident : public ::testing::Test {};
TYPED_TEST_SUITE(resident, lanes::tiles, lanes::tile_names);

TYPED_TEST(resident, no_mask) { lanes::sweep<support::resident_body, TypeParam, support::no_mask_case>(); }
TYPED_TEST(resident, causal_top_left) { lanes::sweep<support::resident_body, TypeParam, support::top_left_case>(); }
TYPED_TEST(resident, causal_bottom_right) {
    lanes::sweep<support::resident_body, TypeParam, support::bottom_right_case>();
}
TYPED_TEST(resident, causal_diagonal) { lanes::sweep<support::resident_body, TypeParam, support::diagonal_case>(); }
TYPED_TEST(resident, key_lengths) { lanes::sweep<support::resident_body, TypeParam, support::right_padding_case>(); }
TYPED_TEST(resident, key_lengths_left) {
    lanes::sweep<support::resident_body, TypeParam, support::left_padding_case>();
}
TYPED_TEST(resident, mask_tensor) { lanes::sweep<support::resident_body, TypeParam, support::visible_flags_case>(); }
TYPED_TEST(resident, hidden_where) { lanes::sweep<support::resident_body, TypeParam, support::hidden_flags_case>(); }
TYPED_TEST(resident, bias_tensor) { lanes::sweep<support::resident_body, TypeParam, support::bias_case>(); }
TYPED_TEST(resident, both) { lanes::sweep<support::resident_body, TypeParam, support::causal_and_padding_case>(); }
TYPED_TEST(resident, both_of_five) { lanes::sweep<support::resident_body, TypeParam, support::everything_case>(); }
TYPED_TEST(resident, either) { lanes::sweep<support::resident_body, TypeParam, support::either_case>(); }
TYPED_TEST(resident, either_in_both) { lanes::sweep<support::resident_body, TypeParam, support::two_ends_case>(); }
TYPED_TEST(resident, written_window) {
    lanes::sweep<support::resident_body, TypeParam, support::written_window_case>();
}
TYPED_TEST(resident, written_predicate) {
    lanes::sweep<support::resident_body, TypeParam, support::written_predicate_case>();
}

}  // namespace
