// Plain C++ without CUDA: the same operator on the CPU, split over a thread pool of the program's own.
#include <atomic>
#include <thread>

#include "support/check.hpp"

namespace {

// [pool]
// Each worker takes the next 64 rows until none are left; smx runs them on the worker's own thread.
template <class RunRows>
void on_pool(int workers, smx::int64 rows, RunRows run_rows) {
    std::atomic<smx::int64> next{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < workers; ++i) {
        threads.emplace_back([&] {
            for (smx::int64 first; (first = next.fetch_add(64)) < rows;) {
                run_rows(smx::rows{first, first + 64 < rows ? first + 64 : rows});
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}
// [/pool]

}  // namespace

int main() {
    int const batch = 2, heads = 4, queries = 100, keys = 150;
    smx::int64 const rows = batch * heads * queries;
    std::vector<float> const x = example::numbers(static_cast<std::size_t>(rows) * keys, 8.0f);
    std::vector<float> y(x.size());
    int const lengths[batch] = {150, 97};

    // [call]
    auto const in = smx::scores(x.data(), {batch, heads, queries, keys});
    auto const mask = smx::both(smx::causal_mask::bottom_right(), smx::key_lengths(lengths));
    smx::status const s = smx::check(in, smx::inv_sqrt(64), mask, smx::probabilities(y.data()));
    if (!s) return 1;  // message(s, ...) says why

    std::atomic<int> failures{0};
    on_pool(2, rows, [&](smx::rows part) {
        if (!smx::softmax_on_host(part, in, smx::inv_sqrt(64), mask, smx::probabilities(y.data()))) ++failures;
    });
    // [/call]

    auto const expected = example::plain_softmax(rows, keys, [&](long long row, int col) {
        bool const visible = col <= row % queries + keys - queries && col < lengths[row / (heads * queries)];
        return visible ? static_cast<double>(x[static_cast<std::size_t>(row * keys + col)]) / 8.0
                       : example::hidden_score;
    });
    std::printf("%lld rows of %d columns on two threads of our own\n", rows, keys);
    return failures == 0 && example::agrees("probabilities", y, expected, 1e-6) ? 0 : 1;
}
