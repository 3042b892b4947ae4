// The sums of a backward pass on a GPU: every group and body, every way a bias repeats, against sums in double; and the
// same bits every run. It includes launches alone, in the order in which headers that need each other are easiest to
// get wrong.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "smx/launch.cuh"

#include "smx/launch_backward.cuh"

#include "device/calls.cuh"
#include "support/gradient_sums.hpp"

namespace {

using device::automatic;
using device::device_array;
using device::launch_backward_as;
using device::stream;
using support::shape4;
using support::sums_options;

class backward_sums : public device::gpu_test {};

// The masks of mask_cases.hpp, of memory on the GPU.
struct none : support::no_mask_case {
    static auto on_device(support::mask_material const&, float const*) { return smx::no_mask{}; }
};
struct causal : support::bottom_right_case {
    static auto on_device(support::mask_material const&, float const*) { return smx::causal_mask::bottom_right(); }
};
struct causal_and_biases : support::causal_and_bias_case {
    static auto on_device(support::mask_material const& m, float const* biases) {
        return smx::both(smx::causal_mask::bottom_right(), smx::bias_tensor(biases, m.bias_steps));
    }
};

// A tensor of the call on the GPU, between margins that nobody may write.
template <class T>
struct placed {
    static constexpr std::size_t margin = 64;
    std::size_t offset, count;
    device_array<T> memory;

    placed(std::size_t elements, std::size_t from)
        : offset(margin + from), count(elements), memory(offset + elements + margin) {}
    void upload(T const* values) {
        std::vector<T> all = memory.download();
        std::memcpy(static_cast<void*>(all.data() + offset), values, count * sizeof(T));
        memory.upload(all);
    }
    void download(T* values) const {
        std::vector<T> const all = memory.download();
        std::memcpy(static_cast<void*>(values), all.data() + offset, count * sizeof(T));
        unsigned char poison[sizeof(T)];
        std::memset(poison, 0xff, sizeof poison);
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i >= offset && i < offset + count) continue;
            ASSERT_EQ(std::memcmp(&all[i], poison, sizeof(T)), 0) << "written outside, element " << i;
        }
    }
    T* data() const { return memory.data() + offset; }
};

// Twice, for the same bits; captured, each time as the second replay, the first having read other gradients.
template <class Kernel, class Case, class Y, class Dy = Y, class Dx = Y, class Db = float>
void expect_sums(shape4 const& shape, sums_options const& options, unsigned long long seed,
                 device::calling how = device::calling::directly) {
    support::summed_call<Case, Y, Dy, Dx, Db> call(shape, options, seed);
    placed<Y> y(call.y.size(), options.y_offset);
    placed<Dy> dy(call.dy.size(), options.dy_offset);
    placed<Dx> dx(call.dx.size(), options.dx_offset);
    placed<Db> db(call.db.size(), options.db_offset), again(call.db.size(), options.db_offset);
    device_array<float> biases(call.material.biases.size());
    biases.upload({call.material.biases.data(), call.material.biases.data() + call.material.biases.size()});
    y.upload(call.y.data());
    stream on;
    std::vector<Dy> const others(call.dy.size(), support::stored<Dy>::make(0.5));
    for (Db* target : {again.data(), db.data()}) {
        bool const is_captured = how == device::calling::captured;
        auto const prepare = [&](unsigned long long turn) {
            dy.upload(is_captured && turn == 0 ? others.data() : call.dy.data());
        };
        auto const launch = [&] {
            Dx* const into = options.in_place ? reinterpret_cast<Dx*>(dy.data()) : dx.data();
            return launch_backward_as<Kernel>(
                smx::launch_place(on.get()), smx::saved_probabilities(y.data(), call.extents(), call.step()),
                smx::incoming_gradients(dy.data(), call.step()), smx::fixed_scale(options.factor),
                Case::on_device(call.material, biases.data()), smx::gradients(into, call.step()),
                smx::bias_gradients(target, call.db_step()));
        };
        device::run_turns(how, on.get(), prepare, launch, [](unsigned long long) {});
        if (::testing::Test::HasFatalFailure()) return;
    }
    std::vector<Db> const one = db.memory.download(), other = again.memory.download();
    ASSERT_EQ(std::memcmp(one.data(), other.data(), one.size() * sizeof(Db)), 0) << "another run, other bits";
    y.download(call.y.data());
    dy.download(call.dy.data());
    dx.download(call.dx.data());
    db.download(call.db.data());
    ASSERT_EQ(call.difference(), "") << shape.keys << " keys, " << ::testing::PrintToString(options);
}

