// Inputs that users of other implementations have reported, with the answers they should have had.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "smx/smx.hpp"
#include "support/compare.hpp"
#include "support/data.hpp"
#include "support/guarded_buffer.hpp"
#include "support/host_call.hpp"

// A 16-bit float of somebody else's, as frameworks have one: smx is told what it holds.
struct another_half {
    unsigned short word;
};

SMX_BEGIN
template <>
struct dtype<another_half> {
    using compute = float;
    static float widen(another_half value) { return dtype<half>::widen(half{value.word}); }
    static another_half narrow(float value) { return {dtype<half>::narrow(value).bits}; }
    static another_half narrow(double value) { return {dtype<half>::narrow(value).bits}; }
};
SMX_END

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
        std::vector<smx::half> half_biases(32);
        for (std::size_t at = 0; at < 32; ++at)
            half_biases[at] = support::stored<smx::half>::make(static_cast<double>(biases[at]));
        for (auto const& y : {softmax(x, keep(flags)), softmax(x, smx::bias_tensor(biases.data(), {0, 0, 0, 1})),
                              softmax(x, smx::bias_tensor(half_biases.data(), {0, 0, 0, 1}))}) {
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
template <class X, class Y>
void expect_elements_within_a_step() {
    for (int cols : {200, 1000, 3000, 8192}) {
        auto const x = support::make_scores<X>(support::pattern::mild, static_cast<std::size_t>(cols), cols, 3);
        std::vector<Y> y(x.size());
        ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {1, cols}), smx::fixed_scale(1), smx::no_mask(),
                                         smx::probabilities(y.data())));
        auto const want = support::softmax_reference(
            cols, [&](int k) { return support::stored<X>::value(x[static_cast<std::size_t>(k)]); }, 1.0,
            support::no_bias{}, support::none_hidden{});
        for (std::size_t at = 0; at < y.size(); ++at) {
            ASSERT_NEAR(support::stored<Y>::value(y[at]), want.y[at], 2 * support::stored<Y>::half_step_at(want.y[at]))
                << at << " of " << cols;
        }
    }
}

TEST(reported_inputs, elements_are_as_accurate_as_their_type) {
    expect_elements_within_a_step<smx::half, smx::half>();
    expect_elements_within_a_step<smx::bfloat16, smx::bfloat16>();
    expect_elements_within_a_step<smx::bfloat16, smx::half>();
}

// B001
template <class T>
void expect_empty_rows() {
    for (int cols : {1, 4, 31, 33, 1024, 1025, 8192, 100000}) {
        auto const count = static_cast<std::size_t>(cols);
        std::vector<T> x(count), y(count);
        for (std::size_t k = 0; k < count; ++k) x[k] = support::stored<T>::make(static_cast<double>(k % 2048));
        std::vector<unsigned char> const none(count, 0);
        for (auto rule : {smx::empty_row::zeros, smx::empty_row::uniform}) {
            T const want = support::stored<T>::make(rule == smx::empty_row::zeros ? 0.0 : 1.0 / cols);
            std::fill(y.begin(), y.end(), support::stored<T>::make(-7));
            ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {1, cols}), smx::fixed_scale(1), keep(none),
                                             smx::probabilities(y.data()), rule));
            for (T one : y) ASSERT_EQ(support::stored<T>::value(one), support::stored<T>::value(want)) << cols;
        }
    }
}

TEST(reported_inputs, empty_rows_of_every_type) {
    expect_empty_rows<smx::half>();
    expect_empty_rows<smx::bfloat16>();
    expect_empty_rows<float>();
    expect_empty_rows<double>();
}

// B007, B022: what a pack leaves over, and widths below, between and above the sizes that blocks have.
TEST(reported_inputs, widths_that_no_block_has) {
    for (int cols : {1, 33, 129, 160, 255, 257, 383, 385, 600, 8201, 16387}) {
        support::expect_call<smx::half, smx::half, support::no_mask_case>({1, 1, 24, cols});
        support::expect_call<float, float, support::no_mask_case>({1, 1, 24, cols});
    }
}

