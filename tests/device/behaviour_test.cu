// How a call behaves towards CUDA: capture, streams, errors, and bad arguments, each by its name.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "device/foreign_unit.cuh"
#include "device/second_unit.cuh"
#include "device/support.cuh"
#include "smx/smx.cuh"

namespace {

using device::device_array;
using device::stream;

// y of rows of floats with a factor and without a mask, in double.
std::vector<double> expected(std::vector<float> const& x, int cols, double factor) {
    std::vector<double> y(x.size());
    for (std::size_t row = 0; row < x.size(); row += static_cast<std::size_t>(cols)) {
        auto const at = [&](int k) { return factor * static_cast<double>(x[row + static_cast<std::size_t>(k)]); };
        double max = at(0), sum = 0;
        for (int k = 1; k < cols; ++k) max = std::fmax(max, at(k));
        for (int k = 0; k < cols; ++k) sum += std::exp(at(k) - max);
        for (int k = 0; k < cols; ++k) y[row + static_cast<std::size_t>(k)] = std::exp(at(k) - max) / sum;
    }
    return y;
}

std::vector<float> some_scores(std::size_t count, int turn) {
    std::vector<float> x(count);
    for (std::size_t at = 0; at < count; ++at)
        x[at] = static_cast<float>((at * 37 + static_cast<std::size_t>(turn) * 11) % 101) * 0.06f - 3.0f;
    return x;
}

void expect_softmax(std::vector<float> const& got, std::vector<float> const& x, int cols, double factor,
                    char const* what) {
    std::vector<double> const want = expected(x, cols, factor);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t at = 0; at < got.size(); ++at) {
        double const difference = std::fabs(static_cast<double>(got[at]) - want[at]);
        ASSERT_LE(difference, 1e-5 * want[at] + 1e-30)
            << what << ", row " << at / static_cast<std::size_t>(cols) << ", column "
            << at % static_cast<std::size_t>(cols) << " of " << cols << ": got " << got[at] << ", want " << want[at];
    }
}

class behaviour : public ::testing::Test {
protected:
    void SetUp() override {
        std::string const why = device::why_no_gpu();
        if (!why.empty()) GTEST_SKIP() << why;
        (void)cudaGetLastError();
    }
};
using published_faults_of_streams = behaviour;

// The very first launch of a kernel happens in a capture. No other test may use these kernels: their numbers of packs
// are theirs alone. `Launch` is called as launch(stream, x, y).
template <class Launch>
void first_call_in_a_capture(cudaStreamCaptureMode mode, int rows, int cols, double factor, Launch&& launch) {
    auto const count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
    stream on;
    device_array<float> x(count), y(count);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(on.get(), mode), cudaSuccess);
    smx::status const s = launch(on.get(), x.data(), y.data());
    ASSERT_EQ(cudaStreamEndCapture(on.get(), &graph), cudaSuccess);
    ASSERT_TRUE(s.ok()) << s.argument << ": " << s.requirement;
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    for (int turn = 0; turn < 3; ++turn) {
        std::vector<float> const scores = some_scores(count, turn);
        x.upload(scores);
        y.poison();
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        ASSERT_EQ(cudaGraphLaunch(executable, on.get()), cudaSuccess);
        ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
        expect_softmax(y.download(), scores, cols, factor, "replay");
    }
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

template <class Kernel>
void first_named_call_in_a_capture(cudaStreamCaptureMode mode, int cols) {
    first_call_in_a_capture(mode, 5, cols, 0.25, [&](cudaStream_t on, float const* x, float* y) {
        return smx::launch<Kernel>(on, smx::scores(x, {5, cols}), smx::fixed_scale(0.25), smx::no_mask{},
                                   smx::probabilities(y));
    });
}

TEST_F(behaviour, resident_is_captured_on_its_first_call) {
    first_named_call_in_a_capture<smx::resident<smx::warp_group<32>, 4, 5>>(cudaStreamCaptureModeGlobal, 640);
    first_named_call_in_a_capture<smx::resident<smx::block_group<160>, 4, 3>>(cudaStreamCaptureModeRelaxed, 1001);
}

