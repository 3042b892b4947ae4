// What a call can be told, one option at a time: strides, types, scales, mask and bias tensors, masks of bits, in
// place, log-sum-exp, empty rows, what is hidden left as it was, and what a wrong argument gives. On the CPU; every
// line is the same for launch and launch_auto.
#include "support/check.hpp"

namespace {

constexpr int batch = 2, heads = 3, queries = 5, keys = 37;
constexpr smx::int64 rows = batch * heads * queries;
constexpr std::size_t elements = rows * keys;

double at(std::vector<float> const& x, long long index) {
    return static_cast<double>(x[static_cast<std::size_t>(index)]);
}

bool strides_and_types() {
    // [batch, query, head, key] in memory; probabilities packed as [batch, head, query, key], in half.
    std::vector<float> const memory = example::numbers(elements, 8.0f);
    std::vector<smx::half> packed(elements);
    float const* const x = memory.data();
    smx::half* const y = packed.data();
    // [strides]
    // Distances in elements between batches, heads and queries; keys lie side by side.
    smx::strides const step{queries * heads * keys, keys, heads * keys, 1};
    smx::status const s = smx::softmax_on_host(smx::scores(x, {batch, heads, queries, keys}, step), smx::inv_sqrt(64),
                                               smx::no_mask{}, smx::probabilities(y));
    // [/strides]
    std::vector<float> widened;
    for (smx::half const p : packed) widened.push_back(smx::dtype<smx::half>::widen(p));
    auto const expected = example::plain_softmax(rows, keys, [&](long long row, int col) {
        long long const b = row / (heads * queries), h = row / queries % heads, q = row % queries;
        return at(memory, ((b * queries + q) * heads + h) * keys + col) / 8;
    });
    return example::succeeded(s) && example::agrees("strided float in, packed half out", widened, expected, 1e-3);
}

bool scale_per_head_in_place() {
    std::vector<float> const x = example::numbers(elements, 8.0f);
    std::vector<float> y = x;
    float const factors[heads] = {0.5f, 0.0f, -1.0f};
    // [in_place]
    // y is x: same pointer, element size and strides. The scale of each head is read when its rows run.
    smx::status const s = smx::softmax_on_host(smx::scores(y.data(), {batch, heads, queries, keys}),
                                               smx::head_scale(factors), smx::no_mask{}, smx::probabilities(y.data()));
    // [/in_place]
    auto const expected = example::plain_softmax(rows, keys, [&](long long row, int col) {
        return at(x, row * keys + col) * static_cast<double>(factors[row / queries % heads]);
    });
    return example::succeeded(s) && example::agrees("in place, a scale a head", y, expected, 1e-6);
}

bool tensors() {
    std::vector<float> const scores = example::numbers(elements, 8.0f),
                             biases = example::numbers(queries * keys, 3.0f, 7);
    std::vector<float> probabilities(elements);
    unsigned char seen[batch * keys];
    for (int i = 0; i < batch * keys; ++i) seen[i] = i % 3 != 0;
    float const *const x = scores.data(), *const bias = biases.data();
    float* const y = probabilities.data();
    // [tensors]
    // A byte mask [batch, 1, 1, keys] and a bias [queries, keys]: axes of length 1 are repeated.
    auto const mask = smx::both(smx::mask_tensor(seen, smx::broadcast({batch, 1, 1, keys})),
                                smx::bias_tensor(bias, smx::broadcast({1, 1, queries, keys})));
    smx::status const s = smx::softmax_on_host(smx::scores(x, {batch, heads, queries, keys}), smx::fixed_scale(0.125),
                                               mask, smx::probabilities(y));
    // [/tensors]
    auto const expected = example::plain_softmax(rows, keys, [&](long long row, int col) {
        return seen[row / (heads * queries) * keys + col] != 0
                   ? at(scores, row * keys + col) / 8 + at(biases, row % queries * keys + col)
                   : example::hidden_score;
    });
    return example::succeeded(s) &&
           example::agrees("byte mask and bias, both broadcast", probabilities, expected, 1e-6);
}

bool bits() {
    std::vector<float> const scores = example::numbers(elements, 8.0f);
    std::vector<float> probabilities(elements);
    auto const is_seen = [](long long b, long long q, int col) { return (b + q + col) % 3 != 0; };
    unsigned packed[batch * queries * 2] = {};
    for (int row = 0; row < batch * queries; ++row)
        for (int col = 0; col < keys; ++col)
            packed[row * 2 + col / 32] |= static_cast<unsigned>(is_seen(row / queries, row % queries, col))
                                          << (col % 32);
    float const* const x = scores.data();
    float* const y = probabilities.data();
    // [bits]
    // A bit a score, [batch, 1, queries, words]: set = visible, the first column in the lowest bit of the first word.
    smx::int64 const words = smx::words_for<unsigned>(keys);
    auto const mask = smx::mask_bits(packed, smx::broadcast({batch, 1, queries, words}));
    smx::status const s = smx::softmax_on_host(smx::scores(x, {batch, heads, queries, keys}), smx::inv_sqrt(64), mask,
                                               smx::probabilities(y));
    // [/bits]
    auto const expected = example::plain_softmax(rows, keys, [&](long long row, int col) {
        return is_seen(row / (heads * queries), row % queries, col) ? at(scores, row * keys + col) / 8
                                                                    : example::hidden_score;
    });
    return example::succeeded(s) &&
           example::agrees("a mask of bits, broadcast over heads", probabilities, expected, 1e-6);
}

bool extras() {
    std::vector<float> const scores = example::numbers(elements, 8.0f);
    std::vector<float> probabilities(elements), sums(rows);
    int const lengths[batch] = {keys, 0};  // the second batch has nothing to see
    float const* const x = scores.data();
    float *const y = probabilities.data(), *const lse = sums.data();
    // [extras]
    smx::status const s = smx::softmax_on_host(smx::scores(x, {batch, heads, queries, keys}), smx::inv_sqrt(64),
                                               smx::key_lengths(lengths), smx::probabilities(y), smx::log_sum_exp(lse),
                                               smx::empty_row::uniform);
    // [/extras]
    if (!example::succeeded(s)) return false;
    bool good = true;
    for (int row = 0; row < rows; ++row) {
        double sum = 0;
        for (int col = 0; row < rows / 2 && col < keys; ++col) sum += std::exp(at(scores, row * keys + col) / 8);
        double const actual = at(sums, row);
        good &= row < rows / 2 ? std::fabs(actual - std::log(sum)) < 1e-5 : actual == example::hidden_score;
        good &= row < rows / 2 || probabilities[static_cast<std::size_t>(row * keys)] == 1.0f / keys;
    }
    std::printf("log-sum-exp, and empty rows as 1 / keys: %s\n", good ? "right" : "WRONG");
    return good;
}

bool keep() {
    std::vector<float> const scores = example::numbers(keys * keys, 8.0f);
    std::vector<float> probabilities(scores.size(), 7.0f);
    float const* const x = scores.data();
    float* const y = probabilities.data();
    // [keep]
    // The upper triangle of y is neither written nor touched.
    smx::status const s = smx::softmax_on_host(smx::scores(x, {keys, keys}), smx::fixed_scale(1),
                                               smx::causal_mask::top_left(), smx::probabilities<smx::hidden::keep>(y));
    // [/keep]
    auto expected = example::plain_softmax(keys, keys, [&](long long row, int col) {
        return col <= row ? at(scores, row * keys + col) : example::hidden_score;
    });
    for (int row = 0; row < keys; ++row)
        for (int col = row + 1; col < keys; ++col) expected[static_cast<std::size_t>(row * keys + col)] = 7;
    return example::succeeded(s) && example::agrees("causal, the rest kept", probabilities, expected, 1e-6);
}

bool wrong_argument() {
    std::vector<float> const scores(elements);
    std::vector<float> probabilities(elements, 7.0f);
    float const* const x = scores.data();
    float* const y = probabilities.data();
    // [error]
    smx::status const s = smx::softmax_on_host(smx::scores(x, {4, 8}, {0, 0, 16, 2}), smx::inv_sqrt(64), smx::no_mask{},
                                               smx::probabilities(y));
    if (!s) {
        std::puts(smx::sentence(s).text);  // x key stride: must be 1, was 2
    }
    // [/error]
    return s.code == smx::errc::bad_stride && s.actual == 2 && probabilities[0] == 7.0f;
}

}  // namespace

int main() {
    bool good = strides_and_types();
    good &= scale_per_head_in_place();
    good &= tensors();
    good &= bits();
    good &= extras();
    good &= keep();
    good &= wrong_argument();
    return good ? 0 : 1;
}