// B041
TEST(reported_inputs, rows_have_no_longest_length) {
    for (smx::int64 cols : {1, 513, 1025, 2049, 4097, 16385, 131072, 1000000, 10000000}) {
        std::vector<float> x(static_cast<std::size_t>(cols), 0.5f);
        ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {1, cols}), smx::fixed_scale(1), smx::no_mask(),
                                         smx::probabilities(x.data())));
        double const want = 1.0 / static_cast<double>(cols);
        for (float y : x) ASSERT_NEAR(static_cast<double>(y), want, 1e-6 * want) << cols;
    }
}

// A window of keys that ends at the diagonal of the last query and the last key.
struct window_to_the_corner {
    int width;
    struct row {
        smx::interval seen;
        smx::interval span() const { return seen; }
    };
    row bind(smx::row_id id, smx::extents shape) const {
        smx::int64 const end = id.query + 1 + shape.keys - shape.queries;
        return {{static_cast<int>(std::max<smx::int64>(end - width, 0)), id.cols}};
    }
};

// B049: seven queries, twelve keys, four of them padding on the left.
TEST(reported_inputs, causal_window_and_padding_together) {
    constexpr int queries = 7, keys = 12, width = 4, length = 8;
    std::vector<float> const x(queries * keys, 1.0f);
    std::vector<float> y(x.size(), -7.0f);
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {queries, keys}), smx::fixed_scale(1),
                                     smx::both(smx::causal_mask::bottom_right(), window_to_the_corner{width},
                                               smx::key_lengths(&length, smx::padding::left)),
                                     smx::probabilities(y.data())));
    for (int q = 0; q < queries; ++q) {
        int const last = q + keys - queries;
        auto const visible = [&](int k) { return k <= last && k > last - width && k >= keys - length; };
        int seen = 0;
        for (int k = 0; k < keys; ++k) seen += visible(k) ? 1 : 0;
        ASSERT_GT(seen, 0);
        for (int k = 0; k < keys; ++k) {
            double const want = visible(k) ? 1.0 / seen : 0.0;
            EXPECT_NEAR(static_cast<double>(y[static_cast<std::size_t>(q * keys + k)]), want, 1e-6) << q << ", " << k;
        }
    }
}

// B060: the rows of a matrix are heads of one query, and each has a scale.
TEST(reported_inputs, a_scale_for_each_row_of_a_matrix) {
    constexpr int rows = 4, cols = 50;
    float const scales[rows] = {1.0f, 0.0f, 1e-3f, -2.5f};
    auto const x = support::make_scores<float>(support::pattern::mild, rows * cols, cols, 8);
    std::vector<float> y(x.size());
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {1, rows, 1, cols}), smx::head_scale(scales), smx::no_mask(),
                                     smx::probabilities(y.data())));
    for (int row = 0; row < rows; ++row) {
        auto const at = [&](int k) { return static_cast<std::size_t>(row * cols + k); };
        auto const want = support::softmax_reference(
            cols, [&](int k) { return static_cast<double>(x[at(k)]); }, static_cast<double>(scales[row]),
            support::no_bias{}, support::none_hidden{});
        EXPECT_EQ(support::difference<float>(
                      want, [&](int k) { return y[at(k)]; }, support::arithmetic::in_float),
                  "")
            << "row " << row;
    }
}

// B052: what a sink adds to the sum is known from the log-sum-exp, of an empty row too.
TEST(reported_inputs, a_sink_by_the_log_sum_exp) {
    auto const with_sink = [](std::vector<unsigned char> const& flags, float sink) {
        float sum = 0;
        std::vector<float> y = softmax({1, 2}, keep(flags), 1.0, smx::log_sum_exp(&sum));
        for (float& one : y) one *= 1 / (1 + std::exp(sink - sum));
        return y;
    };
    expect_row(with_sink({1, 1}, 0), {0.244728, 0.665241});
    expect_row(with_sink({0, 0}, 0), {0, 0});
}