TEST_F(behaviour, packed_is_captured_on_its_first_call) {
    int major = 0;
    ASSERT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
    if (major < 9) GTEST_SKIP() << "this GPU has no bulk copies";
    first_named_call_in_a_capture<smx::packed<smx::warp_group<8>, 4, 5, 96>>(cudaStreamCaptureModeGlobal, 157);
    first_named_call_in_a_capture<smx::packed<smx::warp_group<32>, 4, 13>>(cudaStreamCaptureModeGlobal, 1600);
}

// More shared memory than a kernel may use unasked: the attribute is set in the capture.
TEST_F(behaviour, staged_is_captured_on_its_first_call) {
    first_named_call_in_a_capture<smx::chunked_staged<smx::block_group<160>, 4, 5>>(cudaStreamCaptureModeGlobal, 40);
    first_named_call_in_a_capture<smx::chunked_staged<smx::block_group<160>, 4, 7>>(cudaStreamCaptureModeGlobal, 20000);
    first_named_call_in_a_capture<smx::chunked_staged<smx::block_group<192>, 4, 7>>(cudaStreamCaptureModeRelaxed,
                                                                                    20000);
}

TEST_F(behaviour, online_is_captured_on_its_first_call) {
    first_named_call_in_a_capture<smx::chunked_online<smx::block_group<160>, 4, 5>>(cudaStreamCaptureModeGlobal, 70001);
}

// Clusters of 16 blocks: the attribute is set in the capture.
TEST_F(behaviour, a_cluster_is_captured_on_its_first_call) {
    int major = 0;
    ASSERT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
    if (smx::cluster_blocks_of(major) < 16) GTEST_SKIP() << "this GPU has no clusters of 16 blocks";
    first_named_call_in_a_capture<smx::resident<smx::cluster_group<160, 4>, 4, 3>>(cudaStreamCaptureModeGlobal, 7001);
    first_named_call_in_a_capture<smx::resident<smx::cluster_group<160, 16>, 4, 3>>(cudaStreamCaptureModeGlobal, 30001);
    first_named_call_in_a_capture<smx::resident<smx::cluster_group<192, 16>, 4, 3>>(cudaStreamCaptureModeRelaxed,
                                                                                    36864);
}

// y[i] = x[i], by one block that takes its time, and lets the next kernel start at once.
__global__ void copy_slowly(float const* x, float* y, int count) {
    smx::ptx::start_next_kernel();
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
        if (i % 4096 == 0) __nanosleep(20000);
        y[i] = x[i];
    }
}

// Each call reads what the one before has written, and writes what the one before has read: by every kind of kernel.
template <class Launch>
void expect_a_chain_in_order(int rows, int cols, Launch const& launch) {
    auto const count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
    stream on;
    device_array<float> x(count), a(count), b(count);
    std::vector<float> const scores = some_scores(count, 3);
    x.upload(scores);
    for (bool captured : {false, true}) {
        a.poison();
        b.poison();
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        cudaGraph_t graph = nullptr;
        if (captured) ASSERT_EQ(cudaStreamBeginCapture(on.get(), cudaStreamCaptureModeGlobal), cudaSuccess);
        copy_slowly<<<1, 256, 0, on.get()>>>(x.data(), a.data(), static_cast<int>(count));
        for (int turn = 0; turn < 3; ++turn) {
            smx::status s = launch(smx::programmatic(on.get()), a.data(), b.data());
            ASSERT_TRUE(s.ok()) << s.argument << ": " << s.requirement;
            if (turn == 2) break;
            // The next softmax reads the scores again, which are copied over its input while it may have started.
            copy_slowly<<<1, 256, 0, on.get()>>>(x.data(), a.data(), static_cast<int>(count));
            s = launch(smx::programmatic(on.get()), a.data(), a.data());
            ASSERT_TRUE(s.ok()) << s.argument << ": " << s.requirement;
            copy_slowly<<<1, 256, 0, on.get()>>>(x.data(), a.data(), static_cast<int>(count));
        }
        if (captured) {
            cudaGraphExec_t executable = nullptr;
            ASSERT_EQ(cudaStreamEndCapture(on.get(), &graph), cudaSuccess);
            ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
            ASSERT_EQ(cudaGraphLaunch(executable, on.get()), cudaSuccess);
            ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
            ASSERT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
            ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
        }
        ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
        expect_softmax(b.download(), scores, cols, 0.25, captured ? "captured" : "on the stream");
    }
}

