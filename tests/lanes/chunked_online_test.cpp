// row/chunked.hpp with every row read twice, on 1 to 256 emulated lanes: every mask, lengths round every chunk.
#include "lanes/row_sweep.hpp"

namespace {

template <class Tile>
class chunked_online : public ::testing::Test {};
TYPED_TEST_SUITE(chunked_online, lanes::tiles, lanes::tile_names);

TYPED_TEST(chunked_online, no_mask) { lanes::sweep<support::online_body, TypeParam, support::no_mask_case>(); }
TYPED_TEST(chunked_online, causal_top_left) { lanes::sweep<support::online_body, TypeParam, support::top_left_case>(); }
TYPED_TEST(chunked_online, causal_bottom_right) {
    lanes::sweep<support::online_body, TypeParam, support::bottom_right_case>();
}
TYPED_TEST(chunked_online, causal_diagonal) { lanes::sweep<support::online_body, TypeParam, support::diagonal_case>(); }
TYPED_TEST(chunked_online, key_lengths) {
    lanes::sweep<support::online_body, TypeParam, support::right_padding_case>();
}
TYPED_TEST(chunked_online, key_lengths_left) {
    lanes::sweep<support::online_body, TypeParam, support::left_padding_case>();
}
TYPED_TEST(chunked_online, mask_tensor) {
    lanes::sweep<support::online_body, TypeParam, support::visible_flags_case>();
}
TYPED_TEST(chunked_online, hidden_where) {
    lanes::sweep<support::online_body, TypeParam, support::hidden_flags_case>();
}
TYPED_TEST(chunked_online, bias_tensor) { lanes::sweep<support::online_body, TypeParam, support::bias_case>(); }
TYPED_TEST(chunked_online, both) { lanes::sweep<support::online_body, TypeParam, support::causal_and_padding_case>(); }
TYPED_TEST(chunked_online, both_of_five) { lanes::sweep<support::online_body, TypeParam, support::everything_case>(); }
TYPED_TEST(chunked_online, either) { lanes::sweep<support::online_body, TypeParam, support::either_case>(); }
TYPED_TEST(chunked_online, either_in_both) { lanes::sweep<support::online_body, TypeParam, support::two_ends_case>(); }
TYPED_TEST(chunked_online, written_window) {
    lanes::sweep<support::online_body, TypeParam, support::written_window_case>();
}
TYPED_TEST(chunked_online, written_predicate) {
    lanes::sweep<support::online_body, TypeParam, support::written_predicate_case>();
}

}  // namespace
