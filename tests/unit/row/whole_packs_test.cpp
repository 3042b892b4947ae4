// row/whole_packs.hpp: rows that end within a pack are read, masked and written no further than they go, whatever reads and writes them.
#include "smx/row/whole_packs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "smx/host.hpp"
#include "support/guarded_buffer.hpp"

namespace {

// Lengths round a pack of 32 floats, round what waits in a tile (32768 floats) and round a chunk (2048) after it.
std::vector<int> lengths() {
    std::vector<int> all;
    for (int cols = 1; cols <= 100; ++cols) all.push_back(cols);
    for (int cols : {1023, 1025, 2047, 2049, 16385, 32767, 32768, 32769, 34817}) all.push_back(cols);
    return all;
}

bool is_hidden(int k) { return k % 3 == 1; }
float score_at(int k) { return 0.25f * static_cast<float>(k * 7 % 31); }
float bias_at(int k) { return 0.125f * static_cast<float>(k % 5); }

// exp(score) of the columns below `end`, by the plain rule.
template <class Weight>
std::vector<double> probabilities_of(int cols, int end, Weight const& weight) {
    std::vector<double> all(static_cast<std::size_t>(cols), 0.0);
    double sum = 0;
    for (int k = 0; k < end; ++k) sum += all[static_cast<std::size_t>(k)] = weight(k);
    for (double& one : all) one /= sum > 0 ? sum : 1;
    return all;
}

// Everything ends where memory ends, or begins where it begins.
template <class T>
void expect_within_memory(int cols, support::fence side, bool in_place, double tolerance) {
    auto const count = static_cast<std::size_t>(cols);
    support::fenced_buffer<T> x(count, side), y(count, side), biases(count, side);
    support::fenced_buffer<unsigned char> flags(count, side);
    for (int k = 0; k < cols; ++k) {
        x.data()[k] = smx::dtype<T>::narrow(score_at(k));
        biases.data()[k] = smx::dtype<T>::narrow(bias_at(k));
        flags.data()[k] = is_hidden(k) ? 3 : 0;
    }
    int const length = cols - cols / 3;
    smx::strides const packed{cols, cols, cols, 1};
    auto const masks = smx::both(smx::hidden_where(flags.data(), packed), smx::bias_tensor(biases.data(), packed), smx::key_lengths(&length));
    T* const into = in_place ? x.data() : y.data();
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {1, cols}), smx::fixed_scale(0.5), masks, smx::probabilities(into)));
    auto const want = probabilities_of(cols, length, [](int k) {
        return is_hidden(k) ? 0.0 : std::exp(0.5 * static_cast<double>(score_at(k)) + static_cast<double>(bias_at(k)));
    });
    for (int k = 0; k < cols; ++k) {
        double const wanted = want[static_cast<std::size_t>(k)];
        ASSERT_NEAR(static_cast<double>(smx::dtype<T>::widen(into[k])), wanted, tolerance * wanted + 1e-7) << "column " << k << " of " << cols;
    }
}

TEST(whole_packs, nothing_is_touched_past_the_ends_of_memory) {
    for (int cols : lengths()) {
        for (auto side : {support::fence::behind, support::fence::before}) {
            for (bool in_place : {false, true}) {
                expect_within_memory<float>(cols, side, in_place, 1e-5);
                expect_within_memory<double>(cols, side, in_place, 1e-12);
                expect_within_memory<smx::half>(cols, side, in_place, 0x1p-10);
                expect_within_memory<smx::bfloat16>(cols, side, in_place, 0x1p-7);
            }
        }
    }
}