template <class Kernel>
void expect_named_in_order(int rows, int cols) {
    expect_a_chain_in_order(rows, cols, [&](smx::launch_place on, float const* x, float* y) {
        return smx::launch<Kernel>(on, smx::scores(x, {rows, cols}), smx::fixed_scale(0.25), smx::no_mask{},
                                   smx::probabilities(y));
    });
}

TEST_F(behaviour, programmatic_calls_keep_their_order) {
    expect_named_in_order<smx::resident<smx::warp_group<8>, 4, 2>>(1000, 61);
    expect_named_in_order<smx::resident<smx::block_group<160>, 4, 3>>(50, 1900);
    expect_named_in_order<smx::chunked_staged<smx::block_group<160>, 4, 5>>(10, 9000);
    expect_named_in_order<smx::chunked_online<smx::block_group<160>, 4, 5>>(10, 9000);
    for (int cols : {33, 128, 700, 5000, 20000, 45000}) {
        expect_a_chain_in_order(20, cols, [&](smx::launch_place on, float const* x, float* y) {
            return smx::launch_auto(on, smx::scores(x, {20, cols}), smx::fixed_scale(0.25), smx::no_mask{},
                                    smx::probabilities(y));
        });
    }
}

// What a call reads beside its scores.
struct late_inputs {
    float *x, *scale;
    int* length;
    unsigned char* flags;
};

// Writes all of them after a while, by one block that lets the next kernel start at once.
__global__ void bring_slowly(late_inputs to, float const* x, int count, int cols, float scale, int length) {
    smx::ptx::start_next_kernel();
    for (int nap = 0; nap < 20; ++nap) __nanosleep(20000);
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) to.x[i] = x[i];
    for (int k = static_cast<int>(threadIdx.x); k < cols; k += static_cast<int>(blockDim.x)) to.flags[k] = k % 3 != 1;
    if (threadIdx.x == 0) {
        *to.scale = scale;
        *to.length = length;
    }
}

template <class Launch>
void expect_late_inputs(int rows, int cols, Launch const& launch) {
    auto const count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
    int const length = cols - 2;
    stream on;
    device_array<float> source(count), x(count), y(count), scale(1);
    device_array<int> lengths(1);
    device_array<unsigned char> flags(static_cast<std::size_t>(cols));
    std::vector<float> const scores = some_scores(count, 5);
    source.upload(scores);
    lengths.upload({0});
    late_inputs const late{x.data(), scale.data(), lengths.data(), flags.data()};
    bring_slowly<<<1, 256, 0, on.get()>>>(late, source.data(), static_cast<int>(count), cols, 0.5f, length);
    smx::status const s = launch(smx::programmatic(on.get()), late, y.data());
    ASSERT_TRUE(s.ok()) << s.argument << ": " << s.requirement;
    ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
    std::vector<float> const got = y.download();
    for (std::size_t row = 0; row < count; row += static_cast<std::size_t>(cols)) {
        std::vector<float> shown, shown_scores;
        for (int k = 0; k < cols; ++k) {
            std::size_t const at = row + static_cast<std::size_t>(k);
            if (k < length && k % 3 != 1) {
                shown.push_back(got[at]);
                shown_scores.push_back(scores[at]);
            } else {
                ASSERT_EQ(got[at], 0.0f) << "row " << row / static_cast<std::size_t>(cols) << ", column " << k;
            }
        }
        expect_softmax(shown, shown_scores, static_cast<int>(shown.size()), 0.5, "visible part");
    }
}

