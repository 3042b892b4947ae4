// Dropout on a GPU: words as CUDA's own generator draws them, what is kept by every body as on the CPU, and seeds that
// a graph reads when it is replayed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "device/calls.cuh"
#include "smx/smx.cuh"
#include "support/data.hpp"
#include "support/dropout_reference.hpp"
#include "support/reference.hpp"

#if __has_include(<curand_philox4x32_x.h>)
#include <curand_philox4x32_x.h>
#define SMX_TEST_HAS_CURAND 1
#else
#define SMX_TEST_HAS_CURAND 0
#endif

namespace {

using device::automatic;
using device::device_array;
using device::launch_as;
using device::launch_backward_as;
using device::stream;
using support::index;
using support::stored;

constexpr unsigned long long seed = 0x0123456789abcdefULL, offset = 9;
constexpr double p = 0.2;

class dropout : public device::gpu_test {};

#if SMX_TEST_HAS_CURAND
__global__ void draw_both(unsigned* ours, unsigned* theirs) {
    unsigned const i = blockIdx.x * blockDim.x + threadIdx.x, far = i * 0x9e3779b9U;
    smx::philox_key const key{{far ^ 5U, ~far}};
    auto const words = smx::philox({{i, far, ~i, far * 3U}}, key);
    auto const scheduled = smx::philox({{i, far, ~i, far * 3U}}, smx::philox_schedule(key));
    uint4 const other = curand_Philox4x32_10(make_uint4(i, far, ~i, far * 3U), make_uint2(far ^ 5U, ~far));
    for (unsigned k = 0; k < 4; ++k) {
        ours[8 * i + k] = words.word[k];
        ours[8 * i + 4 + k] = scheduled.word[k];
    }
    theirs[8 * i] = theirs[8 * i + 4] = other.x;
    theirs[8 * i + 1] = theirs[8 * i + 5] = other.y;
    theirs[8 * i + 2] = theirs[8 * i + 6] = other.z;
    theirs[8 * i + 3] = theirs[8 * i + 7] = other.w;
}

TEST_F(dropout, draws_what_curand_draws) {
    device_array<unsigned> ours(8 * 4096), theirs(8 * 4096);
    draw_both<<<32, 128>>>(ours.data(), theirs.data());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(ours.download(), theirs.download());
}
#endif

// y is what is stored beside it times 1 / (1 - p) or 0, as the CPU draws, with nothing written round either; and the
// scores begin at any element.
template <class Kernel, class T, class Mask>
void expect_forward(int cols, std::size_t at, Mask const& mask, device::calling how = device::calling::directly) {
    SCOPED_TRACE(::testing::Message() << cols << " columns, offset " << at);
    constexpr std::size_t margin = 64;
    index const rows = 6;
    auto const count = static_cast<std::size_t>(rows * cols);
    std::vector<T> x(margin + at + count + margin);
    device_array<T> device_x(x.size()), device_y(x.size()), device_undropped(x.size());
    auto const prepare = [&](unsigned long long turn) {
        auto const scores = support::make_scores<T>(support::pattern::mild, count, cols, 1 + turn);
        std::copy(scores.begin(), scores.end(), x.begin() + static_cast<std::ptrdiff_t>(margin + at));
        device_x.upload(x);
        device_y.poison();
        device_undropped.poison();
    };
    std::size_t const y_at = margin + at * 3 % 8, undropped_at = margin + at;
    stream on;
    auto const launch = [&] {
        return launch_as<Kernel>(smx::launch_place(on.get()), smx::scores(device_x.data() + margin + at, {rows, cols}),
                                 smx::fixed_scale(0.5), mask,
                                 smx::dropped(smx::probabilities(device_y.data() + y_at), smx::dropout(p, seed, offset),
                                              smx::probabilities(device_undropped.data() + undropped_at)));
    };
    std::vector<T> first;  // what the first replay gave
    auto const compare = [&](unsigned long long turn) {
        std::vector<T> const y = device_y.download(), undropped = device_undropped.download();
        for (std::size_t i = 0; i < count; ++i) {
            auto const here = static_cast<index>(i);
            double const by = support::dropout_factor(p, seed, offset, here / cols, static_cast<int>(here % cols));
            double const before = stored<T>::value(undropped[undropped_at + i]), got = stored<T>::value(y[y_at + i]);
            ASSERT_NEAR(got, before * by, 1e-6 * before + 4 * stored<T>::half_step_at(before)) << "element " << i;
            if (by == 0) ASSERT_EQ(got, 0.0) << "element " << i;
        }
        if (turn == 0) first = undropped;
        if (turn != 0 && cols > 1)
            ASSERT_NE(std::memcmp(first.data(), undropped.data(), first.size() * sizeof(T)), 0) << "scores of before";
        T poison;
        std::memset(static_cast<void*>(&poison), 0xff, sizeof poison);
        for (std::size_t i = 0; i < y.size(); ++i) {
            if (i < y_at || i >= y_at + count) ASSERT_EQ(std::memcmp(&y[i], &poison, sizeof poison), 0) << i;
            if (i < undropped_at || i >= undropped_at + count)
                ASSERT_EQ(std::memcmp(&undropped[i], &poison, sizeof poison), 0) << i;
        }
    };
    device::run_turns(how, on.get(), prepare, launch, compare);
}

template <class Kernel, class T>
void expect_lengths(smx::device_limits const& limits) {
    if (Kernel::blocks > limits.cluster_blocks) return;
    constexpr int columns = Kernel::value.columns();
    for (int cols : {1, 8, 33, columns / 2 + 3, columns - 1, columns, columns + 5}) {
        if (cols > columns && smx::holds_row(Kernel::value.body)) continue;
        for (std::size_t at : {0, 1, 3, 4}) {
            expect_forward<Kernel, T>(cols, at, smx::no_mask{});
            expect_forward<Kernel, T>(cols, at, smx::causal_mask::diagonal(cols / 2));
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST_F(dropout, by_one_lane) { expect_lengths<smx::resident<smx::thread_group, 4, 4>, float>(limits); }
TEST_F(dropout, by_a_part_of_a_warp) { expect_lengths<smx::resident<smx::warp_group<8>, 8, 2>, smx::half>(limits); }
TEST_F(dropout, by_a_block) {
    expect_lengths<smx::resident<smx::block_group<128>, 8, 2>, smx::half>(limits);
    expect_lengths<smx::resident<smx::block_group<64>, 2, 4>, double>(limits);
}
TEST_F(dropout, by_a_cluster) { expect_lengths<smx::resident<smx::cluster_group<64, 4>, 4, 2>, float>(limits); }
TEST_F(dropout, as_stored) { expect_lengths<smx::compact<smx::block_group<64>, 8, 4>, smx::bfloat16>(limits); }
TEST_F(dropout, behind_the_registers) { expect_lengths<smx::deep<smx::block_group<64>, 8, 2, 2>, smx::half>(limits); }
TEST_F(dropout, staged) { expect_lengths<smx::chunked_staged<smx::block_group<128>, 4, 2>, float>(limits); }
TEST_F(dropout, read_twice) { expect_lengths<smx::chunked_online<smx::warp_group<32>, 8, 2>, smx::half>(limits); }
using automatic_to_600 = device::automatic_among<smx::for_columns<1, 600>>;
TEST_F(dropout, automatic_kernels) {
    for (int cols : {1, 31, 33, 64, 129, 200, 257, 513, 1000, 2049, 4096, 9001, 20000, 70001, 200001}) {
        expect_forward<automatic, smx::half>(cols, static_cast<std::size_t>(cols % 2), smx::no_mask{});
        if (cols <= 600) expect_forward<automatic_to_600, float>(cols, 0, smx::causal_mask::bottom_right());
        if (HasFatalFailure()) return;
    }
}

template <class Kernel, class T>
void expect_captured(smx::device_limits const& limits, int cols) {
    if (Kernel::blocks <= limits.cluster_blocks)
        expect_forward<Kernel, T>(cols, 0, smx::no_mask{}, device::calling::captured);
}

// Each test in a process of its own, as ctest runs them: nothing has been launched before. A staged row of more shared
// memory than a kernel may use unasked.
TEST_F(dropout, every_kernel_is_captured_on_its_first_call) {
    expect_captured<smx::resident<smx::thread_group, 4, 4>, float>(limits, 16);
    expect_captured<smx::resident<smx::warp_group<8>, 8, 2>, smx::half>(limits, 128);
    expect_captured<smx::resident<smx::block_group<128>, 8, 2>, smx::half>(limits, 2048);
    expect_captured<smx::resident<smx::block_group<64>, 2, 4>, double>(limits, 512);
    expect_captured<smx::resident<smx::cluster_group<64, 4>, 4, 2>, float>(limits, 2048);
    expect_captured<smx::compact<smx::block_group<64>, 8, 4>, smx::bfloat16>(limits, 2048);
    expect_captured<smx::deep<smx::block_group<64>, 8, 2, 2>, smx::half>(limits, 2048);
    expect_captured<smx::chunked_staged<smx::block_group<128>, 4, 2>, float>(limits, 14000);
    expect_captured<smx::chunked_online<smx::warp_group<32>, 8, 2>, smx::half>(limits, 700);
}
TEST_F(dropout, launch_auto_is_captured_on_its_first_calls) {
    for (int cols : {1, 31, 33, 64, 129, 200, 257, 513, 1000, 2049, 4096, 9001, 20000, 70001, 200001}) {
        expect_forward<automatic, smx::half>(cols, 0, smx::no_mask{}, device::calling::captured);
        if (HasFatalFailure()) return;
    }
}

// The gradient is, to the bit, that of a dy that was multiplied before, whether dy lies in the phase of y or not; but
// for rounding where launch_auto takes another kernel then.
template <class Kernel, class T>
void expect_backward(int cols, std::size_t at) {
    SCOPED_TRACE(::testing::Message() << cols << " columns, offset " << at);
    index const rows = 6;
    auto const count = static_cast<std::size_t>(rows * cols);
    support::random_stream random(static_cast<unsigned long long>(cols));
    std::vector<T> y(count), dy(at + count), multiplied(at + count);
    for (std::size_t i = 0; i < count; ++i) {
        auto const here = static_cast<index>(i);
        y[i] = stored<T>::make(random.uniform() / cols);
        dy[at + i] = stored<T>::make(random.normal());
        double const by = support::dropout_factor(0.5, seed, offset, here / cols, static_cast<int>(here % cols));
        multiplied[at + i] = stored<T>::make(by * stored<T>::value(dy[at + i]));
    }
    device_array<T> device_y(count), device_dy(at + count), device_multiplied(at + count), dx(count), want(count);
    device_y.upload(y);
    device_dy.upload(dy);
    device_multiplied.upload(multiplied);
    stream on;
    auto const run = [&](auto const& gradient, T* to) {
        smx::status const s = launch_backward_as<Kernel>(
            smx::launch_place(on.get()), smx::saved_probabilities(device_y.data(), {rows, cols}), gradient,
            smx::fixed_scale(0.5), smx::causal_mask::diagonal(cols / 2), smx::gradients(to));
        ASSERT_TRUE(s.ok()) << smx::sentence(s).text;
    };
    run(smx::dropped(smx::incoming_gradients(device_dy.data() + at), smx::dropout(0.5, seed, offset)), dx.data());
    run(smx::incoming_gradients(device_multiplied.data() + at), want.data());
    ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
    std::vector<T> const got = dx.download(), right = want.download();
    if (!device::is_automatic<Kernel>) {
        ASSERT_EQ(std::memcmp(got.data(), right.data(), count * sizeof(T)), 0);
        return;
    }
    double const step = sizeof(T) == 2 ? 0x1p-10 : 0x1p-18, smallest = sizeof(T) == 2 ? 0x1p-23 : 0x1p-26 / cols;
    for (std::size_t i = 0; i < count; ++i) {
        double const value = stored<T>::value(right[i]);
        ASSERT_NEAR(stored<T>::value(got[i]), value, step * std::fabs(value) + smallest) << i;
    }
}

TEST_F(dropout, backward) {
    for (int cols : {1, 33, 1000, 2047, 2048}) {
        for (std::size_t at : {0, 1, 4}) {
            expect_backward<smx::resident<smx::block_group<128>, 8, 2>, smx::half>(cols, at);
            expect_backward<smx::chunked_online<smx::block_group<64>, 4, 2>, float>(cols, at);
            expect_backward<smx::resident<smx::block_group<256>, 2, 4>, double>(cols, at);
            if (HasFatalFailure()) return;
        }
    }
}
TEST_F(dropout, backward_by_automatic_kernels) {
    for (int cols : {1, 31, 33, 129, 513, 1000, 4096, 9001, 20000, 140001}) {
        expect_backward<automatic, smx::half>(cols, 0);
        if (cols <= 600) expect_backward<automatic_to_600, float>(cols, 1);
        if (HasFatalFailure()) return;
    }
}

// A step of training in a graph: every replay drops what the offset in memory says, in both passes.
TEST_F(dropout, replays_differ_and_the_backward_pass_matches) {
    int const rows = 7, cols = 600;
    auto const count = static_cast<std::size_t>(rows * cols);
    device_array<float> x(count), dy(count), y(count), saved(count), dx(count), y_want(count), dx_want(count);
    device_array<unsigned long long> state(2);
    x.upload(support::make_scores<float>(support::pattern::mild, count, cols, 1));
    dy.upload(support::make_scores<float>(support::pattern::mild, count, cols, 2));
    auto const step = [&](cudaStream_t on, auto const& drops, float* to, float* gradient) {
        ASSERT_TRUE(smx::launch_auto(on, smx::scores(x.data(), {rows, cols}), smx::inv_sqrt(64), smx::no_mask{},
                                     smx::dropped(smx::probabilities(to), drops, smx::probabilities(saved.data()))));
        ASSERT_TRUE(smx::launch_auto_backward(on, smx::saved_probabilities(saved.data(), {rows, cols}),
                                              smx::dropped(smx::incoming_gradients(dy.data()), drops),
                                              smx::inv_sqrt(64), smx::no_mask{}, smx::gradients(gradient)));
    };
    stream on;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(on.get(), cudaStreamCaptureModeGlobal), cudaSuccess);
    step(on.get(), smx::dropout(p, state.data(), state.data() + 1, 3), y.data(), dx.data());
    ASSERT_EQ(cudaStreamEndCapture(on.get(), &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    std::vector<float> before;
    for (unsigned long long turn = 0; turn < 3; ++turn) {
        state.upload({seed, turn * 100});
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        ASSERT_EQ(cudaGraphLaunch(executable, on.get()), cudaSuccess);
        step(on.get(), smx::dropout(p, seed, turn * 100 + 3), y_want.data(), dx_want.data());
        ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
        std::vector<float> const now = y.download();
        EXPECT_EQ(now, y_want.download());
        EXPECT_EQ(dx.download(), dx_want.download());
        EXPECT_NE(now, before);
        before = now;
    }
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

// A kernel that moves rows as one piece of memory has no columns to drop.
TEST_F(dropout, packed_kernels_are_refused) {
    device_array<float> x(64), y(64);
    smx::status const s = smx::launch<smx::packed<smx::warp_group<8>, 4, 2>>(
        nullptr, smx::scores(x.data(), {2, 32}), smx::fixed_scale(1), smx::no_mask{},
        smx::dropped(smx::probabilities(y.data()), smx::dropout(p, 1, 2)));
    EXPECT_EQ(s.code, smx::errc::bad_stride);
    EXPECT_STREQ(s.argument, "x and y");
}

}  // namespace
