// Log-softmax and its gradient on a GPU: every body against the reference, at the ends of the rows that launch_auto's
// kernels hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "device/calls.cuh"
#include "smx/smx.cuh"
#include "support/data.hpp"
#include "support/logarithms.hpp"

namespace {

using device::automatic;
using device::device_array;
using device::launch_as;
using device::launch_backward_as;
using device::stream;
using support::index;
using support::stored;

class log_softmax : public device::gpu_test {};

template <class T>
constexpr auto arithmetic_for = sizeof(smx::compute_of<T>) == 8 ? support::arithmetic::in_double
                                                                : support::arithmetic::in_float;

// Rows under a diagonal, the first of which sees nothing.
template <class Kernel, class T>
void expect_forward(int cols, std::size_t at, support::pattern pattern) {
    SCOPED_TRACE(::testing::Message() << cols << " columns, offset " << at << ", " << support::name_of(pattern));
    constexpr std::size_t margin = 64;
    index const rows = 4;
    auto const count = static_cast<std::size_t>(rows * cols);
    auto const scores = support::make_scores<T>(pattern, count, cols, at);
    std::vector<T> x(margin + at + count + margin);
    std::copy(scores.begin(), scores.end(), x.begin() + static_cast<std::ptrdiff_t>(margin + at));
    device_array<T> device_x(x.size()), device_z(x.size());
    device_x.upload(x);
    std::size_t const z_at = margin + at * 3 % 8;
    auto const last = [&](index q) { return q == 0 ? -1 : q == 1 ? 0 : cols - 4 + static_cast<int>(q); };
    std::vector<int> lengths;
    for (index q = 0; q < rows; ++q) lengths.push_back(std::max(0, std::min(cols, last(q) + 1)));
    device_array<int> device_lengths(lengths.size());
    device_lengths.upload(lengths);
    stream on;
    smx::status const s =
        launch_as<Kernel>(smx::launch_place(on.get()), smx::scores(device_x.data() + margin + at, {rows, 1, 1, cols}),
                          smx::fixed_scale(0.5), smx::key_lengths(device_lengths.data()),
                          smx::log_probabilities(device_z.data() + z_at), smx::empty_row::uniform);
    ASSERT_TRUE(s.ok()) << smx::sentence(s).text;
    ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
    std::vector<T> const z = device_z.download();
    for (index q = 0; q < rows; ++q) {
        std::size_t const begin = static_cast<std::size_t>(q * cols);
        auto const want = support::logarithm_reference(
            cols, [&](int k) { return stored<T>::value(scores[begin + static_cast<std::size_t>(k)]); }, 0.5,
            [](int) { return 0.0; }, [&](int k) { return k < lengths[static_cast<std::size_t>(q)]; },
            support::empty_gives::uniform, arithmetic_for<T>);
        ASSERT_EQ(support::difference_of_logarithms<T>(
                      want, [&](int k) { return z[z_at + begin + static_cast<std::size_t>(k)]; }, arithmetic_for<T>),
                  "")
            << "row " << q;
    }
    T poison;
    std::memset(static_cast<void*>(&poison), 0xff, sizeof poison);
    for (std::size_t i = 0; i < z.size(); ++i) {
        if (i < z_at || i >= z_at + count) ASSERT_EQ(std::memcmp(&z[i], &poison, sizeof poison), 0) << i;
    }
}

template <class Kernel, class T>
void expect_lengths(smx::device_limits const& limits) {
    if (Kernel::blocks > limits.cluster_blocks) return;
    constexpr int columns = Kernel::value.columns();
    for (int cols : {1, 8, 33, columns / 2 + 3, columns - 1, columns, columns + 5}) {
        if (cols > columns && smx::holds_row(Kernel::value.body)) continue;
        for (std::size_t at : {0, 1, 4}) {
            for (auto pattern : {support::pattern::peaky, support::pattern::with_nan, support::pattern::half_hidden})
                expect_forward<Kernel, T>(cols, at, pattern);
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST_F(log_softmax, by_one_lane) { expect_lengths<smx::resident<smx::thread_group, 4, 4>, float>(limits); }
TEST_F(log_softmax, by_a_part_of_a_warp) { expect_lengths<smx::resident<smx::warp_group<8>, 8, 2>, smx::half>(limits); }
TEST_F(log_softmax, by_a_block) {
    expect_lengths<smx::resident<smx::block_group<128>, 8, 2>, smx::half>(limits);
    expect_lengths<smx::resident<smx::block_group<64>, 2, 4>, double>(limits);
}
TEST_F(log_softmax, by_a_cluster) { expect_lengths<smx::resident<smx::cluster_group<64, 4>, 4, 2>, float>(limits); }
TEST_F(log_softmax, by_a_compact_kernel) {
    expect_lengths<smx::compact<smx::block_group<64>, 8, 4>, smx::bfloat16>(limits);
}
TEST_F(log_softmax, staged) { expect_lengths<smx::chunked_staged<smx::block_group<128>, 4, 2>, float>(limits); }
TEST_F(log_softmax, read_twice) { expect_lengths<smx::chunked_online<smx::warp_group<32>, 8, 2>, smx::half>(limits); }
TEST_F(log_softmax, automatic_kernels) {
    for (int cols : {1, 31, 33, 64, 129, 200, 257, 513, 1000, 2049, 4096, 9001, 20000, 70001, 200001}) {
        expect_forward<automatic, smx::half>(cols, static_cast<std::size_t>(cols % 2), support::pattern::mild);
        expect_forward<automatic, float>(cols, 0, support::pattern::peaky);
        if (HasFatalFailure()) return;
    }
}

// From kept logarithms, and again from the scores: hidden logarithms and gradients are NaN.
template <class Kernel, class T>
void expect_backward(int cols, std::size_t at) {
    SCOPED_TRACE(::testing::Message() << cols << " columns, offset " << at);
    index const rows = 4;
    double const factor = 0.75;
    auto const count = static_cast<std::size_t>(rows * cols);
    int const diagonal = cols / 2;
    auto const visible = [&](index q, int k) { return k <= q + diagonal; };
    support::random_stream random(static_cast<unsigned long long>(cols));
    std::vector<T> z(at + count), dy(count);
    for (index q = 0; q < rows; ++q) {
        for (int k = 0; k < cols; ++k) {
            auto const here = static_cast<std::size_t>(q * cols + k);
            z[at + here] = stored<T>::make(visible(q, k) ? -std::log(cols) - 3 * random.uniform() : std::nan(""));
            dy[here] = stored<T>::make(visible(q, k) ? random.normal() : std::nan(""));
        }
    }
    device_array<T> device_z(at + count), device_dy(count), device_dx(count);
    device_z.upload(z);
    device_dy.upload(dy);
    stream on;
    smx::status const s = launch_backward_as<Kernel>(
        smx::launch_place(on.get()), smx::saved_log_probabilities(device_z.data() + at, {rows, cols}),
        smx::incoming_gradients(device_dy.data()), smx::fixed_scale(factor), smx::causal_mask::diagonal(diagonal),
        smx::gradients(device_dx.data()));
    ASSERT_TRUE(s.ok()) << smx::sentence(s).text;
    ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
    std::vector<T> const dx = device_dx.download();
    double const rounding = arithmetic_for<T> == support::arithmetic::in_double ? 0x1p-53 : 0x1p-24;
    double const steps = 8 + std::sqrt(static_cast<double>(cols));
    for (index q = 0; q < rows; ++q) {
        auto const begin = static_cast<std::size_t>(q * cols);
        std::vector<double> bounds;
        auto const want = support::logarithm_gradient(
            cols, [&](int k) { return stored<T>::value(z[at + begin + static_cast<std::size_t>(k)]); },
            [&](int k) { return stored<T>::value(dy[begin + static_cast<std::size_t>(k)]); }, factor,
            [&](int k) { return visible(q, k); }, bounds);
        for (std::size_t k = 0; k < want.size(); ++k) {
            double const got = stored<T>::value(dx[begin + k]);
            if (visible(q, static_cast<int>(k))) {
                ASSERT_NEAR(got, want[k], rounding * steps * bounds[k] + 1.001 * stored<T>::half_step_at(want[k]))
                    << "row " << q << ", column " << k;
            } else {
                ASSERT_TRUE(got == 0 && !std::signbit(got)) << "row " << q << ", column " << k;
            }
        }
    }
}

TEST_F(log_softmax, backward) {
    for (int cols : {1, 33, 1000, 2047, 2048}) {
        for (std::size_t at : {0, 1, 4}) {
            expect_backward<smx::resident<smx::block_group<128>, 8, 2>, smx::half>(cols, at);
            expect_backward<smx::chunked_online<smx::block_group<64>, 4, 2>, float>(cols, at);
            expect_backward<smx::resident<smx::block_group<256>, 2, 4>, double>(cols, at);
            if (HasFatalFailure()) return;
        }
    }
}
TEST_F(log_softmax, backward_by_automatic_kernels) {
    for (int cols : {1, 31, 33, 129, 513, 1000, 4096, 9001, 20000, 140001}) {
        expect_backward<automatic, smx::half>(cols, 0);
        expect_backward<automatic, float>(cols, 1);
        if (HasFatalFailure()) return;
    }
}

TEST_F(log_softmax, backward_from_scores) {
    int const rows = 5, cols = 700;
    auto const count = static_cast<std::size_t>(rows * cols);
    device_array<float> x(count), dy(count), z(count), sums(5), dx(count), again(count);
    x.upload(support::make_scores<float>(support::pattern::half_hidden, count, cols, 1));
    dy.upload(support::make_scores<float>(support::pattern::mild, count, cols, 2));
    stream on;
    auto const in = smx::scores(x.data(), {rows, cols});
    auto const given = smx::incoming_gradients(dy.data());
    auto const factor = smx::fixed_scale(0.5);
    ASSERT_TRUE(smx::launch_auto(on.get(), in, factor, smx::no_mask{}, smx::log_probabilities(z.data()),
                                 smx::log_sum_exp(sums.data())));
    ASSERT_TRUE(smx::launch_auto_backward(on.get(), smx::saved_log_probabilities(z.data(), {rows, cols}), given, factor,
                                          smx::no_mask{}, smx::gradients(dx.data())));
    ASSERT_TRUE(smx::launch_auto_backward(on.get(), smx::recomputed_log_probabilities(in, sums.data()), given, factor,
                                          smx::no_mask{}, smx::gradients(again.data())));
    ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
    std::vector<float> const want = dx.download(), got = again.download();
    for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(got[i], want[i], 1e-5) << "element " << i;
}

}  // namespace
