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

// Where a row lies by its strides and by its index, modulo 2^64: what wraps is refused elsewhere.
bool is_even(smx::strides const& step, smx::extents const& shape, smx::int64 row_step) {
    auto const times = [](smx::int64 a, smx::int64 b) {
        return static_cast<smx::uint64>(a) * static_cast<smx::uint64>(b);
    };
    smx::int64 index = 0;
    for (smx::int64 b = 0; b < shape.batch; ++b) {
        for (smx::int64 h = 0; h < shape.heads; ++h) {
            for (smx::int64 q = 0; q < shape.queries; ++q, ++index) {
                if (times(b, step.batch) + times(h, step.head) + times(q, step.query) != times(index, row_step))
                    return false;
            }
        }
    }
    return true;
}

// A step is given exactly where one serves every row; 0, which asks the strides, is always right.
TEST(problem, rows_evenly_apart) {
    smx::int64 const huge = smx::int64{1} << 62, least = std::numeric_limits<smx::int64>::min();
    smx::int64 const steps[] = {0, 1, 7, 14, 21, 42, -7, -14, -42, 33, huge, -huge, least, huge + 7};
    for (smx::int64 batch : {1, 2, 3}) {
        for (smx::int64 heads : {1, 2, 3}) {
            for (smx::int64 queries : {1, 2, 3}) {
                smx::extents const shape(batch, heads, queries, 7);
                for (smx::int64 by_batch : steps) {
                    for (smx::int64 by_head : steps) {
                        for (smx::int64 by_query : steps) {
                            smx::strides const step{by_batch, by_head, by_query, 1};
                            smx::int64 const got = smx::detail::row_step_of(step, shape);
                            smx::int64 const nearest = queries > 1 ? by_query : heads > 1 ? by_head : by_batch;
                            bool const one_row = batch * heads * queries == 1;
                            smx::int64 const want = one_row ? 1 : is_even(step, shape, nearest) ? nearest : 0;
                            ASSERT_EQ(got, want) << batch << " x " << heads << " x " << queries << ", strides "
                                                 << by_batch << ", " << by_head << ", " << by_query;
                        }
                    }
                }
            }
        }
    }
    // Transposed layouts have no such step.
    EXPECT_EQ(smx::detail::row_step_of({5 * 3 * 8, 8, 3 * 8, 1}, {2, 3, 5, 8}), 0);
    EXPECT_EQ(smx::detail::row_step_of({8, 5 * 2 * 8, 2 * 8, 1}, {2, 3, 5, 8}), 0);
    // A padded head, and one more batch in between.
    EXPECT_EQ(smx::detail::row_step_of({3 * 48, 48, 8, 1}, {2, 3, 5, 8}), 0);
    EXPECT_EQ(smx::detail::row_step_of({6 * 40, 40, 8, 1}, {2, 3, 5, 8}), 0);
    EXPECT_EQ(smx::detail::row_step_of({3 * 40, 40, 8, 1}, {2, 3, 5, 8}), 8);
    EXPECT_EQ(smx::detail::row_step_of({-3 * 45, -45, -9, 1}, {2, 3, 5, 8}), -9);
}

struct own_mask : smx::no_mask {};
struct own_scale : smx::fixed_scale {
    using smx::fixed_scale::fixed_scale;
};
struct own_row_output {
    template <class Compute>
    void store(smx::row_id, smx::statistics<Compute>) const {}
};
struct own_input : smx::dense_input<float> {};
struct own_output : smx::dense_output<float> {};

// Whether rows are found by their index alone: row 29 of 2 x 3 x 5 is the last query of the last head.
template <class Input, class Factor, class Mask, class Output, class... Extras>
bool is_plain(smx::shaped_input<Input> const& given, Factor const& factor, Mask const& mask, Output const& output,
              Extras const&... extras) {
    auto const o = smx::make_operands(given, factor, mask, output, extras...);
    EXPECT_EQ(o.rows.count(), 30);
    EXPECT_EQ(o.rows.cols(), 7);
    smx::row_id const last = o.row(29);
    EXPECT_EQ(last.index, 29);
    EXPECT_EQ(last.cols, 7);
    bool const plain = last.batch == 0 && last.head == 0 && last.query == 29;
    EXPECT_TRUE(plain || (last.batch == 1 && last.head == 2 && last.query == 4));
    return plain;
}