template <class Kernel>
void expect_named_late_inputs(int rows, int cols) {
    expect_late_inputs(rows, cols, [&](smx::launch_place on, late_inputs const& in, float* y) {
        return smx::launch<Kernel>(
            on, smx::scores<float>(in.x, {rows, cols}), smx::device_scale<float>(in.scale),
            smx::both(smx::key_lengths<int>(in.length), smx::mask_tensor<unsigned char>(in.flags, {0, 0, 0, 1})),
            smx::probabilities(y));
    });
}

// Scale, lengths and mask are as late as the scores (B100).
TEST_F(behaviour, programmatic_calls_wait_for_all_that_they_read) {
    expect_named_late_inputs<smx::resident<smx::warp_group<8>, 4, 2>>(100, 61);
    expect_named_late_inputs<smx::resident<smx::block_group<160>, 4, 3>>(20, 1900);
    expect_named_late_inputs<smx::chunked_staged<smx::block_group<160>, 4, 5>>(5, 9000);
    expect_named_late_inputs<smx::chunked_online<smx::block_group<160>, 4, 5>>(5, 9000);
}

TEST_F(behaviour, launch_auto_is_captured_on_its_first_call) {
    for (int cols : {33, 700, 5000, 20000, 45000, 70000, 140000}) {
        first_call_in_a_capture(cudaStreamCaptureModeGlobal, 3, cols, 1.0 / 8,
                                [&](cudaStream_t on, float const* x, float* y) {
                                    return smx::launch_auto(on, smx::scores(x, {3, cols}), smx::inv_sqrt(64),
                                                            smx::no_mask{}, smx::probabilities(y));
                                });
    }
}

// Scale, lengths and mask are read when the graph runs, not when it is captured.
TEST_F(behaviour, a_replay_reads_what_is_there_then) {
    constexpr int rows = 4, cols = 96;
    stream on;
    device_array<float> x(rows * cols), y(rows * cols), scale(1);
    device_array<int> lengths(1);
    scale.upload({5.0f});
    lengths.upload({cols});
    x.upload(some_scores(rows * cols, 0));
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(on.get(), cudaStreamCaptureModeGlobal), cudaSuccess);
    smx::status const s = smx::launch<smx::resident<smx::warp_group<32>, 4, 3>>(
        on.get(), smx::scores<float>(x.data(), {rows, cols}), smx::device_scale<float>(scale.data()),
        smx::key_lengths<int>(lengths.data()), smx::probabilities(y.data()));
    ASSERT_EQ(cudaStreamEndCapture(on.get(), &graph), cudaSuccess);
    ASSERT_TRUE(s.ok()) << s.argument;
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    for (int length : {96, 40, 1}) {
        float const factor = 0.5f + static_cast<float>(length) / 64;
        scale.upload({factor});
        lengths.upload({length});
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        ASSERT_EQ(cudaGraphLaunch(executable, on.get()), cudaSuccess);
        ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
        std::vector<float> const all = y.download(), scores = some_scores(rows * cols, 0);
        for (std::size_t row = 0; row < rows; ++row) {
            auto const part = [&](std::vector<float> const& values) {
                auto const first = values.begin() + static_cast<std::ptrdiff_t>(row * cols);
                return std::vector<float>(first, first + length);
            };
            expect_softmax(part(all), part(scores), length, static_cast<double>(factor), "visible part");
            for (std::size_t k = static_cast<std::size_t>(length); k < cols; ++k) ASSERT_EQ(all[row * cols + k], 0.0f);
        }
    }
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

using short_kernel = smx::resident<smx::warp_group<32>, 4, 2>;  // 256 columns

smx::status launch_short(cudaStream_t on, float const* x, float* y, int rows, int cols) {
    return smx::launch<short_kernel>(on, smx::scores(x, {rows, cols}), smx::fixed_scale(0.25), smx::no_mask{},
                                     smx::probabilities(y));
}

// Provokes an error that CUDA remembers and that breaks nothing.
cudaError_t choose_no_device() {
    (void)cudaSetDevice(12345);
    return cudaPeekAtLastError();
}

