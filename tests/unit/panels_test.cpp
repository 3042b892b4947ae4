// panels.hpp: the order in which rows are taken that share a long mask.
#include "smx/panels.hpp"

#include <gtest/gtest.h>

namespace {

using smx::extents;
using smx::int64;

TEST(row_panels, take_each_row_once_and_a_panel_of_every_head_after_another) {
    constexpr int64 queries = 3, count = 4, heads = 5;
    smx::row_panels const panels(queries, count, heads);
    ASSERT_TRUE(panels.are_several());
    unsigned turn = 0;
    for (int64 panel = 0; panel < count; ++panel) {
        for (int64 head = 0; head < heads; ++head) {
            for (int64 query = 0; query < queries; ++query) {
                ASSERT_EQ(panels.index_at(turn++), (head * count + panel) * queries + query);
            }
        }
    }
}

TEST(row_panels, reach_the_last_of_two_billion_rows) {
    constexpr int64 queries = 1 << 20, count = 2, heads = 1023;
    smx::row_panels const panels(queries, count, heads);
    constexpr unsigned rows = static_cast<unsigned>(queries * count * heads);
    EXPECT_EQ(panels.index_at(rows - 1), rows - 1);
    EXPECT_EQ(panels.index_at(rows / 2), static_cast<unsigned>(queries));  // the second panel of the first head
}

// How many panels launches take of a call; 1: rows by their index.
template <class Mask>
int64 panels(extents shape, Mask const& masks) {
    auto const prepared = smx::detail::prepared_for(masks, shape);
    using seen = decltype(prepared.bind(smx::row_id(), shape));
    smx::row_panels const found = smx::detail::panels_of(prepared, shape, smx::spans_row<seen>);
    if (!found.are_several()) return 1;
    // The row after the first panel's of the first head is the second head's first: that says how long a panel is.
    int64 turn = 1;
    while (found.index_at(static_cast<unsigned>(turn)) == turn) ++turn;
    EXPECT_EQ(shape.queries % turn, 0);
    return shape.queries / turn;
}

float const bias_data = 0;
unsigned char const flag_data = 1;
auto bias(int64 keys, int64 of_head = 0) { return smx::bias_tensor(&bias_data, {0, of_head, keys, 1}); }
auto flags(int64 keys) { return smx::mask_tensor(&flag_data, {0, 0, keys, 1}); }

TEST(panels_of, rows_of_long_masks_that_heads_share) {
    EXPECT_EQ(panels({1, 32, 2048, 2048}, bias(2048)), 2);                          // 16 MB
    EXPECT_EQ(panels({1, 32, 4096, 4096}, bias(4096)), 8);                          // 64 MB, and 6 divides no 4096
    EXPECT_EQ(panels({1, 32, 2048, 2048}, smx::both(bias(2048), flags(2048))), 2);  // 20 MB
    EXPECT_EQ(panels({1, 32, 4096, 4096}, smx::either(flags(4096), flags(4096))), 4);
    EXPECT_EQ(panels({1, 32, 4096, 4096}, smx::both(smx::causal_mask::top_left(), bias(4096))), 4);  // half of it
    EXPECT_EQ(panels({64, 1, 2048, 2048}, bias(2048)), 2);                                           // or batches
    EXPECT_EQ(panels({1, 2, 3 * 1024, 2048}, bias(2048)), 2);
}

TEST(panels_of, all_others_take_rows_by_their_index) {
    EXPECT_EQ(panels({1, 32, 1024, 2048}, bias(2048)), 1);                                  // 8 MB stay
    EXPECT_EQ(panels({1, 32, 2048, 2048}, bias(2048, 2048 * 2048)), 1);                     // each head its own
    EXPECT_EQ(panels({1, 1, 4096, 4096}, bias(4096)), 1);                                   // nobody to share with
    EXPECT_EQ(panels({1, 32, 4096, 4096}, bias(0)), 1);                                     // one row for all
    EXPECT_EQ(panels({1, 32, 4096, 4096}, smx::bias_tensor(&bias_data, {0, 0, 1, 0})), 1);  // one number a row
    EXPECT_EQ(panels({1, 32, 4099, 4096}, bias(4096)), 1);                                  // a prime
    EXPECT_EQ(panels({1, 32, 64, 1 << 24}, bias(1 << 24)), 1);                              // a row is more than stays
    EXPECT_EQ(panels({1 << 20, 32, 4096, 4096}, bias(4096)), 1);                            // 2^37 rows
    EXPECT_EQ(panels({1, 32, 4096, 4096}, smx::causal_mask::top_left()), 1);
    EXPECT_EQ(panels({1, 32, 4096, 4096}, smx::no_mask()), 1);
    EXPECT_EQ(panels({0, 32, 0, 4096}, bias(4096)), 1);
}

}  // namespace
