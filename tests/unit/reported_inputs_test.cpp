// Inputs that users of other implementations have reported, with the answers they should have had.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "smx/smx.hpp"
#include "support/compare.hpp"
#include "support/data.hpp"
#include "support/guarded_buffer.hpp"

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_float = std::numeric_limits<float>::quiet_NaN();

template <class Mask = smx::no_mask, class... Extras>
std::vector<float> softmax(std::vector<float> const& x, Mask const& mask = {}, double factor = 1.0,
                           Extras const&... extras) {
    std::vector<float> y(x.size(), -7.0f);
    auto const cols = static_cast<smx::int64>(x.size());
    EXPECT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {1, cols}), smx::fixed_scale(factor), mask,
                                     smx::probabilities(y.data()), extras...));
    return y;
}

void expect_row(std::vector<float> const& got, std::vector<double> const& want, double bound = 2e-6) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t at = 0; at < got.size(); ++at) {
        if (std::isnan(want[at])) {
            EXPECT_TRUE(std::isnan(got[at])) << "column " << at;
        } else {
            EXPECT_NEAR(static_cast<double>(got[at]), want[at], bound) << "column " << at;
        }
    }
}

auto keep(std::vector<unsigned char> const& flags) { return smx::mask_tensor(flags.data(), {0, 0, 0, 1}); }

TEST(reported_inputs, one_valid_column_among_thousands) {
    for (std::size_t cols : {4096U, 100000U}) {
        for (std::size_t column : {cols - 1, cols / 2, std::size_t{0}}) {
            std::vector<float> x(cols, -infinity);
            x[column] = 10;
            auto const y = softmax(x);
            for (std::size_t at = 0; at < cols; ++at) ASSERT_EQ(y[at], at == column ? 1.0f : 0.0f);
        }
    }
}

TEST(reported_inputs, every_score_below_any_sentinel) {
    expect_row(softmax({-50001, -50002, -50003}), {0.665241, 0.244728, 0.090031});
    expect_row(softmax({-1e30f, -1e30f}), {0.5, 0.5});
    expect_row(softmax({std::numeric_limits<float>::lowest(), -infinity}), {1, 0});
}

TEST(reported_inputs, all_negative_rows_of_any_width) {
    for (std::size_t cols : {1U, 2U, 3U, 17U, 31U, 32U, 33U}) {
        std::vector<float> low, high;
        for (std::size_t k = 0; k < cols; ++k) {
            low.push_back(-100.0f - static_cast<float>(k));
            high.push_back(-static_cast<float>(k));
        }
        EXPECT_EQ(softmax(low), softmax(high));
    }
}

TEST(reported_inputs, large_scores) {
    expect_row(softmax({2000, 1999}), {0.731059, 0.268941});
    expect_row(softmax({60000, 59000}, smx::no_mask(), 2.0), {1, 0});
    expect_row(softmax({3e38f, 3e38f, -3e38f}), {0.5, 0.5, 0});
}

TEST(reported_inputs, rows_of_zeros_in_sixteen_bits) {
    // 2^-12 exactly: a sum in half stalls at 2048, one in bfloat16 at 256.
    std::vector<smx::half> const x(4096, smx::half{0});
    std::vector<smx::half> y(4096);
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {1, 4096}), smx::fixed_scale(1), smx::no_mask(),
                                     smx::probabilities(y.data())));
    for (auto one : y) ASSERT_EQ(one.bits, 0x0c00);
}

TEST(reported_inputs, infinity_makes_its_row_nan_and_no_other) {
    std::vector<float> const x{infinity, 1, 2, 0, 1, 2, infinity, infinity, 0};
    std::vector<float> y(9);
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {3, 3}), smx::fixed_scale(1), smx::no_mask(),
                                     smx::probabilities(y.data())));
    expect_row(y, {NAN, NAN, NAN, 0.0900306, 0.2447285, 0.6652410, NAN, NAN, NAN});
    expect_row(softmax({nan_float, 1, -infinity}), {NAN, NAN, NAN});
}