void expect_no_blame(cudaError_t (*leave_an_error)()) {
    constexpr int rows = 3, cols = 200;
    stream on;
    device_array<float> x(rows * cols), y(rows * cols);
    x.upload(some_scores(rows * cols, 0));
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);

    cudaError_t const before = leave_an_error();
    ASSERT_NE(before, cudaSuccess);
    smx::device_limits limits;
    smx::status const found = smx::find_limits(limits);
    cudaError_t const after_found = cudaPeekAtLastError();
    smx::status const good = launch_short(on.get(), x.data(), y.data(), rows, cols);
    cudaError_t const after_good = cudaPeekAtLastError();
    smx::status const too_long = launch_short(on.get(), x.data(), y.data(), 1, 300);
    cudaError_t const after_too_long = cudaPeekAtLastError();
    smx::status const automatic = smx::launch_auto(on.get(), smx::scores<float>(x.data(), {rows, cols}),
                                                   smx::inv_sqrt(64), smx::no_mask{}, smx::probabilities(y.data()));
    cudaError_t const after_automatic = cudaGetLastError();
    EXPECT_TRUE(found.ok()) << found.argument << ": " << found.requirement;
    EXPECT_EQ(after_found, before);
    EXPECT_TRUE(good.ok()) << good.argument << ": " << good.requirement;
    EXPECT_EQ(after_good, before);
    EXPECT_EQ(too_long.code, smx::errc::too_large);
    EXPECT_EQ(after_too_long, before);
    EXPECT_TRUE(automatic.ok()) << automatic.argument << ": " << automatic.requirement;
    EXPECT_EQ(after_automatic, before);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    expect_softmax(y.download(), some_scores(rows * cols, 0), cols, 1.0 / 8, "after an error of another");
}

TEST_F(behaviour, an_error_from_before_is_neither_blamed_nor_cleared) {
    expect_no_blame(choose_no_device);
    expect_no_blame(device::fail_a_launch);
}

TEST_F(behaviour, a_failed_launch_is_reported_by_its_own_call) {
    constexpr int cols = 64;
    stream on;
    device_array<float> x(cols), y(cols);
    x.upload(some_scores(cols, 0));
    y.poison();
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);

    // A stream whose capture has been spoilt refuses every launch.
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(on.get(), cudaStreamCaptureModeRelaxed), cudaSuccess);
    EXPECT_NE(cudaStreamSynchronize(on.get()), cudaSuccess);
    (void)cudaGetLastError();
    smx::status const s = launch_short(on.get(), x.data(), y.data(), 1, cols);
    cudaError_t const remembered = cudaPeekAtLastError();
    // One that somebody else has left stays: CUDA remembers one error, its last.
    cudaError_t const before = device::fail_a_launch();
    smx::status const after_another = launch_short(on.get(), x.data(), y.data(), 1, cols);
    cudaError_t const still_remembered = cudaPeekAtLastError();
    (void)cudaStreamEndCapture(on.get(), &graph);
    (void)cudaGetLastError();
    EXPECT_EQ(s.code, smx::errc::cuda_failed);
    EXPECT_NE(s.cuda_error, 0);
    EXPECT_EQ(remembered, cudaSuccess);
    EXPECT_EQ(after_another.code, smx::errc::cuda_failed);
    EXPECT_EQ(after_another.cuda_error, s.cuda_error);
    EXPECT_NE(before, cudaSuccess);
    EXPECT_NE(still_remembered, cudaSuccess);
    char sentence[256];
    smx::message(s, sentence, sizeof sentence);
    EXPECT_NE(std::string(sentence).find("launch"), std::string::npos) << sentence;
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (float value : y.download()) ASSERT_TRUE(std::isnan(value));

    // And the next call is none the worse.
    stream other;
    ASSERT_TRUE(launch_short(other.get(), x.data(), y.data(), 1, cols).ok());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    expect_softmax(y.download(), some_scores(cols, 0), cols, 0.25, "after a failed launch");
}

