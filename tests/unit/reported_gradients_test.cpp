// Gradients and logarithms that users of other implementations have reported, with the answers they should have had.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "smx/smx.hpp"
#include "support/reserved_memory.hpp"
#include "support/stored.hpp"

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_float = std::numeric_limits<float>::quiet_NaN();

auto keep(std::vector<unsigned char> const& flags, smx::int64 cols) {
    return smx::mask_tensor(flags.data(), {0, 0, cols, 1});
}

// B061: the first row sees nothing and was written as 1 / 4, the second sees half.
TEST(reported_gradients, ask_the_mask_and_not_the_probabilities) {
    std::vector<unsigned char> const flags{0, 0, 0, 0, 1, 0, 1, 0};
    std::vector<float> const x{1, 2, 3, 4, 0, 9, 0, 9}, dy{1, 2, 3, 4, 1, 2, 3, 4};
    std::vector<float> y(8), dx(8, -7.0f);
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {2, 4}), smx::fixed_scale(2), keep(flags, 4),
                                     smx::probabilities(y.data()), smx::empty_row::uniform));
    ASSERT_EQ(y, (std::vector<float>{0.25f, 0.25f, 0.25f, 0.25f, 0.5f, 0, 0.5f, 0}));
    ASSERT_TRUE(smx::softmax_backward_on_host(smx::saved_probabilities(y.data(), {2, 4}),
                                              smx::incoming_gradients(dy.data()), smx::fixed_scale(2), keep(flags, 4),
                                              smx::gradients(dx.data())));
    EXPECT_EQ(dx, (std::vector<float>{0, 0, 0, 0, -1, 0, 1, 0}));
}

// B070: the second row is padding.
TEST(reported_gradients, an_empty_row_poisons_no_gradient) {
    std::vector<unsigned char> const flags{1, 1, 1, 0, 0, 0};
    std::vector<float> const x{1, 2, 3, 1, 2, 3}, dy{1, 0, 0, 0, 0, 0};
    std::vector<float> dx(6, -7.0f), y(6);
    for (auto rule : {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan}) {
        ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {2, 3}), smx::fixed_scale(1), keep(flags, 3),
                                         smx::probabilities(y.data()), rule));
        ASSERT_TRUE(smx::softmax_backward_on_host(smx::saved_probabilities(y.data(), {2, 3}),
                                                  smx::incoming_gradients(dy.data()), smx::fixed_scale(1),
                                                  keep(flags, 3), smx::gradients(dx.data())));
        double const p[] = {0.0900305732, 0.2447284711, 0.6652409558};
        for (std::size_t k = 0; k < 3; ++k) {
            EXPECT_NEAR(static_cast<double>(dx[k]), p[k] * ((k == 0 ? 1.0 : 0.0) - p[0]), 1e-7);
            EXPECT_EQ(dx[3 + k], 0.0f);
        }
    }
}

// B067: a gradient of ones would hide a missing factor, and every other fault.
TEST(reported_gradients, have_their_scale) {
    constexpr int cols = 1000, pitch = 1003;
    std::vector<float> x(cols), y(cols), dy(2 * pitch, nan_float), dx(2 * cols);
    for (int k = 0; k < cols; ++k) {
        auto const at = static_cast<std::size_t>(k);
        x[at] = static_cast<float>(k * 37 % 101) * 0.05f;
        dy[at] = static_cast<float>(k * 29 % 17) - 8;
        dy[pitch + at] = 1;
    }
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {1, cols}), smx::fixed_scale(0.125), smx::no_mask(),
                                     smx::probabilities(y.data())));
    ASSERT_TRUE(smx::softmax_backward_on_host(smx::saved_probabilities(y.data(), {2, cols}, {0, 0, 0, 1}),
                                              smx::incoming_gradients(dy.data(), {0, 0, pitch, 1}),
                                              smx::fixed_scale(0.125), smx::no_mask(), smx::gradients(dx.data())));
    double sum = 0;
    for (std::size_t k = 0; k < cols; ++k) sum += static_cast<double>(dy[k]) * static_cast<double>(y[k]);
    for (std::size_t k = 0; k < cols; ++k) {
        double const want = 0.125 * static_cast<double>(y[k]) * (static_cast<double>(dy[k]) - sum);
        ASSERT_NEAR(static_cast<double>(dx[k]), want, 1e-8) << k;
        ASSERT_NEAR(static_cast<double>(dx[cols + k]), 0, 1e-9) << k;
    }
}

