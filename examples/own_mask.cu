// The masks of own_mask.hpp on the GPU: the same source, compiled by nvcc.
#include <smx/smx.cuh>

#include "own_mask.hpp"
#include "support/device.cuh"

int main() {
    bool const gpu = example::gpu_found();
    int const tokens = 333, width = 50, globals = 3;
    std::vector<float> const scores = example::numbers(std::size_t{tokens} * tokens, 4.0f);
    example::array<float> x(gpu, scores), y(gpu, scores.size());

    auto const run = [&](char const* name, auto const& mask, auto visible) {
        auto const in = smx::scores(x.get(), {tokens, tokens});
        auto const out = smx::probabilities(y.get());
        using kernel = smx::resident<smx::warp_group<32>, 4, 4>;
        if (!example::succeeded(gpu ? smx::launch<kernel>(nullptr, in, smx::fixed_scale(1), mask, out)
                                    : smx::softmax_on_host(in, smx::fixed_scale(1), mask, out)))
            return false;
        auto const expected = example::plain_softmax(tokens, tokens, [&](long long row, int col) {
            double const score = static_cast<double>(scores[static_cast<std::size_t>(row * tokens + col)]);
            return visible(row, col) ? score : example::hidden_score;
        });
        return example::agrees(name, y.content(), expected, 1e-6);
    };

    bool good = run("sliding window", sliding_window{width}, [](long long q, int k) { return in_window(q, k, width); });
    good &= run("window and global tokens", window_and_globals{width, globals},
                [](long long q, int k) { return in_window(q, k, width) || k < globals; });
    good &= run("causal, in the window or strided",
                smx::both(smx::causal_mask::top_left(), smx::either(sliding_window{width}, strided())),
                [](long long q, int k) { return k <= q && (in_window(q, k, width) || (q - k) % 2 == 0); });
    return good ? 0 : 1;
}