// Two .cu files with the same kernel have two kernels: what is set up for one is not set up for the other.
TEST_F(behaviour, a_kernel_of_two_units_has_its_shared_memory_in_both) {
    constexpr int rows = 2, cols = 20000;
    stream on;
    device_array<float> x(rows * cols), y(rows * cols);
    std::vector<float> const scores = some_scores(rows * cols, 0);
    x.upload(scores);
    for (auto launch : {device::launch_shared_kernel, device::launch_in_second_unit, device::launch_shared_kernel}) {
        y.poison();
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        smx::status const s = launch(on.get(), x.data(), y.data(), rows, cols);
        ASSERT_TRUE(s.ok()) << s.argument << ": " << s.requirement;
        ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
        expect_softmax(y.download(), scores, cols, 0.25, "one of two units");
    }
}

// A program without code for the GPU.
TEST_F(behaviour, kernels_compiled_for_another_gpu_are_a_failure_by_name) {
    constexpr int rows = 3, cols = 64;
    int major = 0, minor = 0;
    ASSERT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
    ASSERT_EQ(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0), cudaSuccess);
    if (major * 100 + minor * 10 == device::foreign_capability) GTEST_SKIP() << "this is the other GPU";
    stream on;
    device_array<float> x(rows * cols), y(rows * cols);
    std::vector<float> const scores = some_scores(rows * cols, 0);
    x.upload(scores);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (device::foreign_call const& call : device::foreign_calls) {
        for (int turn = 0; turn < 2; ++turn) {
            smx::status const s = call.run(on.get(), x.data(), y.data(), rows);
            EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << call.name;
            EXPECT_FALSE(s.ok()) << call.name;
            EXPECT_STRNE(s.argument, "") << call.name;
            if (s.code != smx::errc::device_limit) {  // of a GPU without clusters or bulk copies
                EXPECT_EQ(s.code, smx::errc::cuda_failed) << call.name;
                EXPECT_NE(s.cuda_error, 0) << call.name;
            }
        }
    }
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (float value : y.download()) ASSERT_TRUE(std::isnan(value));

    // Kernels that have code for it are none the worse.
    ASSERT_TRUE(launch_short(on.get(), x.data(), y.data(), rows, cols).ok());
    ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
    expect_softmax(y.download(), scores, cols, 0.25, "after kernels for another GPU");
}

__global__ void write_after_a_while(float* to, float const* from, int count, long long cycles) {
    long long const start = clock64();
    while (clock64() - start < cycles) {
    }
    for (int at = static_cast<int>(threadIdx.x); at < count; at += static_cast<int>(blockDim.x)) to[at] = from[at];
}

// The scores are written late, on the stream that is given: a launch on the default stream would read what was there
// before.
TEST_F(published_faults_of_streams, launch_on_the_default_stream) {
    constexpr int rows = 7, cols = 100;
    for (bool automatic : {false, true}) {
        stream on;
        device_array<float> x(rows * cols), source(rows * cols), y(rows * cols);
        std::vector<float> const scores = some_scores(rows * cols, 3);
        source.upload(scores);
        x.upload(std::vector<float>(rows * cols, 0.0f));
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        write_after_a_while<<<1, 128, 0, on.get()>>>(x.data(), source.data(), rows * cols, 40'000'000);
        ASSERT_EQ(cudaGetLastError(), cudaSuccess);
        smx::status const s = automatic
                                  ? smx::launch_auto(on.get(), smx::scores<float>(x.data(), {rows, cols}),
                                                     smx::inv_sqrt(64), smx::no_mask{}, smx::probabilities(y.data()))
                                  : launch_short(on.get(), x.data(), y.data(), rows, cols);
        ASSERT_TRUE(s.ok()) << s.argument;
        EXPECT_EQ(cudaStreamQuery(on.get()), cudaErrorNotReady)
            << "the launch waited, or the delay was too short to show anything";
        (void)cudaGetLastError();
        ASSERT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
        expect_softmax(y.download(), scores, cols, automatic ? 1.0 / 8 : 0.25, "scores that arrive late");
    }
}

