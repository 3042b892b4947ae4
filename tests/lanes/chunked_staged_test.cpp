// row/chunked.hpp with scores kept in memory, on 1 to 256 emulated lanes: every mask, lengths round every chunk.
#include "lanes/row_sweep.hpp"

namespace {

template <class Tile>
class chunked_staged : public ::testing::Test {};
TYPED_TEST_SUITE(chunked_staged, lanes::tiles, lanes::tile_names);

TYPED_TEST(chunked_staged, no_mask) { lanes::sweep<support::staged_body, TypeParam, support::no_mask_case>(); }
TYPED_TEST(chunked_staged, causal_top_left) { lanes::sweep<support::staged_body, TypeParam, support::top_left_case>(); }
TYPED_TEST(chunked_staged, causal_bottom_right) {
    lanes::sweep<support::staged_body, TypeParam, support::bottom_right_case>();
}
TYPED_TEST(chunked_staged, causal_diagonal) { lanes::sweep<support::staged_body, TypeParam, support::diagonal_case>(); }
TYPED_TEST(chunked_staged, key_lengths) {
    lanes::sweep<support::staged_body, TypeParam, support::right_padding_case>();
}
TYPED_TEST(chunked_staged, key_lengths_left) {
    lanes::sweep<support::staged_body, TypeParam, support::left_padding_case>();
}
TYPED_TEST(chunked_staged, mask_tensor) {
    lanes::sweep<support::staged_body, TypeParam, support::visible_flags_case>();
}
TYPED_TEST(chunked_staged, hidden_where) {
    lanes::sweep<support::staged_body, TypeParam, support::hidden_flags_case>();
}
TYPED_TEST(chunked_staged, bias_tensor) { lanes::sweep<support::staged_body, TypeParam, support::bias_case>(); }
TYPED_TEST(chunked_staged, both) { lanes::sweep<support::staged_body, TypeParam, support::causal_and_padding_case>(); }
TYPED_TEST(chunked_staged, both_of_five) { lanes::sweep<support::staged_body, TypeParam, support::everything_case>(); }
TYPED_TEST(chunked_staged, either) { lanes::sweep<support::staged_body, TypeParam, support::either_case>(); }
TYPED_TEST(chunked_staged, either_in_both) { lanes::sweep<support::staged_body, TypeParam, support::two_ends_case>(); }
TYPED_TEST(chunked_staged, written_window) {
    lanes::sweep<support::staged_body, TypeParam, support::written_window_case>();
}
TYPED_TEST(chunked_staged, written_predicate) {
    lanes::sweep<support::staged_body, TypeParam, support::written_predicate_case>();
}

}  // namespace