// The same of a backward pass: y and dy are read, dx is written, under every part of a mask.
template <class T>
void expect_backward_within_memory(int cols, support::fence side, bool in_place, double tolerance) {
    auto const count = static_cast<std::size_t>(cols);
    support::fenced_buffer<T> y(count, side), dy(count, side), dx(count, side), biases(count, side);
    support::fenced_buffer<unsigned char> flags(count, side);
    int const length = cols - cols / 3;
    double inner = 0;
    std::vector<double> probabilities(count, 0.0), given(count, 0.0);
    for (int k = 0; k < cols; ++k) {
        auto const at = static_cast<std::size_t>(k);
        bool const shown = k < length && !is_hidden(k);
        y[at] = smx::dtype<T>::narrow(shown ? 2.0f / static_cast<float>(cols) : HUGE_VALF);
        dy[at] = smx::dtype<T>::narrow(shown ? score_at(k) : HUGE_VALF);
        biases[at] = smx::dtype<T>::narrow(bias_at(k));
        flags[at] = is_hidden(k) ? 3 : 0;
        if (!shown) continue;
        probabilities[at] = static_cast<double>(smx::dtype<T>::widen(y[at]));
        given[at] = static_cast<double>(score_at(k));
        inner += probabilities[at] * given[at];
    }
    smx::strides const packed{cols, cols, cols, 1};
    auto const masks = smx::both(smx::hidden_where(flags.data(), packed), smx::bias_tensor(biases.data(), packed), smx::key_lengths(&length));
    T* const into = in_place ? dy.data() : dx.data();
    ASSERT_TRUE(smx::softmax_backward_on_host(smx::saved_probabilities(y.data(), {1, cols}), smx::incoming_gradients(dy.data()), smx::fixed_scale(0.5),
                                              masks, smx::gradients(into)));
    for (int k = 0; k < cols; ++k) {
        auto const at = static_cast<std::size_t>(k);
        double const wanted = 0.5 * probabilities[at] * (given[at] - inner);
        ASSERT_NEAR(static_cast<double>(smx::dtype<T>::widen(into[k])), wanted, tolerance * probabilities[at] * 8 + 1e-7) << "column " << k << " of " << cols;
    }
}

TEST(whole_packs, a_backward_pass_touches_nothing_past_the_ends_of_memory) {
    for (int cols : lengths()) {
        for (auto side : {support::fence::behind, support::fence::before}) {
            for (bool in_place : {false, true}) {
                expect_backward_within_memory<float>(cols, side, in_place, 1e-5);
                expect_backward_within_memory<double>(cols, side, in_place, 1e-12);
                expect_backward_within_memory<smx::half>(cols, side, in_place, 0x1p-10);
                expect_backward_within_memory<smx::bfloat16>(cols, side, in_place, 0x1p-7);
            }
        }
    }
}

// Packs start at columns 3, 3 + Width, ...; single columns anywhere.
struct with_head {
    using compute = float;
    float const* data;
    int cols;
    template <int Width>
    int head(smx::row_id) const {
        return 3 % Width;
    }
    template <int Width>
    smx::pack<float, Width> load(smx::row_id, int col) const {
        EXPECT_TRUE(col % Width == 3 % Width && col + Width <= cols) << Width << " columns from " << col;
        smx::pack<float, Width> values;
        for (int i = 0; i < Width; ++i) values[i] = data[col + i];
        return values;
    }
};
struct recorded {
    float* data;
    int cols;
    template <int Width, class Compute>
    void store(smx::row_id, int col, smx::pack<Compute, Width> const& values) const {
        EXPECT_LE(col + Width, cols);
        for (int i = 0; i < Width; ++i) data[col + i] = values[i];
    }
};

TEST(whole_packs, inputs_and_outputs_of_the_users_own) {
    for (int cols : lengths()) {
        std::vector<float> x(static_cast<std::size_t>(cols)), y(x.size(), -1.0f);
        for (int k = 0; k < cols; ++k) x[static_cast<std::size_t>(k)] = score_at(k);
        ASSERT_TRUE(smx::softmax_on_host(smx::scores_from(with_head{x.data(), cols}, {1, cols}), smx::fixed_scale(1), smx::no_mask(), recorded{y.data(), cols}));
        auto const want = probabilities_of(cols, cols, [](int k) { return std::exp(static_cast<double>(score_at(k))); });
        for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(static_cast<double>(y[k]), want[k], 1e-5 * want[k] + 1e-7) << "column " << k << " of " << cols;
    }
}

// 1 / cols of the row, not of the columns that its packs have.
TEST(whole_packs, an_empty_row_has_as_many_columns_as_it_has) {
    for (int cols : lengths()) {
        std::vector<float> const x(static_cast<std::size_t>(cols), -HUGE_VALF);
        std::vector<float> y(x.size());
        ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {1, cols}), smx::fixed_scale(1), smx::no_mask(), smx::probabilities(y.data()),
                                         smx::empty_row::uniform));
        for (float one : y) ASSERT_EQ(one, 1.0f / static_cast<float>(cols));
    }
}

}  // namespace
