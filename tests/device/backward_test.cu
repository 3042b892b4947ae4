// The backward pass on a GPU: every group and body under every kind of mask, against the reference row by row; and how
// a call behaves towards CUDA.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "device/calls.cuh"
#include "smx/smx.cuh"
#include "support/data.hpp"
#include "support/gradient.hpp"

namespace {

using device::automatic;
using device::device_array;
using device::launch_backward_as;
using device::stream;
using support::index;
using support::shape4;

constexpr double infinity = std::numeric_limits<double>::infinity();

class backward : public device::gpu_test {};

// What the masks of a shape are made of, here and on the GPU: lengths [batch], flags [batch, 1, queries, keys], biases
// [1, heads, queries, keys], some of them -infinity.
struct material {
    shape4 shape;
    std::vector<int> lengths;
    std::vector<unsigned char> flags;
    std::vector<float> biases;
    device_array<int> device_lengths;
    device_array<unsigned char> device_flags;
    device_array<float> device_biases;

    material(shape4 const& of, unsigned long long seed)
        : shape(of),
          lengths(static_cast<std::size_t>(of.batch)),
          flags(static_cast<std::size_t>(of.batch * of.queries * of.keys)),
          biases(static_cast<std::size_t>(of.heads * of.queries * of.keys)),
          device_lengths(lengths.size()),
          device_flags(flags.size()),
          device_biases(biases.size()) {
        support::random_stream random(seed);
        for (int& length : lengths) length = random.coin(0.2) ? 0 : random.below(of.keys + 1);
        for (unsigned char& flag : flags) flag = random.coin() ? 1 : 0;
        for (float& bias : biases)
            bias = random.coin(0.2) ? static_cast<float>(-infinity) : static_cast<float>(random.normal());
        device_lengths.upload(lengths);
        device_flags.upload(flags);
        device_biases.upload(biases);
    }