TEST(reported_inputs, a_scale_of_zero) {
    std::vector<unsigned char> const flags{1, 1, 1, 0, 0};
    expect_row(softmax({1, -1e30f, 1e30f, 1e30f, -1e30f}, keep(flags), 0.0), {1.0 / 3, 1.0 / 3, 1.0 / 3, 0, 0});
    // -infinity times zero or a negative number is no hiding place.
    expect_row(softmax({1, -infinity}, smx::no_mask(), 0.0), {NAN, NAN});
    expect_row(softmax({1, -infinity}, smx::no_mask(), -1.0), {NAN, NAN});
}

TEST(reported_inputs, rows_hidden_twice_by_finite_numbers) {
    // Two biases of almost the lowest bfloat16: their sum is -infinity in float.
    smx::bfloat16 const low = support::stored<smx::bfloat16>::make(-3.3895e38), zero{0};
    smx::bfloat16 const both_low[] = {low, low}, first_low[] = {low, zero};
    smx::strides const step{0, 0, 0, 1};
    auto const run = [&](smx::bfloat16 const* bias) {
        return softmax({1, 1}, smx::both(smx::bias_tensor(bias, step), smx::bias_tensor(bias, step)));
    };
    expect_row(run(first_low), {0, 1});
    expect_row(run(both_low), {0, 0});  // an empty row, whatever the cause
}

TEST(reported_inputs, causal_with_padding_on_the_left) {
    // Six queries, six keys, the first two of them padding: rows 0 and 1 are empty.
    std::vector<float> const x(36, 1.0f);
    std::vector<float> y(36, -7.0f);
    std::vector<unsigned char> const flags{0, 0, 1, 1, 1, 1};
    int const length = 4;
    auto const expect = [&] {
        for (int q = 0; q < 6; ++q) {
            for (int k = 0; k < 6; ++k) {
                double const want = k >= 2 && k <= q ? 1.0 / (q - 1) : 0.0;
                EXPECT_NEAR(static_cast<double>(y[static_cast<std::size_t>(q * 6 + k)]), want, 1e-6) << q << ", " << k;
            }
        }
    };
    auto const in = smx::scores(x.data(), {6, 6});
    ASSERT_TRUE(smx::softmax_on_host(in, smx::fixed_scale(1), smx::both(smx::causal_mask::bottom_right(), keep(flags)),
                                     smx::probabilities(y.data())));
    expect();
    ASSERT_TRUE(smx::softmax_on_host(
        in, smx::fixed_scale(1), smx::both(smx::key_lengths(&length, smx::padding::left), smx::causal_mask::top_left()),
        smx::probabilities(y.data())));
    expect();
}

TEST(reported_inputs, padding_on_either_side_or_scattered_changes_nothing) {
    std::vector<float> const valid{0.3f, -1.2f, 2.5f, 0.0f, 1.7f};
    auto const want = softmax(valid);
    for (int arrangement = 0; arrangement < 3; ++arrangement) {
        std::vector<float> x(32, nan_float);
        std::vector<unsigned char> flags(32, 0);
        std::vector<float> biases(32, -infinity);
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < 5; ++i) {
            std::size_t const place = arrangement == 0 ? i : arrangement == 1 ? 27 + i : 3 + 6 * i;
            places.push_back(place);
            x[place] = valid[i];
            flags[place] = 255;
            biases[place] = 0;
        }
        for (auto const& y : {softmax(x, keep(flags)), softmax(x, smx::bias_tensor(biases.data(), {0, 0, 0, 1}))}) {
            for (std::size_t i = 0; i < 5; ++i)
                EXPECT_NEAR(static_cast<double>(y[places[i]]), static_cast<double>(want[i]), 1e-7);
            double others = 0;
            for (float one : y) others += std::fabs(static_cast<double>(one));
            EXPECT_NEAR(others, 1, 1e-6);
        }
    }
}