// A bias by distance, steeper for some heads: 2^-1 to 2^-8, and what lies between for those beyond a power of two.
struct slopes_by_head {
    struct row {
        double slope;
        int cols;
        static constexpr bool biases = true;
        smx::interval span() const { return {0, cols}; }
        template <int V, class Compute>
        void add_to(smx::pack<Compute, V>& scores, int col) const {
            for (int i = 0; i < V; ++i) scores[i] += static_cast<Compute>(slope * (col + i - (cols - 1)));
        }
    };
    static double slope_of(int head) { return head < 8 ? std::exp2(-1 - head) : std::exp2(-0.5 - (head - 8)); }
    row bind(smx::row_id id, smx::extents) const { return {slope_of(static_cast<int>(id.head)), id.cols}; }
};

// B087
TEST(reported_inputs, slopes_of_ones_own_for_twelve_heads) {
    constexpr int batches = 2, heads = 12, queries = 2, keys = 40;
    for (int head : {7, 8, 11}) {
        double const want[] = {0.003906, 0.707107, 0.353553, 0.176777, 0.088388};
        EXPECT_NEAR(slopes_by_head::slope_of(head), want[head - 7], 1e-6);
    }
    auto const x = support::make_scores<float>(support::pattern::mild, batches * heads * queries * keys, keys, 6);
    std::vector<float> y(x.size());
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {batches, heads, queries, keys}), smx::fixed_scale(0.5),
                                     slopes_by_head{}, smx::probabilities(y.data())));
    for (int row = 0; row < batches * heads * queries; ++row) {
        auto const at = [&](int k) { return static_cast<std::size_t>(row * keys + k); };
        double const slope = slopes_by_head::slope_of(row / queries % heads);
        auto const want = support::softmax_reference(
            keys, [&](int k) { return static_cast<double>(x[at(k)]); }, 0.5,
            [&](int k) { return slope * (k - (keys - 1)); }, support::none_hidden{});
        ASSERT_EQ(support::difference<float>(
                      want, [&](int k) { return y[at(k)]; }, support::arithmetic::in_float),
                  "")
            << "row " << row;
    }
}

// B062
TEST(reported_inputs, an_element_type_of_ones_own) {
    for (smx::int64 cols : {1, 7, 64, 1001}) {
        auto const count = static_cast<std::size_t>(cols);
        auto const scores = support::make_scores<smx::half>(support::pattern::mild, count, static_cast<int>(cols), 5);
        std::vector<another_half> x(count), y(count);
        std::vector<smx::half> want(count);
        for (std::size_t k = 0; k < count; ++k) x[k].word = scores[k].bits;
        auto const run = [cols](auto const* from, auto* to) {
            return smx::softmax_on_host(smx::scores(from, {1, cols}), smx::fixed_scale(0.5), smx::no_mask(),
                                        smx::probabilities(to));
        };
        ASSERT_TRUE(run(scores.data(), want.data()));
        ASSERT_TRUE(run(x.data(), y.data()));
        for (std::size_t k = 0; k < count; ++k) ASSERT_EQ(y[k].word, want[k].bits) << k;
    }
}

// Scores under a cap, which is worked out as they are loaded.
struct capped_scores {
    float const* data;
    float cap;
    using compute = float;

    template <int V>
    smx::pack<float, V> load(smx::row_id row, int col) const {
        smx::pack<float, V> scores;
        for (int i = 0; i < V; ++i) scores[i] = cap * std::tanh(data[row.index * row.cols + col + i] / cap);
        return scores;
    }
};