template <class Kernel, class Case, class Y, class Dy = Y, class Dx = Y, class Db = float>
void expect_every_way(smx::device_limits const& limits) {
    if (Kernel::blocks > limits.cluster_blocks) return;
    constexpr int columns = Kernel::value.columns();
    auto const ways = support::all_ways_to_repeat();
    unsigned long long seed = 1;
    for (int keys : {1, 7, 8, 33, columns / 2 + 3, columns - 1, columns, columns + 1, 2 * columns + 5}) {
        if (keys > columns && Kernel::value.body != smx::body_kind::online) continue;
        for (int turn = 0; turn < 4; ++turn, ++seed) {
            sums_options options = ways[(seed * 5) % 16];
            options.gap = static_cast<int>(seed % 3);
            options.y_offset = seed % 9;
            options.dy_offset = turn == 1 ? options.y_offset : seed % 7;
            options.dx_offset = seed % 5;
            options.db_offset = turn == 2 ? options.y_offset : seed % 6;
            options.in_place = sizeof(Dy) == sizeof(Dx) && turn == 3;
            if (turn == 1) options.special = std::numeric_limits<double>::quiet_NaN();
            expect_sums<Kernel, Case, Y, Dy, Dx, Db>({3, 2, 3, keys}, options, seed);
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST_F(backward_sums, by_one_lane) { expect_every_way<smx::resident<smx::thread_group, 4, 4>, causal, float>(limits); }
TEST_F(backward_sums, by_a_part_of_a_warp) {
    expect_every_way<smx::resident<smx::warp_group<8>, 8, 2>, none, smx::half>(limits);
}
TEST_F(backward_sums, by_a_warp) {
    expect_every_way<smx::resident<smx::warp_group<32>, 4, 3>, causal_and_biases, float>(limits);
}
TEST_F(backward_sums, by_a_block) {
    using kernel = smx::resident<smx::block_group<128>, 8, 2>;
    expect_every_way<kernel, none, smx::half>(limits);
    expect_every_way<kernel, causal_and_biases, smx::half, float, smx::half, smx::half>(limits);
}
TEST_F(backward_sums, by_a_cluster) {
    expect_every_way<smx::resident<smx::cluster_group<64, 4>, 4, 2>, causal, float>(limits);
}
TEST_F(backward_sums, as_they_are_stored) {
    using smx::half;
    expect_every_way<smx::compact<smx::block_group<64>, 8, 4>, causal, half, half, half, half>(limits);
}
TEST_F(backward_sums, read_twice) {
    expect_every_way<smx::chunked_online<smx::warp_group<32>, 8, 2>, causal, smx::half>(limits);
    expect_every_way<smx::chunked_online<smx::block_group<128>, 4, 2>, none, float, float, float, smx::half>(limits);
    using cluster = smx::chunked_online<smx::cluster_group<64, 2>, 4, 2>;
    expect_every_way<cluster, none, double, double, double, double>(limits);
    expect_every_way<cluster, causal, float, float, float, smx::half>(limits);
}

TEST_F(backward_sums, automatic) {
    auto const ways = support::all_ways_to_repeat();
    unsigned long long seed = 1;
    for (int keys : {1, 31, 64, 65, 129, 511, 1000, 2049, 4097, 8193, 20001, 70001, 140001}) {
        sums_options options = ways[(seed * 5) % 16];
        options.y_offset = options.dy_offset = seed % 2;
        expect_sums<automatic, causal, smx::half>({2, 2, keys > 9000 ? 1 : 4, keys}, options, seed);
        expect_sums<automatic, causal_and_biases, float>({2, 2, keys > 9000 ? 1 : 4, keys}, options, seed++);
        if (::testing::Test::HasFatalFailure()) return;
    }
}

template <class Kernel, class Case, class Y, class Dy = Y, class Dx = Y, class Db = float>
void expect_captured(smx::device_limits const& limits) {
    if (Kernel::blocks > limits.cluster_blocks) return;
    expect_sums<Kernel, Case, Y, Dy, Dx, Db>({3, 2, 3, Kernel::value.columns()}, support::all_ways_to_repeat()[5], 7,
                                             device::calling::captured);
}

// Each test in a process of its own, as ctest runs them: nothing has been launched before.
TEST_F(backward_sums, every_kernel_is_captured_on_its_first_call) {
    using smx::half;
    expect_captured<smx::resident<smx::thread_group, 4, 4>, causal, float>(limits);
    expect_captured<smx::resident<smx::warp_group<8>, 8, 2>, none, half>(limits);
    expect_captured<smx::resident<smx::warp_group<32>, 4, 3>, causal_and_biases, float>(limits);
    expect_captured<smx::resident<smx::block_group<128>, 8, 2>, none, half>(limits);
    expect_captured<smx::resident<smx::cluster_group<64, 4>, 4, 2>, causal, float>(limits);
    expect_captured<smx::compact<smx::block_group<64>, 8, 4>, causal, half, half, half, half>(limits);
    expect_captured<smx::chunked_online<smx::warp_group<32>, 8, 2>, causal, half>(limits);
    expect_captured<smx::chunked_online<smx::cluster_group<64, 2>, 4, 2>, none, double, double, double, double>(limits);
}
TEST_F(backward_sums, launch_auto_backward_is_captured_on_its_first_calls) {
    unsigned long long seed = 1;
    for (int keys : {1, 31, 64, 65, 129, 511, 1000, 2049, 4097, 8193, 20001, 70001, 140001}) {
        sums_options const options = support::all_ways_to_repeat()[(seed * 5) % 16];
        expect_sums<automatic, causal, smx::half>({2, 2, keys > 9000 ? 1 : 4, keys}, options, seed++,
                                                  device::calling::captured);
        if (::testing::Test::HasFatalFailure()) return;
    }
}

TEST_F(backward_sums, an_error_from_before_is_neither_blamed_nor_cleared) {
    constexpr std::size_t count = 4 * 600;
    device_array<float> y(count), dy(count), dx(count), db(600);
    y.upload(std::vector<float>(count, 1.0f / 600));
    dy.upload(std::vector<float>(count, 1.0f));
    stream on;
    cudaError_t const before = device::fail_a_launch();
    ASSERT_NE(before, cudaSuccess);
    smx::status const s = smx::launch_backward<smx::resident<smx::block_group<160>, 4, 1>>(
        on.get(), smx::saved_probabilities(y.data(), {4, 600}), smx::incoming_gradients(dy.data()), smx::fixed_scale(1),
        smx::no_mask{}, smx::gradients(dx.data()), smx::bias_gradients(db.data(), {0, 0, 0, 1}));
    EXPECT_EQ(cudaGetLastError(), before);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    ASSERT_TRUE(s.ok()) << smx::sentence(s).text;
    ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
    for (float one : db.download()) ASSERT_NEAR(one, 0.0f, 1e-6f);
}

// The gradient of the scale: as on the CPU, but for rounding, and its bits every run.
TEST_F(backward_sums, of_the_scale) {
    for (int keys : {1, 100, 2049, 30000, 200001}) {
        shape4 const shape{2, 2, 3, keys};
        smx::extents const extents = support::extents_of(shape);
        auto const count = static_cast<std::size_t>(12) * static_cast<std::size_t>(keys);
        std::vector<float> x = support::make_scores<float>(support::pattern::half_hidden, count, keys, 3), dy(count),
                           dx(count);
        std::vector<float> sums(12), want(12), y(count);
        support::random_stream random(5);
        for (float& one : dy) one = static_cast<float>(random.normal());
        auto const mask = smx::causal_mask::bottom_right();
        std::vector<float> const factor{0.3f, 1.1f};
        device_array<float> dev_x(count), dev_dy(count), dev_dx(count), dev_y(count), dev_sums(12), dev_factor(2),
            out(12), again(12);
        dev_x.upload(x);
        dev_dy.upload(dy);
        dev_factor.upload(factor);
        stream on;
        auto const in = smx::scores(dev_x.data(), extents);
        auto const scale = smx::head_scale(dev_factor.data());
        ASSERT_TRUE(smx::launch_auto(on.get(), in, scale, mask, smx::probabilities(dev_y.data()),
                                     smx::log_sum_exp(dev_sums.data())));
        for (float* target : {out.data(), again.data()}) {
            smx::status const s = smx::launch_auto_backward(
                on.get(), smx::recomputed_probabilities(in, dev_sums.data()), smx::incoming_gradients(dev_dy.data()),
                scale, mask, smx::gradients(dev_dx.data()), smx::scale_gradients(target));
            ASSERT_TRUE(s.ok()) << smx::sentence(s).text;
        }
        ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
        std::vector<float> const got = out.download(), other = again.download();
        ASSERT_EQ(std::memcmp(got.data(), other.data(), got.size() * sizeof(float)), 0);
        sums = dev_sums.download();
        std::size_t row = 0;
        for (int b = 0; b < 2; ++b) {
            for (int h = 0; h < 2; ++h) {
                for (int q = 0; q < 3; ++q, ++row) {
                    auto const at = [&](int k) {
                        return row * static_cast<std::size_t>(keys) + static_cast<std::size_t>(k);
                    };
                    double const by = static_cast<double>(factor[static_cast<std::size_t>(h)]);
                    auto const forward = support::softmax_reference(
                        keys, [&](int k) { return static_cast<double>(x[at(k)]); }, by, [](int) { return 0.0; },
                        [&](int k) { return k <= q + keys - 3; });
                    double inner = 0, sum = 0, size = 0;
                    for (int k = 0; k < keys; ++k)
                        inner += forward.y[static_cast<std::size_t>(k)] * static_cast<double>(dy[at(k)]);
                    for (int k = 0; k < keys; ++k) {
                        double const p = forward.y[static_cast<std::size_t>(k)];
                        if (p == 0) continue;
                        double const term = p * static_cast<double>(x[at(k)]);
                        sum += term * (static_cast<double>(dy[at(k)]) - inner);
                        size += std::fabs(term) * (std::fabs(static_cast<double>(dy[at(k)])) + std::fabs(inner));
                    }
                    ASSERT_NEAR(static_cast<double>(got[row]), sum, 1e-5 * size + 1e-30)
                        << "row " << row << ", " << keys << " keys";
                }
            }
        }
    }
}

// In a capture, on the first call, with another kernel before it that has not ended.
TEST_F(backward_sums, is_captured) {
    std::vector<float> const y(4 * 600, 1.0f / 600);
    std::vector<float> dy(y.size());
    for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i % 11);
    device_array<float> device_y(y.size()), device_dy(y.size()), device_dx(y.size()), device_db(600);
    device_y.upload(y);
    device_dy.upload(dy);
    stream on;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(on.get(), cudaStreamCaptureModeGlobal), cudaSuccess);
    smx::status s;
    for (int turn = 0; turn < 2; ++turn) {
        s = smx::launch_backward<smx::resident<smx::block_group<160>, 4, 1>>(
            smx::programmatic(on.get()), smx::saved_probabilities(device_y.data(), {4, 600}),
            smx::incoming_gradients(device_dy.data()), smx::fixed_scale(1), smx::no_mask{},
            smx::gradients(device_dx.data()), smx::bias_gradients(device_db.data(), {0, 0, 0, 1}));
        if (!s) break;
    }
    ASSERT_EQ(cudaStreamEndCapture(on.get(), &graph), cudaSuccess);
    ASSERT_TRUE(s.ok()) << smx::sentence(s).text;
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(executable, on.get()), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
    std::vector<float> const dx = device_dx.download(), db = device_db.download();
    for (std::size_t k = 0; k < 600; ++k) {
        double want = 0;
        for (std::size_t row = 0; row < 4; ++row) want += static_cast<double>(dx[row * 600 + k]);
        ASSERT_NEAR(static_cast<double>(db[k]), want, 1e-6);
    }
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

}  // namespace
