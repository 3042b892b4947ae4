// host.hpp where it shares rows out to threads.
#include "smx/host.hpp"

#include <atomic>
#include <vector>

#include "support/host_call.hpp"

namespace {

TEST(host_threads, parallel_for_calls_each_index_once) {
    for (smx::int64 count : {0, 1, 2, 3, 100, 1001}) {
        for (int threads : {-1, 0, 1, 2, 3, 16, 300}) {
            std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
            smx::parallel_for(count, threads, [&](smx::int64 first, smx::int64 last) {
                for (smx::int64 i = first; i < last; ++i) ++calls[static_cast<std::size_t>(i)];
            });
            for (auto const& one : calls) ASSERT_EQ(one.load(), 1) << count << " on " << threads;
        }
    }
}

// A call large enough for several threads, whose rows need not touch.
TEST(host_threads, rows_that_need_not_touch) {
    support::call_options options;
    options.x_step = {3 * 64 * 260, 64 * 260, 260, 1};
    options.y_step = {3 * 64 * 257, 64 * 257, 257, 1};
    support::expect_call<float, float, support::everything_case>({4, 3, 64, 257}, options);
}

// And one whose rows are found by index alone, each in the place of its scores.
TEST(host_threads, rows_in_place) {
    support::call_options options;
    options.in_place = true;
    support::expect_call<smx::half, smx::half, support::no_mask_case>({4, 3, 64, 257}, options);
}

}  // namespace