// B066, B085: what is hidden stays hidden under a cap, and a score far above the cap is the cap.
TEST(reported_inputs, a_cap_of_ones_own_comes_before_the_mask) {
    std::vector<unsigned char> const first{1, 0};
    std::vector<float> x(64, 0.0f), y(64);
    auto const run = [&](float cap, smx::int64 cols, auto const& mask) {
        return smx::softmax_on_host(smx::scores_from(capped_scores{x.data(), cap}, {1, cols}), smx::fixed_scale(1),
                                    mask, smx::probabilities(y.data()));
    };
    ASSERT_TRUE(run(5, 2, keep(first)));
    EXPECT_EQ(y[0], 1.0f);
    EXPECT_EQ(y[1], 0.0f);
    x[0] = 1e5f;
    x[1] = -1e5f;
    ASSERT_TRUE(run(1, 2, smx::no_mask()));
    EXPECT_NEAR(static_cast<double>(y[0]), 0.880797, 1e-6);
    EXPECT_NEAR(static_cast<double>(y[1]), 0.119203, 1e-6);
    // With a condition that has state, at every length of a few packs.
    for (int cols = 1; cols <= 64; ++cols) {
        for (std::size_t k = 0; k < 64; ++k) x[k] = static_cast<float>(k % 11) - 5;
        int modulus = 3;
        auto const every_third = [modulus](smx::row_id, int col) { return col % modulus == 0; };
        ASSERT_TRUE(run(2, cols, smx::visible_where(every_third)));
        auto const want = support::softmax_reference(
            cols, [&](int k) { return 2 * std::tanh(static_cast<double>(x[static_cast<std::size_t>(k)]) / 2); }, 1.0,
            support::no_bias{}, [](int k) { return k % 3 == 0; });
        for (int k = 0; k < cols; ++k) {
            auto const at = static_cast<std::size_t>(k);
            ASSERT_NEAR(static_cast<double>(y[at]), want.y[at], 1e-6) << k << " of " << cols;
        }
    }
}

// B071
TEST(reported_inputs, doubles_are_computed_in_double) {
    for (int cols : {7, 1000}) {
        auto const x = support::make_scores<double>(support::pattern::mild, static_cast<std::size_t>(cols), cols, 3);
        std::vector<double> y(x.size());
        ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {1, cols}), smx::fixed_scale(0.3), smx::no_mask(),
                                         smx::probabilities(y.data())));
        long double sum = 0;
        for (double score : x) sum += std::exp(0.3L * static_cast<long double>(score));
        for (std::size_t k = 0; k < x.size(); ++k) {
            long double const want = std::exp(0.3L * static_cast<long double>(x[k])) / sum;
            ASSERT_NEAR(y[k], static_cast<double>(want), 1e-15) << k << " of " << cols;
        }
    }
}

// B092: one mask for all heads, some rows of which see nothing.
TEST(reported_inputs, an_expanded_mask_with_rows_that_see_nothing) {
    constexpr int batches = 4, heads = 8, queries = 17, keys = 33, count = batches * heads * queries * keys;
    auto const x = support::make_scores<smx::half>(support::pattern::mild, count, keys, 4);
    std::vector<smx::half> y(count);
    support::fenced_buffer<unsigned char> hidden(batches * queries * keys);
    for (int at = 0; at < batches * queries * keys; ++at) {
        int const row = at / keys, k = at % keys;
        hidden[static_cast<std::size_t>(at)] = row % 7 == 2 || (row * 5 + k) % 3 == 0 ? 1 : 0;
    }
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {batches, heads, queries, keys}), smx::fixed_scale(0.125),
                                     smx::hidden_where(hidden.data(), smx::broadcast({batches, 1, queries, keys})),
                                     smx::probabilities(y.data())));
    for (int row = 0; row < batches * heads * queries; ++row) {
        int const batch = row / (heads * queries), q = row % queries;
        auto const at = [&](int k) { return static_cast<std::size_t>(row * keys + k); };
        auto const want = support::softmax_reference(
            keys, [&](int k) { return support::stored<smx::half>::value(x[at(k)]); }, 0.125, support::no_bias{},
            [&](int k) { return hidden[static_cast<std::size_t>((batch * queries + q) * keys + k)] == 0; });
        ASSERT_EQ(support::difference<smx::half>(
                      want, [&](int k) { return y[at(k)]; }, support::arithmetic::in_float),
                  "")
            << "row " << row;
    }
}

}  // namespace
