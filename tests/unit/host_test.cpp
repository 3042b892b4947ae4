// host.hpp: the whole operator on the CPU: strides, sizes, ranges of rows, and what else it writes.
#include "smx/host.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "support/host_call.hpp"
#include "support/reserved_memory.hpp"
#include "support/sanitized.hpp"

namespace {

using support::call_options;
using support::expect_call;
using support::extents_of;
using support::index;
using support::pattern;
using support::shape4;

TEST(host, every_pattern) {
    for (pattern which : support::all_patterns) {
        for (double factor : {1.0, 0.0, -1.0, 0.3}) {
            call_options options;
            options.scores = which;
            options.factor = factor;
            expect_call<float, float, support::no_mask_case>({2, 1, 3, 100}, options);
            expect_call<double, double, support::causal_and_padding_case>({2, 1, 3, 100}, options);
            expect_call<smx::half, smx::half, support::visible_flags_case>({2, 1, 3, 100}, options);
            expect_call<smx::bfloat16, float, support::everything_case>({2, 1, 3, 100}, options);
        }
    }
}

TEST(host, every_length_round_the_chunks) {
    std::vector<int> lengths;
    for (int cols = 1; cols <= 130; ++cols) lengths.push_back(cols);
    for (int near : {256, 512, 8192, 16384}) {
        for (int cols : {near - 1, near, near + 1, near + 17}) lengths.push_back(cols);
    }
    for (int cols : lengths) {
        call_options options;
        options.x_offset = static_cast<std::size_t>(cols % 4);
        expect_call<float, smx::half, support::causal_and_padding_case>({1, 1, 2, cols}, options,
                                                                        static_cast<unsigned long long>(cols));
        expect_call<smx::half, float, support::no_mask_case>({1, 1, 2, cols}, options,
                                                             static_cast<unsigned long long>(cols));
        if (::testing::Test::HasFatalFailure()) return;
    }
}

TEST(host, a_long_row) { expect_call<float, float, support::right_padding_case>({1, 1, 2, 1000003}); }

// Views: padded rows, batch and head exchanged, rows backwards, one row for all; gaps of y stay as they were.
TEST(host, strides) {
    shape4 const shape{3, 2, 5, 33};
    smx::strides const padded{2 * 5 * 40, 5 * 40, 40, 1};
    smx::strides const exchanged{5 * 37, 3 * 5 * 37, 37, 1};
    smx::strides const query_outermost{2 * 35, 35, 3 * 2 * 35, 1};
    smx::strides const backwards{-2 * 5 * 34, -5 * 34, -34, 1};
    for (auto const& x_step : {padded, exchanged, query_outermost, backwards, smx::strides{0, 0, 0, 1},
                               smx::strides{33, 0, 0, 1}, smx::strides{1, 2, 3, 1}}) {
        for (auto const& y_step : {padded, exchanged, query_outermost, backwards, smx::contiguous}) {
            call_options options;
            options.x_step = x_step;
            options.y_step = y_step;
            expect_call<float, float, support::everything_case>(shape, options);
            expect_call<smx::half, double, support::bottom_right_case>(shape, options);
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

// Without a mask rows that lie evenly apart are found by index alone: views with and without such a step, on either
// side.
TEST(host, views_without_a_mask) {
    for (shape4 const& shape : {shape4{3, 2, 5, 33}, shape4{1, 2, 5, 33}, shape4{3, 1, 5, 33}, shape4{3, 2, 1, 33},
                                shape4{4, 1, 1, 33}, shape4{1, 1, 1, 33}}) {
        index const b = shape.batch, h = shape.heads, q = shape.queries;
        smx::strides const padded{h * q * 40, q * 40, 40, 1}, padded_heads{h * (q * 33 + 5), q * 33 + 5, 33, 1},
            more_heads{(h + 1) * q * 33, q * 33, 33, 1}, query_outermost{h * 35, 35, b * h * 35, 1},
            head_outermost{q * 37, b * q * 37, 37, 1}, backwards{-h * q * 34, -q * 34, -34, 1},
            heads_backwards{h * q * 34, -q * 34, 34, 1};
        for (auto const& x_step :
             {smx::contiguous, padded, padded_heads, more_heads, query_outermost, head_outermost, backwards,
              heads_backwards, smx::strides{0, 0, 0, 1}, smx::strides{0, 33, 0, 1}, smx::strides{33, 0, 0, 1},
              smx::strides{0, q * 33, 33, 1}, smx::strides{1, 2, 3, 1}, smx::strides{q * h, q, 1, 1}}) {
            for (auto const& y_step : {smx::contiguous, padded, padded_heads, more_heads, query_outermost,
                                       head_outermost, backwards, heads_backwards}) {
                call_options options;
                options.x_step = x_step;
                options.y_step = y_step;
                expect_call<float, float, support::no_mask_case>(shape, options);
                expect_call<smx::half, smx::bfloat16, support::visible_flags_case>(shape, options);
                if (::testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

// Scales a head, and rows of one's own, are asked for the right row whatever the strides allow.
TEST(host, what_asks_for_its_row_is_told) {
    shape4 const shape{2, 3, 4, 9};
    auto const scores = support::make_scores<float>(pattern::mild, 2 * 3 * 4 * 9, 9, 3);
    auto const x = smx::scores(scores.data(), extents_of(shape));
    struct told {
        smx::row_id* rows;
        void store(smx::row_id row, smx::statistics<float>) const { rows[row.index] = row; }
    };
    std::vector<float> y(scores.size());
    std::vector<smx::row_id> rows(24);
    ASSERT_TRUE(
        smx::softmax_on_host(x, smx::fixed_scale(1), smx::no_mask(), smx::probabilities(y.data()), told{rows.data()}));
    for (index at = 0; at < 24; ++at) {
        auto const& row = rows[static_cast<std::size_t>(at)];
        EXPECT_EQ(row.index, at);
        EXPECT_EQ(row.batch, at / 12);
        EXPECT_EQ(row.head, at / 4 % 3);
        EXPECT_EQ(row.query, at % 4);
    }
}

TEST(host, in_place) {
    for (auto const& shape : {shape4{2, 3, 5, 7}, shape4{1, 2, 3, 300}, shape4{1, 1, 2, 9001}}) {
        call_options options;
        options.in_place = true;
        expect_call<float, float, support::everything_case>(shape, options);
        expect_call<smx::half, smx::half, support::bottom_right_case>(shape, options);
        expect_call<double, double, support::either_case>(shape, options);
        options.x_step = options.y_step = {shape.heads * shape.queries * (shape.keys + 3),
                                           shape.queries * (shape.keys + 3), shape.keys + 3, 1};
        expect_call<smx::bfloat16, smx::bfloat16, support::left_padding_case>(shape, options);
    }
}

TEST(host, a_matrix_is_the_same_call) {
    float const x[] = {0, 1, 2, 3, 2, 1};
    float y[6];
    ASSERT_TRUE(
        smx::softmax_on_host(smx::scores(x, {2, 3}), smx::fixed_scale(1), smx::no_mask(), smx::probabilities(y)));
    EXPECT_NEAR(static_cast<double>(y[0]), 0.09003057, 1e-7);
    EXPECT_NEAR(static_cast<double>(y[1]), 0.24472847, 1e-7);
    EXPECT_NEAR(static_cast<double>(y[2]), 0.66524096, 1e-7);
    EXPECT_EQ(y[3], y[2]);
    EXPECT_EQ(y[4], y[1]);
    EXPECT_EQ(y[5], y[0]);
}

TEST(host, nothing_to_do) {
    for (smx::extents const& shape : {smx::extents(0, 2), smx::extents(5, 0), smx::extents(0, 0),
                                      smx::extents(3, 0, 2, 8), smx::extents(0, 2, 2, 8)}) {
        auto const x = smx::scores<float>(nullptr, shape);
        auto const y = smx::probabilities<smx::hidden::zeros, float>(nullptr);
        EXPECT_TRUE(smx::softmax_on_host(x, smx::fixed_scale(1), smx::no_mask(), y));
        EXPECT_TRUE(smx::softmax_on_host(x, smx::device_scale<float>(nullptr), smx::key_lengths<int>(nullptr), y));
        EXPECT_TRUE(smx::softmax_on_host(smx::rows{0, 0}, x, smx::fixed_scale(1), smx::no_mask(), y));
    }
}

// A row without columns has nothing visible, whatever the pointers and strides say.
TEST(host, rows_without_columns_have_a_log_sum_exp) {
    float sums[5] = {1, 1, 1, 1, 1};
    smx::strides const step{100, 100, 10, 1};
    auto const x = smx::scores<float>(nullptr, {5, 0}, step);
    auto const y = smx::probabilities<smx::hidden::zeros, float>(nullptr, step);
    for (auto rule : {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan}) {
        ASSERT_TRUE(smx::softmax_on_host(x, smx::fixed_scale(1), smx::causal_mask::bottom_right(), y,
                                         smx::log_sum_exp(sums), rule));
        for (float sum : sums) EXPECT_EQ(sum, -std::numeric_limits<float>::infinity());
    }
    unsigned char const* const none = nullptr;
    EXPECT_TRUE(smx::softmax_on_host(x, smx::fixed_scale(1), smx::mask_tensor(none, smx::broadcast({5, 0})), y,
                                     smx::log_sum_exp(sums)));
}

TEST(host, scales_from_memory) {
    shape4 const shape{2, 3, 2, 9};
    auto const scores = support::make_scores<float>(pattern::mild, 2 * 3 * 2 * 9, 9, 3);
    float const per_head[] = {0.5f, 0.0f, -1.5f};
    std::vector<float> y(scores.size()), again(scores.size());
    auto const x = smx::scores(scores.data(), extents_of(shape));
    ASSERT_TRUE(smx::softmax_on_host(x, smx::head_scale(per_head), smx::no_mask(), smx::probabilities(y.data())));
    for (int h = 0; h < 3; ++h) {
        ASSERT_TRUE(
            smx::softmax_on_host(x, smx::device_scale(per_head + h), smx::no_mask(), smx::probabilities(again.data())));
        for (int b = 0; b < 2; ++b) {
            auto const at = static_cast<std::size_t>((b * 3 + h) * 18);
            EXPECT_EQ(std::memcmp(&y[at], &again[at], 18 * sizeof(float)), 0) << "batch " << b << ", head " << h;
        }
    }
    // A scale of zero leaves nothing of the scores, but their visibility.
    for (int k = 0; k < 9; ++k) EXPECT_EQ(y[static_cast<std::size_t>(18 + k)], 1.0f / 9);
}

TEST(host, what_is_hidden_can_be_left) {
    shape4 const shape{3, 1, 6, 20};
    support::mask_material const material(shape, 4);
    auto const scores = support::make_scores<float>(pattern::mild, 3 * 6 * 20, 20, 5);
    auto const run = [&](auto const& mask, auto const& visible, auto const& span) {
        for (auto rule : {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan}) {
            support::guarded_buffer<float> y(scores.size(), 1);
            ASSERT_TRUE(smx::softmax_on_host(smx::scores(scores.data(), extents_of(shape)), smx::fixed_scale(1), mask,
                                             smx::probabilities<smx::hidden::keep>(y.data()), rule));
            ASSERT_TRUE(y.intact());
            for (index b = 0; b < shape.batch; ++b) {
                for (index q = 0; q < shape.queries; ++q) {
                    int seen = 0;
                    for (int k = 0; k < 20; ++k) seen += visible(b, q, k) ? 1 : 0;
                    for (int k = 0; k < 20; ++k) {
                        auto const at = static_cast<std::size_t>((b * 6 + q) * 20 + k);
                        if (seen == 0 || !span(b, q, k)) {
                            ASSERT_TRUE(y.is_poison(at)) << "row " << b << ", " << q << ", column " << k;
                        } else if (visible(b, q, k)) {
                            ASSERT_GT(y[at], 0.0f) << "row " << b << ", " << q << ", column " << k;
                        } else {
                            ASSERT_EQ(y[at], 0.0f)
                                << "hidden inside the span: row " << b << ", " << q << ", column " << k;
                        }
                    }
                }
            }
        }
    };
    auto const below = [](index, index q, int k) { return k <= q + 1; };
    run(smx::causal_mask::diagonal(1), below, below);
    auto const padded = [&](index b, index, int k) { return material.in_left_padded(b, k); };
    run(smx::key_lengths(material.lengths.data(), smx::padding::left), padded, padded);
    auto const flagged = [&](index b, index q, int k) { return below(b, q, k) && material.flag(b, q, k); };
    run(smx::both(smx::causal_mask::diagonal(1), smx::mask_tensor(material.flags.data(), material.flag_steps)), flagged,
        below);
    auto const everywhere = [](index, index, int) { return true; };
    run(
        smx::mask_tensor(material.flags.data(), material.flag_steps),
        [&](index b, index q, int k) { return material.flag(b, q, k); }, everywhere);
}

TEST(host, a_range_of_rows_writes_those_rows) {
    shape4 const shape{2, 3, 7, 30};
    index const rows = 42;
    auto const scores = support::make_scores<float>(pattern::mild, static_cast<std::size_t>(rows * 30), 30, 5);
    auto const x = smx::scores(scores.data(), extents_of(shape));
    std::vector<float> whole(scores.size());
    ASSERT_TRUE(
        smx::softmax_on_host(x, smx::inv_sqrt(64), smx::causal_mask::bottom_right(), smx::probabilities(whole.data())));
    for (smx::rows range : {smx::rows{0, 42}, smx::rows{0, 0}, smx::rows{42, 42}, smx::rows{3, 4}, smx::rows{10, 33}}) {
        support::guarded_buffer<float> y(scores.size());
        ASSERT_TRUE(smx::softmax_on_host(range, x, smx::inv_sqrt(64), smx::causal_mask::bottom_right(),
                                         smx::probabilities(y.data())));
        for (index row = 0; row < rows; ++row) {
            for (index k = 0; k < 30; ++k) {
                auto const at = static_cast<std::size_t>(row * 30 + k);
                if (row >= range.first && row < range.last) {
                    ASSERT_EQ(y[at], whole[at]);
                } else {
                    ASSERT_TRUE(y.is_poison(at));
                }
            }
        }
    }
    support::guarded_buffer<float> y(scores.size());
    for (smx::rows range : {smx::rows{-1, 4}, smx::rows{5, 4}, smx::rows{0, 43}, smx::rows{43, 43}}) {
        smx::status const s =
            smx::softmax_on_host(range, x, smx::inv_sqrt(64), smx::no_mask(), smx::probabilities(y.data()));
        EXPECT_EQ(s.code, smx::errc::bad_value);
    }
    for (std::size_t at = 0; at < y.size(); ++at) ASSERT_TRUE(y.is_poison(at));
}

TEST(host, bad_input_writes_nothing) {
    std::vector<float> const x(32, 1.0f);
    support::guarded_buffer<float> y(32);
    support::guarded_buffer<float> sums(4);
    smx::status const s =
        smx::softmax_on_host(smx::scores(x.data(), {4, 8}, {0, 0, 8, 2}), smx::fixed_scale(1), smx::no_mask(),
                             smx::probabilities(y.data()), smx::log_sum_exp(sums.data()));
    EXPECT_EQ(s.code, smx::errc::bad_stride);
    for (std::size_t at = 0; at < 32; ++at) EXPECT_TRUE(y.is_poison(at));
    for (std::size_t at = 0; at < 4; ++at) EXPECT_TRUE(sums.is_poison(at));
}

// The same row gives the same bits alone and in any batch, wherever it stands, where x is aligned alike.
TEST(host, a_row_does_not_depend_on_its_batch) {
    int const cols = 1000;
    auto const row = support::make_scores<float>(pattern::mild, 1000, 1000, 6);
    std::vector<float> alone(1000);
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(row.data(), {1, cols}), smx::fixed_scale(0.3), smx::no_mask(),
                                     smx::probabilities(alone.data())));
    for (int rows : {2, 7, 300}) {
        std::vector<float> x, y(static_cast<std::size_t>(rows) * 1000);
        for (int r = 0; r < rows; ++r) x.insert(x.end(), row.begin(), row.end());
        ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {rows, cols}), smx::fixed_scale(0.3), smx::no_mask(),
                                         smx::probabilities(y.data())));
        for (int r = 0; r < rows; ++r)
            ASSERT_EQ(std::memcmp(&y[static_cast<std::size_t>(r) * 1000], alone.data(), 4000), 0)
                << rows << " rows, row " << r;
    }
}

// An input and an output of a caller's own: every score the same, and only the last probability kept.
struct constant {
    using compute = float;
    float value;
    template <int V>
    smx::pack<float, V> load(smx::row_id, int) const {
        return smx::filled_pack<V>(value);
    }
};
struct last_only {
    float* kept;
    template <int V, class Compute>
    void store(smx::row_id, int, smx::pack<Compute, V> const& values) const {
        *kept = values[V - 1];
    }
};

// A row of ones is exact: nothing stalls at 2^24, and a bfloat16 sum is not made of bfloat16s.
TEST(host, equal_scores_are_exact) {
    std::vector<smx::bfloat16> const x(4096, smx::bfloat16{0});
    std::vector<smx::bfloat16> y(4096);
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {1, 4096}), smx::fixed_scale(1), smx::no_mask(),
                                     smx::probabilities(y.data())));
    for (auto one : y) ASSERT_EQ(support::stored<smx::bfloat16>::value(one), 0x1p-12);
    int const log_of_many = support::is_sanitized ? 20 : 25, many = 1 << log_of_many;
    float kept = 0, sum = 0;
    ASSERT_TRUE(smx::softmax_on_host(smx::scores_from(constant{0}, {1, many}), smx::fixed_scale(1), smx::no_mask(),
                                     last_only{&kept}, smx::log_sum_exp(&sum)));
    EXPECT_EQ(kept, std::ldexp(1.0f, -log_of_many));
    EXPECT_NEAR(static_cast<double>(sum), log_of_many * std::log(2.0), 1e-5);
}

TEST(host, more_than_two_billion_rows) {
    index const rows = (index{1} << 31) + 10;
    support::reserved_memory const memory(static_cast<std::size_t>(rows) * 2);
    if (memory.get() == nullptr) GTEST_SKIP() << "4 GiB of address space were refused";
    auto* const y = static_cast<smx::half*>(memory.get());
    smx::half const x{0x4000};
    ASSERT_TRUE(smx::softmax_on_host(smx::rows{rows - 3, rows}, smx::scores(&x, {rows, 1}, {0, 0, 0, 1}),
                                     smx::fixed_scale(1), smx::no_mask(), smx::probabilities(y)));
    EXPECT_EQ(y[rows - 4].bits, 0);
    for (index row = rows - 3; row < rows; ++row) EXPECT_EQ(y[row].bits, 0x3c00) << row;  // 1.0
}

TEST(host, more_than_two_billion_elements) {
    index const rows = 16400, cols = 133120;  // just above 2^31 elements
    support::reserved_memory const x_memory(static_cast<std::size_t>(rows * cols) * 2),
        y_memory(static_cast<std::size_t>(rows * cols) * 4);
    if (x_memory.get() == nullptr || y_memory.get() == nullptr) GTEST_SKIP() << "12 GiB of address space were refused";
    auto* const x = static_cast<smx::half*>(x_memory.get());
    auto* const y = static_cast<float*>(y_memory.get());
    index const last = (rows - 1) * cols;
    x[last + 7] = smx::half{0x5640};  // 100
    std::vector<unsigned char> flags(static_cast<std::size_t>(cols), 1);
    flags[static_cast<std::size_t>(cols - 1)] = 0;
    ASSERT_TRUE(smx::softmax_on_host(smx::rows{rows - 1, rows}, smx::scores(x, {rows, cols}), smx::fixed_scale(1),
                                     smx::mask_tensor(flags.data(), {0, 0, 0, 1}), smx::probabilities(y)));
    EXPECT_EQ(y[last + 7], 1.0f);
    EXPECT_EQ(y[last - 1], 0.0f);
    EXPECT_EQ(y[last + cols - 1], 0.0f);
}

// More than 65,535 batches, and more heads than that.
TEST(host, many_batches_and_heads) {
    for (auto const& shape : {shape4{65537, 1, 1, 3}, shape4{1, 65537, 1, 3}, shape4{3, 30000, 1, 3}}) {
        expect_call<float, float, support::right_padding_case>(shape);
    }
}

}  // namespace