TEST(reported_inputs, both_polarities) {
    std::vector<unsigned char> const flags{1, 1, 0, 0};
    std::vector<float> const x(4, 0.0f);
    expect_row(softmax(x, keep(flags)), {0.5, 0.5, 0, 0});
    expect_row(softmax(x, smx::hidden_where(flags.data(), {0, 0, 0, 1})), {0, 0, 0.5, 0.5});
    // One flag a query, not a key: whole rows vanish.
    std::vector<float> y(16, -7.0f);
    std::vector<float> const matrix(16, 0.0f);
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(matrix.data(), {4, 4}), smx::fixed_scale(1),
                                     smx::mask_tensor(flags.data(), {0, 0, 1, 0}), smx::probabilities(y.data())));
    for (std::size_t at = 0; at < 16; ++at) EXPECT_EQ(y[at], at < 8 ? 0.25f : 0.0f);
}

TEST(reported_inputs, bias_mask_and_scale_in_one_pass) {
    constexpr int batches = 2, heads = 2, queries = 3, keys = 6;
    auto const x = support::make_scores<float>(support::pattern::mild, batches * heads * queries * keys, keys, 1);
    auto const biases = support::make_scores<float>(support::pattern::mild, heads * queries * keys, keys, 2);
    std::vector<unsigned char> const flags{1, 0, 1, 1, 0, 1};
    smx::extents const shape(batches, heads, queries, keys);
    for (auto const& bias_shape :
         {smx::extents(1, heads, queries, keys), smx::extents(1, 1, queries, keys), smx::extents(1, 1, 1, keys)}) {
        smx::strides const step = smx::broadcast(bias_shape);
        std::vector<float> y(x.size());
        ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), shape), smx::fixed_scale(0.7),
                                         smx::both(smx::bias_tensor(biases.data(), step), keep(flags)),
                                         smx::probabilities(y.data())));
        for (int row = 0; row < batches * heads * queries; ++row) {
            int const h = row / queries % heads, q = row % queries;
            auto const want = support::softmax_reference(
                keys, [&](int k) { return static_cast<double>(x[static_cast<std::size_t>(row * keys + k)]); },
                static_cast<double>(0.7f),
                [&](int k) {
                    return static_cast<double>(biases[static_cast<std::size_t>(h * step.head + q * step.query + k)]);
                },
                [&](int k) { return flags[static_cast<std::size_t>(k)] != 0; });
            ASSERT_EQ(support::difference<float>(
                          want, [&](int k) { return y[static_cast<std::size_t>(row * keys + k)]; },
                          support::arithmetic::in_float),
                      "");
        }
    }
}

TEST(reported_inputs, stale_output_of_empty_rows_is_overwritten) {
    constexpr int rows = 1000, cols = 5;
    std::vector<float> const x(rows * cols, 1.0f);
    std::vector<float> y(rows * cols, nan_float);
    std::vector<unsigned char> flags(rows, 1);
    flags[0] = flags[7] = flags[rows - 1] = 0;
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {rows, cols}), smx::fixed_scale(1),
                                     smx::mask_tensor(flags.data(), {0, 0, 1, 0}), smx::probabilities(y.data())));
    for (int row = 0; row < rows; ++row) {
        for (int k = 0; k < cols; ++k)
            ASSERT_EQ(y[static_cast<std::size_t>(row * cols + k)],
                      flags[static_cast<std::size_t>(row)] != 0 ? 0.2f : 0.0f);
    }
}

