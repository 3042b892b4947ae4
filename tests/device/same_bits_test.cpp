// The same row gives the same bits: in every run, in every batch, beside any other rows, on every stream and thread.
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "device/suite.hpp"

namespace {

using device::family;
using device::int64;
using device::problem;
using device::runner;

double score_of(int64 row, int k) {
    support::random_stream random(static_cast<unsigned long long>(row) * 1000003ULL +
                                  static_cast<unsigned long long>(k));
    return 2.0 * random.normal();
}

// Rows that begin at the same address modulo 16 bytes, and a kernel that is told its rows alone.
SMX_DEVICE_TEST(same_bits, alone_and_in_a_batch) {
    for (runner const& kernel : device::kernels_of(where)) {
        bool const absent =
            kernel.masks == family::none || kernel.masks == family::structured || kernel.masks == family::composed;
        if (!absent || kernel.kind == runner::automatic || kernel.factor != device::factor_type::any) continue;
        for (int64 cols : {16, 208, 2064, 20016, 100000}) {
            if (cols > 20016 && kernel.kind == runner::named && kernel.policy.blocks == 1) continue;
            if (!device::can_take(kernel, cols, where)) continue;
            problem batch;
            batch.shape = cols > 4096 ? smx::extents(2, 1, 3, cols) : smx::extents(3, 2, 7, cols);
            batch.factor = 0.3;
            smx::extents const shape = batch.shape;
            batch.score = [=](int64 b, int64 h, int64 q, int k) {
                return score_of((b * shape.heads + h) * shape.queries + q, k);
            };
            device::execution all(batch, device::at(where, kernel), where);
            ASSERT_EQ(all.run(), "") << device::name_of(kernel);
            for (int64 index : {int64{0}, int64{1}, shape.batch * shape.heads * shape.queries - 1}) {
                problem single = batch;
                single.shape = {1, 1, 1, cols};
                single.score = [=](int64, int64, int64, int k) { return score_of(index, k); };
                device::execution one(single, device::at(where, kernel), where);
                ASSERT_EQ(one.run(), "") << device::name_of(kernel);
                int64 const q = index % shape.queries, h = index / shape.queries % shape.heads,
                            b = index / shape.queries / shape.heads;
                ASSERT_TRUE(one.row(0, 0, 0) == all.row(b, h, q))
                    << device::name_of(kernel) << ", row " << index << " of " << device::in_words(batch);
            }
        }
    }
}

// A race shows as a run that differs.
SMX_DEVICE_TEST(same_bits, in_two_hundred_runs) {
    support::random_stream random(90);
    for (runner const& kernel : device::kernels_of(where)) {
        int64 const longest = device::longest_row(kernel, where);
        if (longest == 0) continue;
        int64 const chunk = kernel.kind == runner::named ? kernel.policy.columns() : 3000;
        // Of a cluster, so many that each block has its share.
        int64 const most = kernel.kind == runner::named && kernel.policy.blocks > 1 ? 40000 : 6000;
        int const cols = static_cast<int>(std::min(longest, std::min<int64>(chunk + 7, most)));
        problem p = device::random_problem(kernel, cols, random);
        p.in_place = false;
        p.shape = smx::extents(1, 2, cols > 1000 ? 8 : 40, cols);
        p.x_step = p.y_step = {};
        auto const masks = device::masks_of(kernel.masks, p.shape);
        p.masks = masks[static_cast<std::size_t>(random.below(static_cast<int>(masks.size())))];
        device::execution one(p, device::at(where, kernel), where);
        ASSERT_EQ(one.run(), "") << device::name_of(kernel);
        ASSERT_EQ(one.difference(), "") << device::name_of(kernel) << "\n  " << device::in_words(p);
        auto const first = one.everything();
        int const runs = where.is_gpu() ? 200 : 2;
        for (int run = 0; run < runs; ++run) {
            ASSERT_TRUE(one.launch().ok());
            // Not every run is looked at: those that are follow others without a pause.
            if (run % 10 != 9 && run != 0) continue;
            ASSERT_EQ(one.wait_and_download(), "");
            ASSERT_TRUE(one.everything() == first)
                << device::name_of(kernel) << ", run " << run << " of " << device::in_words(p);
        }
    }
}

// Threads with a stream each, all kernels in flight at once.
SMX_DEVICE_TEST(same_bits, on_several_streams_and_threads) {
    constexpr int count = 8;
    std::string wrong[count];
    std::thread threads[count];
    device::runner_list const& kernels = device::kernels_of(where);
    for (int t = 0; t < count; ++t) {
        threads[t] = std::thread([&, t] {
            support::random_stream random(91 + static_cast<unsigned long long>(t));
            for (int turn = 0; turn < (where.is_gpu() ? 60 : 6) && wrong[t].empty(); ++turn) {
                runner const& kernel =
                    kernels[static_cast<std::size_t>(random.below(static_cast<int>(kernels.size())))];
                int const cols = 1 + random.below(700);
                if (device::can_take(kernel, cols, where))
                    wrong[t] =
                        device::check(device::random_problem(kernel, cols, random), device::at(where, kernel), where);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::string const& sentence : wrong) EXPECT_EQ(sentence, "");
}

// The first calls of a process, by eight threads at the same moment, each on a stream of its own: what the library
// finds out once about the GPU and a kernel it finds out in a race. Nothing here may call it before.
SMX_DEVICE_TEST(same_bits, first_calls_of_eight_threads_at_once) {
    constexpr int count = 8;
    device::runner_list raced;
    int number = 0;
    for (runner const& kernel : device::kernels_of(where)) {
        if (number++ % 4 == 0) raced.push_back(kernel);
    }
    auto const problem_of = [&](runner const& kernel, int thread) {
        problem p;
        bool const is_named = kernel.kind == runner::named;
        bool const is_staged = is_named && kernel.policy.body == smx::body_kind::staged;
        int const short_row = is_named ? std::min(kernel.policy.columns(), 100) : 100;
        // Staged rows that want more shared memory than a kernel may use unasked.
        p.shape = {1, 2, 3, is_staged && where.is_gpu() ? 13000 : short_row - thread % 2};
        p.seed = 400 + static_cast<unsigned long long>(thread);
        p.factor_per_head = kernel.factor == device::factor_type::head;
        p.factor_on_device = kernel.factor == device::factor_type::device;
        auto const masks = device::masks_of(kernel.masks, p.shape);
        p.masks = masks[static_cast<std::size_t>(thread) % masks.size()];
        return p;
    };
    struct made {
        std::vector<std::unique_ptr<device::execution>> calls;
        std::vector<smx::status> given;
    };
    made by_thread[count];
    for (int t = 0; t < count; ++t) {
        for (runner const& kernel : raced) {
            by_thread[t].calls.push_back(
                std::make_unique<device::execution>(problem_of(kernel, t), device::at(where, kernel), where));
        }
    }
    ASSERT_EQ(where.finish(), "");

    std::atomic<int> waiting{count};
    std::thread threads[count];
    for (int t = 0; t < count; ++t) {
        threads[t] = std::thread([&, t] {
            void* const on = where.stream();
            --waiting;
            while (waiting.load() > 0) {
            }
            for (auto const& call : by_thread[t].calls) by_thread[t].given.push_back(call->launch_on(on));
        });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(where.finish(), "");

    for (int t = 0; t < count; ++t) {
        for (std::size_t i = 0; i < raced.size(); ++i) {
            auto const what = device::name_of(raced[i]) + ", thread " + std::to_string(t);
            device::execution& first = *by_thread[t].calls[i];
            device::execution again(problem_of(raced[i], t), device::at(where, raced[i]), where);
            ASSERT_EQ(where.finish(), "");
            smx::status const s = again.launch();
            ASSERT_EQ(by_thread[t].given[i].code, s.code) << what;
            if (s.code == smx::errc::device_limit) continue;  // this GPU lacks what the kernel needs
            ASSERT_TRUE(s.ok()) << what << ": " << s.argument << ", " << s.requirement;
            ASSERT_EQ(again.wait_and_download(), "") << what;
            ASSERT_EQ(first.wait_and_download(), "") << what;
            ASSERT_EQ(first.difference(), "") << what;
            ASSERT_TRUE(first.everything() == again.everything()) << what;
        }
    }
}

}  // namespace
