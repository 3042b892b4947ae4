// mask/causal.hpp: three ways to anchor the triangle, with fewer, as many and more queries than keys.
#include "smx/mask/causal.hpp"

#include <limits>

#include "support/mask_check.hpp"

namespace {

using support::index;
using support::shape4;

constexpr shape4 shapes[] = {{1, 1, 2, 5}, {1, 1, 5, 2},  {1, 1, 1, 16}, {1, 1, 3, 40},
                             {2, 2, 7, 7}, {1, 1, 40, 3}, {1, 1, 4, 1},  {1, 1, 3, 0}};

TEST(causal, top_left_gives_the_first_query_the_first_key) {
    for (auto const& shape : shapes) {
        support::expect_mask(smx::causal_mask::top_left(), shape, [](index, index, index q, int k) { return k <= q; });
    }
}

TEST(causal, bottom_right_gives_the_last_query_the_last_key) {
    for (auto const& shape : shapes) {
        support::expect_mask(smx::causal_mask::bottom_right(), shape,
                             [&](index, index, index q, int k) { return k <= q + shape.keys - shape.queries; });
    }
}

TEST(causal, any_diagonal) {
    for (auto const& shape : shapes) {
        for (index offset : {-50, -3, -1, 0, 1, 2, 6, 50}) {
            support::expect_mask(smx::causal_mask::diagonal(offset), shape,
                                 [&](index, index, index q, int k) { return k <= q + offset; });
        }
    }
}

int columns_seen(smx::causal_mask mask, smx::int64 query, smx::extents shape) {
    smx::interval const span = mask.bind({0, 0, query, query, static_cast<int>(shape.keys)}, shape).span();
    return span.end > span.begin ? span.end - span.begin : 0;
}

// The numbers of published disagreements: decoding one query over a cache, and more queries than keys.
TEST(causal, known_corners) {
    EXPECT_EQ(columns_seen(smx::causal_mask::bottom_right(), 0, {2, 5}), 4);
    EXPECT_EQ(columns_seen(smx::causal_mask::bottom_right(), 0, {1, 16}), 16);
    EXPECT_EQ(columns_seen(smx::causal_mask::top_left(), 0, {1, 16}), 1);
    EXPECT_EQ(columns_seen(smx::causal_mask::bottom_right(), 0, {5, 2}), 0);
    EXPECT_EQ(columns_seen(smx::causal_mask::bottom_right(), 2, {5, 2}), 0);
    EXPECT_EQ(columns_seen(smx::causal_mask::bottom_right(), 3, {5, 2}), 1);
}

TEST(causal, extreme_numbers_do_not_wrap) {
    smx::int64 const most = std::numeric_limits<smx::int64>::max();
    smx::int64 const last = smx::most_rows - 1;
    int const cols = static_cast<int>(smx::most_columns);
    EXPECT_EQ(columns_seen(smx::causal_mask::diagonal(most), 0, {1, 10}), 10);
    EXPECT_EQ(columns_seen(smx::causal_mask::diagonal(-most - 1), 0, {1, 10}), 0);
    EXPECT_EQ(columns_seen(smx::causal_mask::diagonal(most), last, {smx::most_rows, cols}), cols);
    EXPECT_EQ(columns_seen(smx::causal_mask::diagonal(-most - 1), last, {smx::most_rows, cols}), 0);
    EXPECT_EQ(columns_seen(smx::causal_mask::top_left(), last, {smx::most_rows, cols}), cols);
    EXPECT_EQ(columns_seen(smx::causal_mask::bottom_right(), last, {smx::most_rows, cols}), cols);
    EXPECT_EQ(columns_seen(smx::causal_mask::bottom_right(), 0, {smx::most_rows, cols}), 0);
    EXPECT_EQ(columns_seen(smx::causal_mask::top_left(), 3000000000, {4000000000, 100}), 100);
}

}  // namespace
