// problem.hpp: how a call is put together: packed strides where none are given, extras in any order.
#include "smx/problem.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <type_traits>

namespace {

float const x[1] = {};
float y[1];

template <class... Extras>
auto operands_of(smx::extents const& shape, Extras const&... extras) {
    return smx::make_operands(smx::scores(x, shape), smx::fixed_scale(2), smx::no_mask(), smx::probabilities(y),
                              extras...);
}

TEST(problem, packed_where_no_strides_are_given) {
    auto const o = operands_of({2, 3, 5, 7});
    EXPECT_EQ(o.input.step.batch, 105);
    EXPECT_EQ(o.input.step.head, 35);
    EXPECT_EQ(o.input.step.query, 7);
    EXPECT_EQ(o.output.step.batch, 105);
    EXPECT_EQ(o.output.step.head, 35);
    EXPECT_EQ(o.output.step.query, 7);
    EXPECT_EQ(o.rows.count(), 30);
    EXPECT_EQ(o.rows.cols(), 7);
    static_assert(std::is_trivially_copyable_v<decltype(o)>, "a call travels to a kernel by value");
}

TEST(problem, given_strides_are_kept) {
    auto const o = smx::make_operands(smx::scores(x, {2, 3, 5, 7}, {0, 0, -9, 1}), smx::fixed_scale(2), smx::no_mask(),
                                      smx::probabilities<smx::hidden::keep>(y, {500, 100, 20, 1}));
    EXPECT_EQ(o.input.step.batch, 0);
    EXPECT_EQ(o.input.step.query, -9);
    EXPECT_EQ(o.output.step.batch, 500);
    static_assert(decltype(o.output)::when_hidden == smx::hidden::keep);
}

TEST(problem, extras_in_any_order) {
    float sums[1];
    smx::log_sum_exp const row_output(sums);
    EXPECT_EQ(operands_of({1, 1}).when_empty, smx::empty_row::zeros);
    EXPECT_EQ(operands_of({1, 1}, smx::empty_row::nan).when_empty, smx::empty_row::nan);
    auto const first = operands_of({1, 1}, smx::empty_row::uniform, row_output);
    auto const last = operands_of({1, 1}, row_output, smx::empty_row::uniform);
    EXPECT_EQ(first.when_empty, smx::empty_row::uniform);
    EXPECT_EQ(last.when_empty, smx::empty_row::uniform);
    EXPECT_EQ(first.row_output.data, sums);
    EXPECT_EQ(last.row_output.data, sums);
}

// What check() will refuse is put together without harm.
TEST(problem, bad_shapes_count_no_rows) {
    smx::int64 const least = std::numeric_limits<smx::int64>::min();
    EXPECT_EQ(operands_of({-1, 2, 3, 4}).rows.count(), 0);
    EXPECT_EQ(operands_of({least, least, least, least}).rows.count(), 0);
    EXPECT_EQ(operands_of({1, 1, 1, smx::most_columns + 1}).rows.count(), 0);
    EXPECT_EQ(operands_of({0, 5}).rows.count(), 0);
}

}  // namespace