TEST(problem, rows_are_plain_where_nobody_asks_which_they_are) {
    smx::extents const shape(2, 3, 5, 7);
    smx::strides const padded{3 * 5 * 9, 5 * 9, 9, 1}, backwards{-105, -35, -7, 1}, repeated{0, 0, 7, 1},
        transposed{3 * 7, 7, 2 * 3 * 7, 1};
    auto const given = smx::scores(x, shape);
    smx::fixed_scale const factor(2);
    smx::no_mask const mask;
    auto const output = smx::probabilities(y);
    float number = 1;
    unsigned char const flag = 1;
    int const lengths[] = {3, 4};

    EXPECT_TRUE(is_plain(given, factor, mask, output));
    EXPECT_TRUE(is_plain(given, factor, mask, output, smx::log_sum_exp(&number), smx::empty_row::nan));
    EXPECT_TRUE(is_plain(smx::scores(x, shape, padded), factor, mask, smx::probabilities(y, padded)));
    EXPECT_TRUE(is_plain(smx::scores(x, shape, backwards), factor, mask, output));

    EXPECT_FALSE(is_plain(smx::scores(x, shape, repeated), factor, mask, output));
    EXPECT_FALSE(is_plain(smx::scores(x, shape, transposed), factor, mask, output));
    EXPECT_FALSE(is_plain(smx::scores_from(own_input{{x, padded}}, shape), factor, mask, output));
    EXPECT_FALSE(is_plain(given, factor, mask, smx::probabilities(y, transposed)));
    EXPECT_FALSE(is_plain(given, factor, mask, own_output{{y, padded}}));
    EXPECT_FALSE(is_plain(given, factor, mask, output, own_row_output{}));
    EXPECT_FALSE(is_plain(given, smx::head_scale(x), mask, output));
    EXPECT_FALSE(is_plain(given, own_scale(2), mask, output));
    EXPECT_FALSE(is_plain(given, factor, own_mask{}, output));
    EXPECT_FALSE(is_plain(given, factor, smx::causal_mask::bottom_right(), output));
    EXPECT_FALSE(is_plain(given, factor, smx::key_lengths(lengths), output));
    EXPECT_FALSE(is_plain(given, factor, smx::mask_tensor(&flag, {0, 0, 0, 0}), output));
    EXPECT_FALSE(is_plain(given, factor, smx::bias_tensor(x, {0, 0, 0, 0}), output));
    EXPECT_FALSE(is_plain(given, factor, smx::both(smx::causal_mask::top_left(), smx::no_mask()), output));
    EXPECT_FALSE(is_plain(given, factor, smx::visible_where([](smx::row_id, int) { return true; }), output));
    EXPECT_FALSE(is_plain(given, factor, smx::causal_mask::top_left(), smx::probabilities<smx::hidden::keep>(y)));
}

// The step of a view follows from its strides, also where it was given another; not of an input of one's own.
TEST(problem, a_row_step_is_worked_out) {
    smx::extents const shape(2, 3, 5, 7);
    smx::strides const padded{3 * 5 * 9, 5 * 9, 9, 1}, transposed{3 * 7, 7, 2 * 3 * 7, 1};
    auto const call = [&](auto const& input, auto const& output) {
        return smx::make_operands(smx::scores_from(input, shape), smx::fixed_scale(2), smx::no_mask(), output);
    };
    auto const even = call(smx::dense_input<float>{x, padded}, smx::probabilities(y));
    EXPECT_EQ(even.input.row_step, 9);
    EXPECT_EQ(even.output.row_step, 7);
    auto const uneven = call(smx::dense_input<float>{x, transposed, 5}, smx::dense_output<float>{y, transposed, 5});
    EXPECT_EQ(uneven.input.row_step, 0);
    EXPECT_EQ(uneven.output.row_step, 0);
    EXPECT_EQ(call(own_input{{x, padded}}, own_output{{y, padded}}).input.row_step, 0);
}

// What a mask would find out for every row is found out once, and says the same of every row.
TEST(problem, a_prepared_causal_mask_sees_the_same) {
    constexpr smx::int64 far = smx::most_rows;
    for (smx::causal_mask const& mask :
         {smx::causal_mask::top_left(), smx::causal_mask::bottom_right(), smx::causal_mask::diagonal(2),
          smx::causal_mask::diagonal(-3), smx::causal_mask::diagonal(far), smx::causal_mask::diagonal(-far)}) {
        for (smx::extents const& shape :
             {smx::extents(1, 1, 4, 7), smx::extents(1, 1, 9, 5), smx::extents(1, 1, far, 3)}) {
            auto const prepared = smx::detail::prepared(mask, shape);
            for (smx::int64 query : {smx::int64{0}, smx::int64{3}, shape.queries - 1}) {
                smx::row_id const row{0, 0, query, query, static_cast<int>(shape.keys)};
                EXPECT_EQ(prepared.bind(row, shape).span().begin, mask.bind(row, shape).span().begin);
                EXPECT_EQ(prepared.bind(row, shape).span().end, mask.bind(row, shape).span().end);
            }
        }
    }
}

// Only what several rows read is to stay in the L2.
TEST(problem, what_rows_share_is_to_stay_in_the_cache) {
    using smx::detail::cache_policy;
    unsigned char const flags[1] = {};
    float const biases[1] = {};
    smx::extents const shape(2, 3, 4, 5);
    auto const policy_of = [&](smx::strides step) {
        auto const both = smx::detail::prepared(
            smx::both(smx::mask_tensor(flags, step), smx::bias_tensor<float>(biases, step)), shape);
        EXPECT_EQ(both.first.policy, both.second.policy);
        EXPECT_EQ(smx::detail::prepared(smx::either(smx::mask_tensor(flags, step), smx::causal_mask::top_left()), shape)
                      .first.policy,
                  both.first.policy);
        return both.first.policy;
    };
    EXPECT_EQ(policy_of({60, 20, 5, 1}), cache_policy::usual);
    EXPECT_EQ(policy_of({20, 0, 5, 1}), cache_policy::stays);
    EXPECT_EQ(policy_of({0, 20, 5, 1}), cache_policy::stays);
    EXPECT_EQ(policy_of({60, 20, 0, 1}), cache_policy::stays);
    smx::strides const step{20, 0, 5, 1};
    EXPECT_EQ(smx::detail::prepared(smx::mask_tensor(flags, step), smx::extents(2, 1, 4, 5)).policy,
              cache_policy::usual)
        << "one head repeats nothing";
}

}  // namespace
