// What tests of calls on a GPU have in common: they are left out where there is none, and call a kernel by its name or
// let the library choose.
#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "device/limits.cuh"
#include "device/support.cuh"
#include "smx/smx.cuh"

namespace device {

class gpu_test : public ::testing::Test {
protected:
    void SetUp() override {
        std::string const why = why_no_gpu();
        if (!why.empty()) GTEST_SKIP() << why;
        (void)cudaGetLastError();
        ASSERT_TRUE(smx::find_limits(limits));
    }
    smx::device_limits limits;
};

// In place of a kernel: let the library choose, among all or, where a test has no time to compile them, among some.
template <class Choice>
struct automatic_among {
    using choice = Choice;
};
using automatic = automatic_among<smx::every_kernel>;
template <class Kernel>
inline constexpr bool is_automatic = false;
template <class Choice>
inline constexpr bool is_automatic<automatic_among<Choice>> = true;

template <class Kernel, class... Arguments>
smx::status launch_as(Arguments const&... arguments) {
    if constexpr (is_automatic<Kernel>) {
        return smx::launch_auto<typename Kernel::choice>(arguments...);
    } else {
        return smx::launch<Kernel>(arguments...);
    }
}
template <class Kernel, class... Arguments>
smx::status launch_backward_as(Arguments const&... arguments) {
    if constexpr (is_automatic<Kernel>) {
        return smx::launch_auto_backward<typename Kernel::choice>(arguments...);
    } else {
        return smx::launch_backward<Kernel>(arguments...);
    }
}

// How a test calls: on the stream, or as a graph that is recorded once and replayed, the second time with other inputs.
enum class calling { directly, captured };

// Calls for each turn: prepare(turn) writes the inputs and poisons the outputs, launch() gives a status, compare(turn)
// finds what is wrong.
template <class Prepare, class Launch, class Compare>
void run_turns(calling how, cudaStream_t on, Prepare const& prepare, Launch const& launch, Compare const& compare) {
    std::optional<graph> recorded;
    smx::status s;
    for (unsigned long long turn = 0; turn < (how == calling::captured ? 2 : 1); ++turn) {
        prepare(turn);
        if (how == calling::directly) {
            s = launch();
        } else {
            if (turn == 0) recorded.emplace(on, [&] { s = launch(); });
            recorded->replay();
        }
        ASSERT_TRUE(s.ok()) << smx::sentence(s).text;
        ASSERT_EQ(cudaStreamSynchronize(on), cudaSuccess);
        compare(turn);
        if (::testing::Test::HasFatalFailure()) return;
    }
}

// act(thread, stream) by so many threads from the same moment on, each with a stream of its own.
template <class Act>
void at_once(int count, Act const& act) {
    std::atomic<int> waiting{count};
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t) {
        threads.emplace_back([&, t] {
            stream const on;
            --waiting;
            while (waiting.load() > 0) {
            }
            act(t, on.get());
            EXPECT_EQ(cudaStreamSynchronize(on.get()), cudaSuccess);
        });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace device