// Bad arguments are found before CUDA is asked anything, so these run without a GPU too.
struct arguments {
    smx::extents shape{2, 3, 4, 8};
    float numbers[256] = {};
    float sums[64];
    int lengths[2] = {8, 8};
    unsigned char flags[256] = {};
    float const* x = numbers;
    float* y;
    smx::strides x_step = smx::packed_strides(smx::extents{2, 3, 4, 8}), y_step = x_step, mask_step = x_step,
                 bias_step = x_step;
    float const* scale;
    int const* lengths_at = lengths;
    unsigned char const* flags_at = flags;
    float const* bias = numbers;
    double* log_sum_exp;
    double room[64];
    float results[256];

    arguments() {
        y = results;
        scale = numbers;
        log_sum_exp = room;
        for (float& result : results) result = -7.0f;
        for (double& sum : room) sum = -7.0;
    }

    auto masks() const {
        return smx::both(smx::key_lengths(lengths_at), smx::mask_tensor(flags_at, mask_step),
                         smx::bias_tensor(bias, bias_step));
    }
    smx::status named() const {
        return smx::launch<smx::resident<smx::warp_group<4>, 4, 1>>(
            nullptr, smx::scores(x, shape, x_step), smx::device_scale<float>(scale), masks(),
            smx::probabilities(y, y_step), smx::log_sum_exp(log_sum_exp));
    }
    bool untouched() const {
        for (float result : results) {
            if (result != -7.0f) return false;
        }
        for (double sum : room) {
            if (sum != -7.0) return false;
        }
        return true;
    }
};

template <class Change>
void expect_refused(char const* argument, smx::errc code, Change&& change) {
    arguments a;
    change(a);
    smx::status const s = a.named();
    EXPECT_EQ(s.code, code) << "for a bad " << argument;
    EXPECT_STREQ(s.argument, argument);
    EXPECT_STRNE(s.requirement, "");
    EXPECT_TRUE(a.untouched()) << "for a bad " << argument;
}

template <class T>
T* misaligned(T* pointer) {
    return reinterpret_cast<T*>(reinterpret_cast<std::size_t>(pointer) + 1);
}

TEST(refusal, bad_arguments_are_named) {
    using smx::errc;
    expect_refused("x", errc::null_pointer, [](arguments& a) { a.x = nullptr; });
    expect_refused("x", errc::misaligned, [](arguments& a) { a.x = misaligned(a.x); });
    expect_refused("y", errc::null_pointer, [](arguments& a) { a.y = nullptr; });
    expect_refused("y", errc::misaligned, [](arguments& a) { a.y = misaligned(a.y); });
    expect_refused("scale", errc::null_pointer, [](arguments& a) { a.scale = nullptr; });
    expect_refused("scale", errc::misaligned, [](arguments& a) { a.scale = misaligned(a.scale); });
    expect_refused("lengths", errc::null_pointer, [](arguments& a) { a.lengths_at = nullptr; });
    expect_refused("lengths", errc::misaligned, [](arguments& a) { a.lengths_at = misaligned(a.lengths_at); });
    expect_refused("mask", errc::null_pointer, [](arguments& a) { a.flags_at = nullptr; });
    expect_refused("bias", errc::null_pointer, [](arguments& a) { a.bias = nullptr; });
    expect_refused("bias", errc::misaligned, [](arguments& a) { a.bias = misaligned(a.bias); });
    expect_refused("log_sum_exp", errc::null_pointer, [](arguments& a) { a.log_sum_exp = nullptr; });
    expect_refused("x key stride", errc::bad_stride, [](arguments& a) { a.x_step.key = 2; });
    expect_refused("y key stride", errc::bad_stride, [](arguments& a) { a.y_step.key = 2; });
    expect_refused("mask key stride", errc::bad_stride, [](arguments& a) { a.mask_step.key = 2; });
    expect_refused("bias key stride", errc::bad_stride, [](arguments& a) { a.bias_step.key = -1; });
    expect_refused("y strides", errc::bad_stride, [](arguments& a) { a.y_step.query = 7; });
    expect_refused("y strides", errc::bad_stride, [](arguments& a) { a.y_step.head = 0; });
    expect_refused("x strides", errc::bad_stride, [](arguments& a) { a.x_step.batch = 1LL << 62; });
    expect_refused("y", errc::overlap, [](arguments& a) { a.y = const_cast<float*>(a.x) + 8; });
    expect_refused("batch", errc::bad_shape, [](arguments& a) { a.shape.batch = -1; });
    expect_refused("heads", errc::bad_shape, [](arguments& a) { a.shape.heads = -2; });
    expect_refused("queries", errc::bad_shape, [](arguments& a) { a.shape.queries = -3; });
    expect_refused("keys", errc::bad_shape, [](arguments& a) { a.shape.keys = -4; });
    expect_refused("keys", errc::too_large, [](arguments& a) { a.shape.keys = 1LL << 31; });
    expect_refused("batch * heads * queries", errc::too_large,
                   [](arguments& a) { a.shape.batch = a.shape.heads = 1LL << 40; });
}