TEST(reported_inputs, statistics_of_pieces_merge_to_those_of_the_row) {
    auto const x = support::make_scores<float>(support::pattern::peaky, 5000, 5000, 9);
    auto const sum_of = [&](std::size_t first, std::size_t last) {
        std::vector<float> y(last - first);
        double sum = 0;
        EXPECT_TRUE(smx::softmax_on_host(smx::scores(x.data() + first, {1, static_cast<smx::int64>(last - first)}),
                                         smx::fixed_scale(1), smx::no_mask(), smx::probabilities(y.data()),
                                         smx::log_sum_exp(&sum)));
        return sum;
    };
    double const parts[] = {sum_of(0, 1000), sum_of(1000, 3333), sum_of(3333, 5000)};
    smx::statistics<double> all;
    for (double part : parts) all = smx::merge(all, smx::statistics<double>{part, 1.0});
    EXPECT_NEAR(smx::log_sum_exp_of(all), sum_of(0, 5000), 1e-5);
}

TEST(reported_inputs, log_sum_exp_is_natural_and_minus_infinity_for_an_empty_row) {
    std::vector<float> const x{0, 0};
    std::vector<unsigned char> const none{0, 0};
    float sum = 0;
    softmax(x, smx::no_mask(), 1.0, smx::log_sum_exp(&sum));
    EXPECT_NEAR(static_cast<double>(sum), 0.693147, 1e-6);
    for (auto rule : {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan}) {
        softmax(x, keep(none), 1.0, rule, smx::log_sum_exp(&sum));
        EXPECT_EQ(sum, -infinity);
    }
}

TEST(reported_inputs, the_value_of_an_empty_row_is_a_choice) {
    std::vector<unsigned char> const none{0, 0, 0, 0};
    std::vector<float> const x{1, 2, 3, 4};
    expect_row(softmax(x, keep(none)), {0, 0, 0, 0});
    expect_row(softmax(x, keep(none), 1.0, smx::empty_row::zeros), {0, 0, 0, 0});
    expect_row(softmax(x, keep(none), 1.0, smx::empty_row::uniform), {0.25, 0.25, 0.25, 0.25});
    expect_row(softmax(x, keep(none), 1.0, smx::empty_row::nan), {NAN, NAN, NAN, NAN});
    // The same where -infinity scores, and not a mask, leave nothing.
    std::vector<float> const low(4, -infinity);
    expect_row(softmax(low, smx::no_mask(), 1.0, smx::empty_row::uniform), {0.25, 0.25, 0.25, 0.25});
}

TEST(reported_inputs, output_ends_where_memory_ends) {
    for (std::size_t cols : {587U, 442U, 1U, 3U}) {
        support::fenced_buffer<double> const x(
            support::make_scores<double>(support::pattern::mild, cols, static_cast<int>(cols), 1));
        support::fenced_buffer<smx::half> y(cols);
        support::fenced_buffer<unsigned char> flags(cols);
        for (std::size_t at = 0; at < cols; ++at) flags[at] = static_cast<unsigned char>(at % 2);
        ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {1, static_cast<smx::int64>(cols)}), smx::fixed_scale(1),
                                         smx::mask_tensor(flags.data(), {0, 0, 0, 1}), smx::probabilities(y.data())));
    }
}

// Each element within one step of the output's type, not only the sum of the row.
TEST(reported_inputs, elements_are_as_accurate_as_their_type) {
    for (int cols : {200, 1000, 3000, 8192}) {
        auto const x =
            support::make_scores<smx::bfloat16>(support::pattern::mild, static_cast<std::size_t>(cols), cols, 3);
        std::vector<smx::half> y(x.size());
        ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {1, cols}), smx::fixed_scale(1), smx::no_mask(),
                                         smx::probabilities(y.data())));
        auto const want = support::softmax_reference(
            cols, [&](int k) { return support::stored<smx::bfloat16>::value(x[static_cast<std::size_t>(k)]); }, 1.0,
            support::no_bias{}, support::none_hidden{});
        for (std::size_t at = 0; at < y.size(); ++at) {
            ASSERT_NEAR(support::stored<smx::half>::value(y[at]), want.y[at], support::half_format.step_at(want.y[at]))
                << at;
        }
    }
}

}  // namespace