    auto mask_of_lengths() const { return smx::key_lengths(device_lengths.data(), smx::padding::left); }
    auto mask_of_flags() const {
        return smx::mask_tensor(device_flags.data(), {shape.queries * shape.keys, 0, shape.keys, 1});
    }
    auto mask_of_biases() const {
        return smx::bias_tensor(device_biases.data(), {0, shape.queries * shape.keys, shape.keys, 1});
    }
    bool in_length(index b, int k) const { return k >= shape.keys - lengths[static_cast<std::size_t>(b)]; }
    bool in_causal(index q, int k) const { return k <= q + shape.keys - shape.queries; }
    bool flag(index b, index q, int k) const {
        return flags[static_cast<std::size_t>((b * shape.queries + q) * shape.keys + k)] != 0;
    }
    double bias(index h, index q, int k) const {
        return static_cast<double>(biases[static_cast<std::size_t>((h * shape.queries + q) * shape.keys + k)]);
    }
};

struct none {
    static auto mask(material const&) { return smx::no_mask{}; }
    static bool visible(material const&, index, index, index, int) { return true; }
};
struct causal {
    static auto mask(material const&) { return smx::causal_mask::bottom_right(); }
    static bool visible(material const& m, index, index, index q, int k) { return m.in_causal(q, k); }
};
struct causal_and_lengths {
    static auto mask(material const& m) { return smx::both(smx::causal_mask::bottom_right(), m.mask_of_lengths()); }
    static bool visible(material const& m, index b, index, index q, int k) {
        return m.in_causal(q, k) && m.in_length(b, k);
    }
};
struct flags {
    static auto mask(material const& m) { return m.mask_of_flags(); }
    static bool visible(material const& m, index b, index, index q, int k) { return m.flag(b, q, k); }
};
struct biases {
    static auto mask(material const& m) { return m.mask_of_biases(); }
    static bool visible(material const& m, index, index h, index q, int k) { return m.bias(h, q, k) > -infinity; }
};
struct all_four {
    static auto mask(material const& m) {
        return smx::both(smx::causal_mask::bottom_right(), m.mask_of_lengths(), m.mask_of_flags(), m.mask_of_biases());
    }
    static bool visible(material const& m, index b, index h, index q, int k) {
        return m.in_causal(q, k) && m.in_length(b, k) && m.flag(b, q, k) && m.bias(h, q, k) > -infinity;
    }
};

struct places {
    std::size_t y = 0, dy = 0, dx = 0;  // in elements from the start of an allocation, before which canaries stand
    index padding = 0;                  // elements between rows
    bool in_place = false;
    bool exact = false;  // no canaries: allocations begin and end with their tensor
    device::calling how = device::calling::directly;
    smx::device_limits const* most = nullptr;  // what the GPU is to be taken for, where that is less
};

// Runs one call. Hidden y and dy are NaN, one row has a NaN in a visible dy; dx is surrounded by canaries and poisoned.
template <class Kernel, class Case, class Y, class Dy = Y, class Dx = Y>
void expect_gradients(shape4 const& shape, places const& at = {}, unsigned long long seed = 1) {
    SCOPED_TRACE(::testing::Message() << shape.batch << " x " << shape.heads << " x " << shape.queries << " x "
                                      << shape.keys << ", offsets " << at.y << ", " << at.dy << ", " << at.dx
                                      << ", padding " << at.padding << (at.in_place ? ", in place" : ""));
    std::size_t const margin = at.exact ? 0 : 64;
    constexpr bool is_double = sizeof(smx::compute_of<Y>) == 8 || sizeof(smx::compute_of<Dy>) == 8;
    double const factor = 0.375;
    index const pitch = shape.keys + at.padding, rows = shape.batch * shape.heads * shape.queries;
    auto const count = static_cast<std::size_t>(rows * pitch);
    smx::strides const step{shape.heads * shape.queries * pitch, shape.queries * pitch, pitch, 1};
    smx::extents const extents(shape.batch, shape.heads, shape.queries, shape.keys);
    material const m(shape, seed);

    auto const nan_y = support::stored<Y>::make(std::numeric_limits<double>::quiet_NaN());
    auto const nan_dy = support::stored<Dy>::make(std::numeric_limits<double>::quiet_NaN());
    std::vector<Y> y(margin + at.y + count + margin, nan_y);
    std::vector<Dy> dy(margin + at.dy + count + margin, nan_dy);
    index const poisoned_row = rows > 2 ? 2 : -1;
    auto const every_row = [&](auto const& visit) {
        index row = 0;
        for (index b = 0; b < shape.batch; ++b)
            for (index h = 0; h < shape.heads; ++h)
                for (index q = 0; q < shape.queries; ++q, ++row) visit(b, h, q, row);
    };
    device_array<Y> device_y(y.size());
    device_array<Dy> device_dy(dy.size());
    device_array<Dx> device_dx(margin + at.dx + count + margin);
    auto const prepare = [&](unsigned long long turn) {
        support::random_stream random(seed + 1000 * turn);
        every_row([&](index b, index h, index q, index row) {
            auto const begin = static_cast<std::size_t>(row * pitch);
            for (int k = 0; k < shape.keys; ++k) {
                if (!Case::visible(m, b, h, q, k)) continue;
                auto const here = begin + static_cast<std::size_t>(k);
                y[margin + at.y + here] = support::stored<Y>::make(random.uniform() * 4 / shape.keys);
                bool const spoilt = row == poisoned_row && k % 5 == 2;
                if (!spoilt) dy[margin + at.dy + here] = support::stored<Dy>::make(random.normal());
            }
        });
        device_y.upload(y);
        device_dy.upload(dy);
        device_dx.poison();
    };
    Dx* const dx =
        at.in_place ? reinterpret_cast<Dx*>(device_dy.data() + margin + at.dy) : device_dx.data() + margin + at.dx;

    stream on;
    auto const launch = [&]() -> smx::status {
        smx::launch_place const place(on.get());
        auto const in = smx::saved_probabilities(device_y.data() + margin + at.y, extents, step);
        auto const given = smx::incoming_gradients(device_dy.data() + margin + at.dy, step);
        auto const by = smx::fixed_scale(factor);
        auto const mask = Case::mask(m);
        auto const out = smx::gradients(dx, step);
        if constexpr (device::is_automatic<Kernel>) {
            if (at.most != nullptr)
                return device::launch_auto_backward_within<typename Kernel::choice>(*at.most, place, in, given, by,
                                                                                    mask, out);
        }
        return launch_backward_as<Kernel>(place, in, given, by, mask, out);
    };
    auto const compare = [&](unsigned long long) {
        std::vector<Y> const y_after = device_y.download();
        std::vector<Dy> const dy_after = device_dy.download();
        ASSERT_EQ(std::memcmp(y.data(), y_after.data(), y.size() * sizeof(Y)), 0) << "y was written";
        std::vector<Dx> got;
        std::size_t first = margin + at.dx;
        if (at.in_place) {
            got.resize(dy_after.size());
            std::memcpy(static_cast<void*>(got.data()), dy_after.data(), dy_after.size() * sizeof(Dy));
            first = margin + at.dy;
        } else {
            ASSERT_EQ(std::memcmp(dy.data(), dy_after.data(), dy.size() * sizeof(Dy)), 0) << "dy was written";
            got = device_dx.download();
        }

        std::vector<bool> written(got.size(), false);
        every_row([&](index b, index h, index q, index row) {
            auto const begin = static_cast<std::size_t>(row * pitch);
            auto const want = support::gradient_reference(
                shape.keys,
                [&](int k) {
                    return support::stored<Y>::value(y[margin + at.y + begin + static_cast<std::size_t>(k)]);
                },
                [&](int k) {
                    return support::stored<Dy>::value(dy[margin + at.dy + begin + static_cast<std::size_t>(k)]);
                },
                factor, [&](int k) { return Case::visible(m, b, h, q, k); });
            ASSERT_EQ(support::difference_of_gradients<Dx>(
                          want, [&](int k) { return got[first + begin + static_cast<std::size_t>(k)]; },
                          is_double ? support::arithmetic::in_double : support::arithmetic::in_float),
                      "")
                << "row (" << b << ", " << h << ", " << q << ")";
            for (int k = 0; k < shape.keys; ++k) written[first + begin + static_cast<std::size_t>(k)] = true;
        });
        unsigned char poison[sizeof(Dx)];
        std::memset(poison, 0xff, sizeof poison);
        for (std::size_t i = 0; i < got.size(); ++i) {
            void const* const before = at.in_place ? static_cast<void const*>(&dy[i]) : poison;
            ASSERT_TRUE(written[i] || std::memcmp(&got[i], before, sizeof(Dx)) == 0)
                << "element " << i << " was written";
        }
    };
    device::run_turns(at.how, on.get(), prepare, launch, compare);
}

// Lengths round packs and round what a kernel holds, at all places of the three tensors.
template <class Kernel, class Case, class Y, class Dy = Y, class Dx = Y>
void expect_lengths(smx::device_limits const& limits) {
    if (Kernel::blocks > limits.cluster_blocks) return;
    constexpr int columns = Kernel::value.columns();
    constexpr bool is_online = Kernel::value.body == smx::body_kind::online;
    unsigned long long seed = 1;
    for (int cols : {1, 2, 7, 8, 9, 33, columns / 2 + 3, columns - 1, columns, columns + 1, 2 * columns + 5}) {
        if (cols > columns && !is_online) continue;
        for (int turn = 0; turn < 3; ++turn, ++seed) {
            places at;
            at.y = turn == 0 ? 0 : seed % 8;
            at.dy = turn == 1 ? at.y : (seed * 5) % 7;
            at.dx = seed % 3;
            at.padding = turn == 2 ? 3 : 0;
            at.in_place = sizeof(Dy) == sizeof(Dx) && turn == 1;
            expect_gradients<Kernel, Case, Y, Dy, Dx>({2, 2, 3, cols}, at, seed);
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

template <class Kernel, class Y>
void expect_every_mask(smx::device_limits const& limits) {
    expect_lengths<Kernel, none, Y>(limits);
    expect_lengths<Kernel, causal, Y>(limits);
    expect_lengths<Kernel, causal_and_lengths, Y>(limits);
    expect_lengths<Kernel, flags, Y>(limits);
    expect_lengths<Kernel, biases, Y>(limits);
    expect_lengths<Kernel, all_four, Y>(limits);
}

TEST_F(backward, by_one_lane) { expect_every_mask<smx::resident<smx::thread_group, 4, 4>, float>(limits); }
TEST_F(backward, by_a_part_of_a_warp) { expect_every_mask<smx::resident<smx::warp_group<8>, 8, 2>, smx::half>(limits); }
TEST_F(backward, by_a_warp) { expect_every_mask<smx::resident<smx::warp_group<32>, 4, 3>, float>(limits); }
TEST_F(backward, by_a_block) { expect_every_mask<smx::resident<smx::block_group<96>, 8, 2>, smx::half>(limits); }
TEST_F(backward, by_a_cluster) { expect_every_mask<smx::resident<smx::cluster_group<64, 4>, 4, 2>, float>(limits); }
TEST_F(backward, by_a_block_as_it_is_stored) {
    expect_every_mask<smx::compact<smx::block_group<64>, 8, 4>, smx::half>(limits);
    expect_lengths<smx::compact<smx::block_group<64>, 8, 4>, flags, smx::bfloat16, smx::half, float>(limits);
}
TEST_F(backward, by_a_cluster_as_it_is_stored) {
    expect_every_mask<smx::compact<smx::cluster_group<64, 4>, 8, 5>, smx::bfloat16>(limits);
}
TEST_F(backward, read_twice_by_a_warp) {
    expect_every_mask<smx::chunked_online<smx::warp_group<32>, 8, 2>, smx::half>(limits);
}
TEST_F(backward, read_twice_by_a_block) {
    expect_every_mask<smx::chunked_online<smx::block_group<128>, 4, 2>, float>(limits);
}
TEST_F(backward, read_twice_by_a_cluster) {
    expect_lengths<smx::chunked_online<smx::cluster_group<64, 2>, 4, 2>, causal, float>(limits);
}

TEST_F(backward, of_every_type) {
    using kernel = smx::resident<smx::warp_group<16>, 8, 2>;
    expect_lengths<kernel, causal, smx::bfloat16>(limits);
    expect_lengths<kernel, causal, smx::half, float, smx::half>(limits);
    expect_lengths<kernel, flags, smx::bfloat16, smx::half, float>(limits);
    expect_lengths<kernel, none, float, smx::half, float>(limits);
    using wide = smx::resident<smx::warp_group<32>, 2, 4>;
    expect_lengths<wide, all_four, double>(limits);
    expect_lengths<wide, causal, float, double, smx::half>(limits);
}

// What compute-sanitizer runs: memory without a byte to spare, under all that a mask may read.
using sanitize_backward = backward;

template <class Kernel, class Y>
void expect_exact(smx::device_limits const& limits) {
    if (Kernel::blocks > limits.cluster_blocks) return;
    places at;
    at.exact = true;
    int const longest = Kernel::value.columns();
    bool const is_online = Kernel::value.body == smx::body_kind::online;
    for (int cols : {5, is_online ? longest + 3 : longest - 1}) {
        for (std::size_t offset : {0, 1}) {
            at.y = at.dy = offset;
            at.dx = 1 - offset;
            expect_gradients<Kernel, all_four, Y>({1, 2, 2, cols}, at, 3);
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST_F(sanitize_backward, every_body) {
    expect_exact<smx::resident<smx::thread_group, 4, 4>, float>(limits);
    expect_exact<smx::resident<smx::warp_group<8>, 8, 2>, smx::half>(limits);
    expect_exact<smx::resident<smx::warp_group<32>, 4, 3>, float>(limits);
    expect_exact<smx::resident<smx::block_group<96>, 8, 2>, smx::half>(limits);
    expect_exact<smx::compact<smx::block_group<64>, 8, 4>, smx::half>(limits);
    expect_exact<smx::chunked_online<smx::warp_group<32>, 8, 2>, smx::half>(limits);
    expect_exact<smx::chunked_online<smx::block_group<128>, 4, 2>, float>(limits);
}
TEST_F(sanitize_backward, clusters) {
    expect_exact<smx::resident<smx::cluster_group<64, 4>, 4, 2>, float>(limits);
    expect_exact<smx::compact<smx::cluster_group<64, 4>, 8, 5>, smx::bfloat16>(limits);
}

// launch_auto_backward at the ends of every kernel's rows.
template <class Y, class Case, class Choice = smx::every_kernel>
void expect_automatic(device::calling how = device::calling::directly) {
    for (int cols :
         {1,    16,   31,   32,   33,   63,   64,   65,   127,  128,  129,  255,  256,   257,   511,   512,   513,
          1000, 1024, 1025, 1537, 2048, 2049, 3071, 4096, 4097, 6145, 8192, 8193, 16384, 16385, 70001, 140001}) {
        if (cols < Choice::from || cols > Choice::to) continue;
        shape4 const shape{1, cols < 5000 ? 2 : 1, 3, cols};
        places at;
        at.y = at.dy = static_cast<std::size_t>(cols % 2);
        at.how = how;
        expect_gradients<device::automatic_among<Choice>, Case, Y>(shape, at);
        if (::testing::Test::HasFatalFailure()) return;
    }
}

TEST_F(backward, automatic_without_a_mask) {
    expect_automatic<float, none>();
    expect_automatic<smx::half, none>();
    expect_automatic<smx::bfloat16, none>();
}
TEST_F(backward, automatic_causal) {
    expect_automatic<smx::half, causal>();
    expect_automatic<float, causal, smx::for_columns<200, 4096>>();
}
TEST_F(backward, automatic_with_all_masks) { expect_automatic<smx::half, all_four, smx::for_columns<200, 4096>>(); }

// On GPUs that have less than this one; with its own limits last, so that nothing stays set as the lesser ones had it.
template <class Y, class Case>
void expect_within_limits(smx::device_limits const& own) {
    std::vector<smx::device_limits> all(std::begin(device::lesser_limits), std::end(device::lesser_limits));
    all.push_back(own);
    for (int cols : {1, 33, 129, 1000, 2049, 4097, 9001, 20000, 70001, 140001, 524288, 1300000}) {
        for (smx::device_limits const& most : all) {
            places at;
            at.most = &most;
            expect_gradients<automatic, Case, Y>({1, 1, cols < 100000 ? 3 : 1, cols}, at);
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST_F(backward, half_within_lesser_limits) {
    expect_within_limits<smx::half, none>(limits);
    expect_within_limits<smx::half, causal>(limits);
}
TEST_F(backward, bfloat16_within_lesser_limits) { expect_within_limits<smx::bfloat16, none>(limits); }
TEST_F(backward, float_within_lesser_limits) { expect_within_limits<float, none>(limits); }

// A kernel by its name has no other to take its place.
TEST_F(backward, a_cluster_is_refused_where_there_is_none) {
    if (limits.cluster_blocks == 1) GTEST_SKIP() << "this GPU has no clusters";
    device_array<float> y(2048), dy(2048), dx(2048);
    stream on;
    smx::extents const shape(1, 2048);
    smx::strides const step = smx::packed_strides(shape);
    smx::status const s = device::launch_backward_within<smx::resident<smx::cluster_group<64, 4>, 4, 2>>(
        {48 * 1024, false, 1, 0}, on.get(), smx::saved_probabilities(y.data(), shape, step),
        smx::incoming_gradients(dy.data(), step), smx::fixed_scale(0.375), smx::no_mask{},
        smx::gradients(dx.data(), step));
    EXPECT_EQ(s.code, smx::errc::device_limit);
    EXPECT_STREQ(s.argument, "blocks of a cluster");
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
    for (float one : dx.download()) ASSERT_TRUE(std::isnan(one));
}

// From the scores and their log-sum-exp, by the kernels of launch_auto: as from the probabilities, but for rounding.
template <class X, class Case>
void expect_recomputed(double tolerance) {
    using any_length = smx::chunked_online<smx::block_group<128>, 4, 2>;
    for (int cols : {1, 33, 64, 129, 1000, 2048, 5000, 20000}) {
        shape4 const shape{2, 2, 3, cols};
        smx::extents const extents(2, 2, 3, cols);
        material const m(shape, static_cast<unsigned long long>(cols));
        auto const count = static_cast<std::size_t>(12) * static_cast<std::size_t>(cols);
        auto const scores = support::make_scores<X>(support::pattern::half_hidden, count, cols, 3);
        support::random_stream random(5);
        std::vector<X> given(count);
        for (X& one : given) one = support::stored<X>::make(random.normal());
        device_array<X> x(count), dy(count), dx(count), again(count);
        device_array<float> y(count), sums(12);
        x.upload(scores);
        dy.upload(given);
        stream on;
        auto const in = smx::scores(x.data(), extents);
        auto const gradients = smx::incoming_gradients(dy.data());
        auto const mask = Case::mask(m);
        auto const factor = smx::fixed_scale(0.5);
        ASSERT_TRUE(smx::launch<any_length>(on.get(), in, factor, mask, smx::probabilities(y.data()),
                                            smx::log_sum_exp(sums.data())));
        ASSERT_TRUE(smx::launch_backward<any_length>(on.get(), smx::saved_probabilities(y.data(), extents), gradients,
                                                     factor, mask, smx::gradients(dx.data())));
        ASSERT_TRUE(smx::launch_auto_backward(on.get(), smx::recomputed_probabilities(in, sums.data()), gradients,
                                              factor, mask, smx::gradients(again.data())));
        ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
        std::vector<X> const want = dx.download(), got = again.download();
        for (std::size_t at = 0; at < count; ++at)
            ASSERT_NEAR(support::stored<X>::value(got[at]), support::stored<X>::value(want[at]), tolerance)
                << "element " << at << ", " << cols << " columns";
    }
}

TEST_F(backward, automatic_from_scores) {
    expect_recomputed<float, causal>(1e-5);
    expect_recomputed<smx::half, all_four>(2e-3);
}

// The very first launch of a kernel happens in a capture. No other test may use this kernel.
TEST_F(backward, is_captured_on_its_first_call) {
    int const rows = 5, cols = 600;
    std::vector<float> y(rows * cols), dy(rows * cols);
    for (std::size_t at = 0; at < y.size(); ++at) {
        y[at] = static_cast<float>(at % 7) / 2100.0f;
        dy[at] = static_cast<float>(at % 11) - 5.0f;
    }
    device_array<float> device_y(y.size()), device_dy(y.size()), device_dx(y.size());
    device_y.upload(y);
    device_dy.upload(dy);
    stream on;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(on.get(), cudaStreamCaptureModeGlobal), cudaSuccess);
    smx::status const s = smx::launch_backward<smx::resident<smx::block_group<160>, 4, 1>>(
        on.get(), smx::saved_probabilities(device_y.data(), {rows, cols}), smx::incoming_gradients(device_dy.data()),
        smx::fixed_scale(2), smx::no_mask{}, smx::gradients(device_dx.data()));
    ASSERT_EQ(cudaStreamEndCapture(on.get(), &graph), cudaSuccess);
    ASSERT_TRUE(s.ok()) << smx::sentence(s).text;
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    for (int turn = 0; turn < 2; ++turn) {
        device_dx.poison();
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        ASSERT_EQ(cudaGraphLaunch(executable, on.get()), cudaSuccess);
        ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
        std::vector<float> const dx = device_dx.download();
        for (int row = 0; row < rows; ++row) {
            auto const begin = static_cast<std::size_t>(row * cols);
            auto const want = support::gradient_reference(
                cols, [&](int k) { return static_cast<double>(y[begin + static_cast<std::size_t>(k)]); },
                [&](int k) { return static_cast<double>(dy[begin + static_cast<std::size_t>(k)]); }, 2.0,
                [](int) { return true; });
            ASSERT_EQ(support::difference_of_gradients<float>(
                          want, [&](int k) { return dx[begin + static_cast<std::size_t>(k)]; },
                          support::arithmetic::in_float),
                      "");
        }
    }
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

template <class Kernel, class Y>
void expect_captured(smx::device_limits const& limits) {
    if (Kernel::blocks > limits.cluster_blocks) return;
    places at;
    at.how = device::calling::captured;
    expect_gradients<Kernel, none, Y>({1, 2, 3, Kernel::value.columns()}, at);
}

// Each test in a process of its own, as ctest runs them: nothing has been launched before.
TEST_F(backward, every_kernel_is_captured_on_its_first_call) {
    expect_captured<smx::resident<smx::thread_group, 4, 4>, float>(limits);
    expect_captured<smx::resident<smx::warp_group<8>, 8, 2>, smx::half>(limits);
    expect_captured<smx::resident<smx::warp_group<32>, 4, 3>, float>(limits);
    expect_captured<smx::resident<smx::block_group<96>, 8, 2>, smx::half>(limits);
    expect_captured<smx::resident<smx::cluster_group<64, 4>, 4, 2>, float>(limits);
    expect_captured<smx::compact<smx::block_group<64>, 8, 4>, smx::half>(limits);
    expect_captured<smx::compact<smx::cluster_group<64, 4>, 8, 5>, smx::bfloat16>(limits);
    expect_captured<smx::chunked_online<smx::warp_group<32>, 8, 2>, smx::half>(limits);
    expect_captured<smx::chunked_online<smx::block_group<128>, 4, 2>, float>(limits);
}
TEST_F(backward, launch_auto_backward_is_captured_on_its_first_calls) {
    expect_automatic<float, none>(device::calling::captured);
    expect_automatic<smx::half, none>(device::calling::captured);
    expect_automatic<smx::bfloat16, none>(device::calling::captured);
    expect_automatic<smx::half, causal>(device::calling::captured);
}

// Threads that make the first calls of a process at the same moment, each on a stream of its own: the bits of one
// thread.
TEST_F(backward, first_calls_of_eight_threads_at_once) {
    constexpr int count = 8, rows = 3;
    constexpr int lengths[] = {33, 1000, 20000, 140001};
    std::size_t const most = rows * 140001;
    device_array<float> y(most), dy(most);
    y.upload(std::vector<float>(most, 0x1p-12f));
    dy.upload(support::make_scores<float>(support::pattern::mild, most, 1, 7));
    auto const launch = [&](cudaStream_t on, int cols, float* dx) {
        return smx::launch_auto_backward(on, smx::saved_probabilities<float>(y.data(), {rows, cols}),
                                         smx::incoming_gradients<float>(dy.data()), smx::fixed_scale(0.375),
                                         smx::no_mask{}, smx::gradients(dx));
    };
    std::vector<std::unique_ptr<device_array<float>>> dx;
    for (int i = 0; i < count * 4; ++i)
        dx.push_back(std::make_unique<device_array<float>>(static_cast<std::size_t>(rows * lengths[i % 4])));
    std::vector<smx::status> given(dx.size());
    device::at_once(count, [&](int thread, cudaStream_t on) {
        for (int turn = 0; turn < 4; ++turn) {
            auto const i = static_cast<std::size_t>(thread * 4 + (thread + turn) % 4);  // the same kernels, and others
            given[i] = launch(on, lengths[i % 4], dx[i]->data());
        }
    });
    stream on;
    for (std::size_t i = 0; i < dx.size(); ++i) {
        ASSERT_TRUE(given[i].ok()) << smx::sentence(given[i]).text;
        std::vector<float> const raced = dx[i]->download();
        dx[i]->poison();
        ASSERT_TRUE(launch(on.get(), lengths[i % 4], dx[i]->data()));
        ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
        std::vector<float> const alone = dx[i]->download();
        ASSERT_EQ(std::memcmp(raced.data(), alone.data(), raced.size() * sizeof(float)), 0) << "call " << i;
        for (float one : alone) ASSERT_FALSE(std::isnan(one)) << "call " << i;
    }
}

TEST_F(backward, an_error_from_before_is_neither_blamed_nor_cleared) {
    constexpr int rows = 3, cols = 200;
    device_array<float> y(rows * cols), dy(rows * cols), dx(rows * cols);
    y.upload(std::vector<float>(rows * cols, 0.005f));
    dy.upload(std::vector<float>(rows * cols, 1.0f));
    stream on;
    cudaError_t const before = device::fail_a_launch();
    ASSERT_NE(before, cudaSuccess);
    auto const in = smx::saved_probabilities<float>(y.data(), {rows, cols});
    auto const given = smx::incoming_gradients<float>(dy.data());
    auto const factor = smx::fixed_scale(0.375);
    auto const out = smx::gradients(dx.data());
    using kernel = smx::resident<smx::warp_group<32>, 4, 3>;
    smx::status const named = smx::launch_backward<kernel>(on.get(), in, given, factor, smx::no_mask{}, out);
    cudaError_t const after_named = cudaPeekAtLastError();
    smx::status const too_long = smx::launch_backward<kernel>(
        on.get(), smx::saved_probabilities<float>(y.data(), {1, 600}), given, factor, smx::no_mask{}, out);
    cudaError_t const after_too_long = cudaPeekAtLastError();
    smx::status const automatic_one = smx::launch_auto_backward(on.get(), in, given, factor, smx::no_mask{}, out);
    cudaError_t const after_automatic = cudaGetLastError();
    EXPECT_TRUE(named.ok()) << smx::sentence(named).text;
    EXPECT_EQ(after_named, before);
    EXPECT_EQ(too_long.code, smx::errc::too_large);
    EXPECT_EQ(after_too_long, before);
    EXPECT_TRUE(automatic_one.ok()) << smx::sentence(automatic_one).text;
    EXPECT_EQ(after_automatic, before);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
    for (float one : dx.download()) ASSERT_NEAR(one, 0.0f, 1e-6f);
}

// A stream whose capture has been spoilt refuses every launch.
TEST_F(backward, a_failed_launch_is_reported_by_its_own_call) {
    device_array<float> y(64), dy(64), dx(64);
    stream on;
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(on.get(), cudaStreamCaptureModeRelaxed), cudaSuccess);
    EXPECT_NE(cudaStreamSynchronize(on.get()), cudaSuccess);
    (void)cudaGetLastError();
    smx::status const s = smx::launch_auto_backward(on.get(), smx::saved_probabilities<float>(y.data(), {1, 64}),
                                                    smx::incoming_gradients<float>(dy.data()), smx::fixed_scale(0.375),
                                                    smx::no_mask{}, smx::gradients(dx.data()));
    cudaError_t const remembered = cudaPeekAtLastError();
    (void)cudaStreamEndCapture(on.get(), &graph);
    (void)cudaGetLastError();
    EXPECT_EQ(s.code, smx::errc::cuda_failed);
    EXPECT_NE(s.cuda_error, 0);
    EXPECT_EQ(remembered, cudaSuccess);
    for (float one : dx.download()) ASSERT_TRUE(std::isnan(one));
}

// The same row gives the same bits in any batch and at any place in it, and early launches change nothing.
TEST_F(backward, a_row_does_not_depend_on_its_batch) {
    int const rows = 300, cols = 1000;
    std::vector<float> y, dy;
    for (int row = 0; row < rows; ++row) {
        for (int k = 0; k < cols; ++k) {
            y.push_back(static_cast<float>(k % 13) / 6000.0f);
            dy.push_back(static_cast<float>(k % 17) * 0.3f - 2.0f);
        }
    }
    device_array<float> device_y(y.size()), device_dy(y.size()), device_dx(y.size());
    device_y.upload(y);
    device_dy.upload(dy);
    stream on;
    for (bool early : {false, true}) {
        device_dx.poison();
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        for (int turn = 0; turn < 2; ++turn) {
            ASSERT_TRUE(smx::launch_auto_backward<smx::batch_invariant<>>(
                early ? smx::programmatic(on.get()) : smx::launch_place(on.get()),
                smx::saved_probabilities(device_y.data(), {rows, cols}), smx::incoming_gradients(device_dy.data()),
                smx::inv_sqrt(64), smx::no_mask{}, smx::gradients(device_dx.data())));
        }
        ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
        std::vector<float> const dx = device_dx.download();
        for (std::size_t row = 1; row < static_cast<std::size_t>(rows); ++row)
            ASSERT_EQ(std::memcmp(&dx[row * 1000], dx.data(), 4000), 0) << "row " << row;
    }
}

// Nothing is launched or written, and no error is left behind.
TEST_F(backward, what_cannot_run_is_refused_by_name) {
    device_array<float> y(4096), dy(4096), dx(4096);
    stream on;
    auto const in = smx::saved_probabilities(y.data(), {4, 1024});
    smx::status const s = smx::launch_backward<smx::resident<smx::warp_group<32>, 4, 2>>(
        on.get(), in, smx::incoming_gradients(dy.data()), smx::fixed_scale(1), smx::no_mask{},
        smx::gradients(dx.data()));
    EXPECT_EQ(s.code, smx::errc::too_large);
    EXPECT_STREQ(s.argument, "keys");
    EXPECT_EQ(s.actual, 1024);
    smx::status const over_y = smx::launch_auto_backward(on.get(), in, smx::incoming_gradients(dy.data()),
                                                         smx::fixed_scale(1), smx::no_mask{}, smx::gradients(y.data()));
    EXPECT_EQ(over_y.code, smx::errc::overlap);
    EXPECT_STREQ(over_y.argument, "dx");
    smx::status const outside = smx::launch_auto_backward<smx::for_columns<1, 1000>>(
        on.get(), in, smx::incoming_gradients(dy.data()), smx::fixed_scale(1), smx::no_mask{},
        smx::gradients(dx.data()));
    EXPECT_EQ(outside.code, smx::errc::too_large);
    EXPECT_TRUE(smx::launch_auto_backward(on.get(), smx::saved_probabilities<float>(nullptr, {0, 8}),
                                          smx::incoming_gradients<float>(nullptr), smx::fixed_scale(1), smx::no_mask{},
                                          smx::gradients<smx::hidden::zeros, float>(nullptr)));
    ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    for (float one : dx.download()) ASSERT_TRUE(std::isnan(one));
}

}  // namespace