TEST(refusal, where_there_is_no_gpu_the_status_says_so) {
    if (device::why_no_gpu().empty()) GTEST_SKIP() << "there is a GPU";
    arguments a;
    cudaError_t const before = cudaPeekAtLastError();  // without a driver, never success
    smx::device_limits limits;
    smx::extents const shape(4, 64);
    for (smx::status const& s :
         {a.named(),
          smx::launch_auto(nullptr, smx::scores<float>(a.x, shape), smx::inv_sqrt(64), smx::no_mask{},
                           smx::probabilities(a.y)),
          smx::launch_backward<short_kernel>(nullptr, smx::saved_probabilities<float>(a.numbers, shape),
                                             smx::incoming_gradients<float>(a.numbers), smx::fixed_scale(0.25),
                                             smx::key_lengths<int>(a.lengths), smx::gradients(a.results)),
          smx::find_limits(limits)}) {
        EXPECT_EQ(s.code, smx::errc::cuda_failed);
        EXPECT_NE(s.cuda_error, 0);
        EXPECT_STRNE(s.argument, "");
    }
    EXPECT_TRUE(a.untouched());
    EXPECT_EQ(cudaPeekAtLastError(), before);
}

// The same where there is one, by a process that is shown none.
TEST(refusal, where_all_gpus_are_hidden_the_status_says_so) {
    std::string const why = device::why_no_gpu();
    if (!why.empty()) GTEST_SKIP() << why << ", and none to hide";
    char program[4096];
    ssize_t const length = readlink("/proc/self/exe", program, sizeof program - 1);
    ASSERT_GT(length, 0);
    program[length] = '\0';
    std::string const command =
        "CUDA_VISIBLE_DEVICES=-1 '" + std::string(program) +
        "' --gtest_filter=refusal.where_there_is_no_gpu_the_status_says_so | grep -q 'PASSED.* 1 test'";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

// Nothing to do is done without a GPU, and without pointers.
TEST(refusal, calls_without_elements_are_right) {
    arguments a;
    for (smx::extents const& shape :
         {smx::extents(0, 3, 4, 8), smx::extents(2, 0, 4, 8), smx::extents(2, 3, 0, 8), smx::extents(0, 0, 0, 0)}) {
        a.shape = shape;
        a.x = nullptr;
        a.y = nullptr;
        a.scale = nullptr;
        a.flags_at = nullptr;
        a.log_sum_exp = nullptr;
        smx::status const s = a.named();
        EXPECT_TRUE(s.ok()) << s.argument << ": " << s.requirement;
    }
    float* const none = nullptr;
    smx::status const s = smx::launch<short_kernel>(nullptr, smx::scores<float>(none, {5, 0}), smx::fixed_scale(0.25),
                                                    smx::no_mask{}, smx::probabilities(none));
    EXPECT_TRUE(s.ok()) << s.argument;
    for (smx::extents const& shape : {smx::extents(0, 2), smx::extents(5, 0), smx::extents(0, 0)}) {
        smx::status const backward = smx::launch_backward<short_kernel>(
            nullptr, smx::saved_probabilities<float>(none, shape), smx::incoming_gradients<float>(none),
            smx::fixed_scale(0.25), smx::key_lengths<int>(nullptr), smx::gradients(none));
        EXPECT_TRUE(backward.ok()) << backward.argument;
    }
}

}  // namespace