// B003: the last of more than 2^31 elements.
TEST(reported_gradients, of_more_than_two_billion_elements) {
    smx::int64 const rows = 2097156, cols = 1024, last = (rows - 1) * cols;
    auto const bytes = static_cast<std::size_t>(rows * cols) * sizeof(smx::half);
    support::reserved_memory const y_memory(bytes), dy_memory(bytes), dx_memory(bytes);
    if (y_memory.get() == nullptr || dy_memory.get() == nullptr || dx_memory.get() == nullptr)
        GTEST_SKIP() << "12 GiB of address space were refused";
    auto* const y = static_cast<smx::half*>(y_memory.get());
    auto* const dy = static_cast<smx::half*>(dy_memory.get());
    auto* const dx = static_cast<smx::half*>(dx_memory.get());
    for (smx::int64 k = 0; k < cols; ++k) {
        y[last + k] = support::stored<smx::half>::make(0x1p-10);
        dy[last + k] = support::stored<smx::half>::make(static_cast<double>(k % 8));
    }
    ASSERT_TRUE(smx::softmax_backward_on_host(smx::rows{rows - 1, rows}, smx::saved_probabilities(y, {rows, cols}),
                                              smx::incoming_gradients(dy), smx::fixed_scale(1), smx::no_mask(),
                                              smx::gradients(dx)));
    for (smx::int64 k = 0; k < cols; ++k) {
        double const want = 0x1p-10 * (static_cast<double>(k % 8) - 3.5);
        ASSERT_EQ(support::stored<smx::half>::value(dx[last + k]), want) << k;
        ASSERT_EQ(dx[last - 1 - k].bits, 0);
    }
}

// B079
TEST(reported_logarithms, keep_what_a_large_offset_leaves) {
    auto const logarithms = [](auto const& x) {
        std::vector<float> z(x.size());
        EXPECT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {1, static_cast<smx::int64>(x.size())}),
                                         smx::fixed_scale(1), smx::no_mask(), smx::log_probabilities(z.data())));
        return z;
    };
    for (float z : logarithms(std::vector<float>(3, -1e7f + 1))) EXPECT_NEAR(static_cast<double>(z), -1.098612, 1e-6);
    for (float z : logarithms(std::vector<float>(2, 1e8f))) EXPECT_NEAR(static_cast<double>(z), -0.693147, 1e-6);
    EXPECT_EQ(logarithms(std::vector<float>{0, -200}), (std::vector<float>{0, -200}));
    // Near 20000 halves are 16 apart.
    std::vector<smx::half> x;
    for (double score : {-20000.0, -20000.0, -20016.0}) x.push_back(support::stored<smx::half>::make(score));
    std::vector<float> const z = logarithms(x);
    EXPECT_NEAR(static_cast<double>(z[0]), -0.693147, 1e-6);
    EXPECT_NEAR(static_cast<double>(z[1]), -0.693147, 1e-6);
    EXPECT_NEAR(static_cast<double>(z[2]), -16.693147, 2e-6);
}

// B101: the same seed and offset draw the same in both passes, and nothing is left of a row that is dropped whole.
TEST(reported_gradients, both_passes_draw_the_same_dropout) {
    constexpr int rows = 3, cols = 200;
    std::vector<float> const x(rows * cols, 1.0f), dy(rows * cols, 1.0f);
    for (double p : {0.0, 0.1, 1.0}) {
        std::vector<float> y(rows * cols), saved(rows * cols), dx(rows * cols), again(rows * cols);
        auto const drawn = smx::dropout(p, 7, 11);
        auto const forward = [&](std::vector<float>& to) {
            return smx::softmax_on_host(
                smx::scores(x.data(), {rows, cols}), smx::fixed_scale(1), smx::no_mask(),
                smx::dropped(smx::probabilities(to.data()), drawn, smx::probabilities(saved.data())));
        };
        ASSERT_TRUE(forward(y));
        ASSERT_TRUE(forward(again));
        EXPECT_EQ(y, again);
        ASSERT_TRUE(smx::softmax_backward_on_host(smx::saved_probabilities(saved.data(), {rows, cols}),
                                                  smx::dropped(smx::incoming_gradients(dy.data()), drawn),
                                                  smx::fixed_scale(1), smx::no_mask(), smx::gradients(dx.data())));
        for (std::size_t row = 0; row < rows; ++row) {
            // All probabilities are alike: a gradient lies above its row's mean where the forward pass kept, and below
            // it where it did not.
            double sum = 0;
            int kept = 0;
            for (std::size_t k = 0; k < cols; ++k) {
                sum += static_cast<double>(y[row * cols + k]);
                kept += y[row * cols + k] > 0 ? 1 : 0;
            }
            EXPECT_TRUE(p == 0 ? kept == cols : p == 1 ? kept == 0 : kept > 150 && kept < 200) << kept;
            for (std::size_t k = 0; k < cols; ++k) {
                double const factor = p == 1 ? 0 : static_cast<double>(y[row * cols + k]) * cols;
                ASSERT_NEAR(static_cast<double>(dx[row * cols + k]), (factor - sum) / cols, 1e-7) << p << ", " << k;
            }
        }
    }
}

// B081: what a caller merges with is natural, and minus infinity of nothing.
TEST(reported_logarithms, of_an_empty_row) {
    std::vector<unsigned char> const none{0, 0};
    std::vector<float> const x{1, 2};
    std::vector<float> z(2);
    float sum = 0;
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {1, 2}), smx::fixed_scale(1), keep(none, 2),
                                     smx::log_probabilities(z.data()), smx::log_sum_exp(&sum)));
    EXPECT_EQ(sum, -infinity);
    EXPECT_EQ(z, (std::vector<float>{-infinity, -infinity}));
}

}  // namespace
