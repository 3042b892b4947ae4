// A mask of the user's own on the CPU: a sliding window with global tokens, alone and joined with masks of the library.
#include "own_mask.hpp"

#include "support/check.hpp"

int main() {
    int const batch = 2, tokens = 333, width = 50, globals = 3;
    long long const rows = batch * tokens;
    std::vector<float> const x = example::numbers(static_cast<std::size_t>(rows) * tokens, 4.0f);
    std::vector<float> y(x.size());
    int const lengths[batch] = {333, 200};

    // Runs one mask and compares with the condition it stands for.
    auto const run = [&](char const* name, auto const& mask, auto visible) {
        if (!example::succeeded(smx::softmax_on_host(smx::scores(x.data(), {batch, 1, tokens, tokens}),
                                                     smx::fixed_scale(0.5), mask, smx::probabilities(y.data()))))
            return false;
        auto const expected = example::plain_softmax(rows, tokens, [&](long long row, int col) {
            return visible(row / tokens, row % tokens, col)
                       ? 0.5 * static_cast<double>(x[static_cast<std::size_t>(row * tokens + col)])
                       : example::hidden_score;
        });
        return example::agrees(name, y, expected, 1e-6);
    };

    bool good = run("sliding window", sliding_window{width},
                    [&](long long, long long q, int k) { return in_window(q, k, width); });
    good &= run("window and global tokens", window_and_globals{width, globals},
                [&](long long, long long q, int k) { return in_window(q, k, width) || k < globals; });
    good &= run("strided", strided(), [&](long long, long long q, int k) { return (q - k) % 2 == 0; });
    // [join]
    auto const padded = smx::both(window_and_globals{width, globals}, smx::key_lengths(lengths));
    auto const also_strided = smx::both(smx::causal_mask::top_left(), smx::either(sliding_window{width}, strided()));
    // [/join]
    good &= run("window, global tokens and lengths", padded, [&](long long b, long long q, int k) {
        return (in_window(q, k, width) || k < globals) && k < lengths[b];
    });
    good &= run("causal, in the window or strided", also_strided,
                [&](long long, long long q, int k) { return k <= q && (in_window(q, k, width) || (q - k) % 2 == 0); });
    return good ? 0 : 1;
}
