// A tiny inference engine: plans two attention steps, launches them on a stream and checks what they computed. Without
// a GPU it plans, and runs the steps on the CPU.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "attention.hpp"

namespace {

void require(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::printf("CUDA: %s\n", cudaGetErrorString(error));
    std::exit(1);
}

// [plan]
// Everything that can be wrong with a step is found here, not while tokens are produced.
bool plan(attention_softmax const& step, smx::device_limits limits) {
    smx::planned const p = step.with_parts([&](auto const&... parts) { return smx::plan(limits, parts...); });
    char sentence[256];
    if (p.result) {
        smx::explain(p.kernel, sentence, sizeof sentence);
    } else {
        smx::message(p.result, sentence, sizeof sentence);
    }
    std::printf("%s: %s\n", step.name, sentence);
    return p.result.ok();
}
// [/plan]

// The same step in three plain loops; the largest difference to what smx wrote.
double largest_difference(attention_softmax const& step, std::vector<smx::half> const& scores,
                          std::vector<smx::half> const& probabilities, std::vector<int> const& lengths) {
    auto const number = [](smx::half h) { return static_cast<double>(smx::dtype<smx::half>::widen(h)); };
    double largest = 0;
    for (smx::int64 row = 0; row < step.shape.batch * step.shape.heads * step.shape.queries; ++row) {
        smx::int64 const last = row % step.shape.queries + step.shape.keys - step.shape.queries;
        smx::int64 const length = lengths[static_cast<std::size_t>(row / step.shape.queries / step.shape.heads)];
        std::size_t const start = static_cast<std::size_t>(row * step.shape.keys);
        auto const weight = [&](smx::int64 col) {
            double const score = number(scores[start + static_cast<std::size_t>(col)]) / std::sqrt(step.head_dim);
            return col <= last && col < length ? std::exp(score) : 0;
        };
        double sum = 0;
        for (smx::int64 col = 0; col < step.shape.keys; ++col) sum += weight(col);
        for (smx::int64 col = 0; col < step.shape.keys; ++col) {
            double const p = number(probabilities[start + static_cast<std::size_t>(col)]);
            largest = std::fmax(largest, std::fabs(p - (sum > 0 ? weight(col) / sum : 0)));
        }
    }
    return largest;
}

}  // namespace

int main() {
    int devices = 0;
    cudaError_t const error = cudaGetDeviceCount(&devices);
    bool const gpu = error == cudaSuccess && devices > 0;
    smx::device_limits limits;
    if (gpu) {
        int bytes = 0, major = 0;
        require(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
        require(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
        limits = {bytes, major >= 9};
    } else {
        std::printf("no GPU: %s; the steps run on the CPU instead\n", cudaGetErrorString(error));
    }

    // One arena for all steps, as engines do: each step is planned with the addresses it will use.
    std::size_t const batch = 2, heads = 4, prompt = 96, cache = 6000;
    std::vector<int> const lengths = {96, 77}, cached = {6000, 4321};
    std::size_t const prefill_scores = batch * heads * prompt * prompt, decode_scores = batch * heads * cache;
    std::vector<smx::half> scores(prefill_scores + decode_scores), probabilities(scores.size());
    unsigned seed = 1;
    for (smx::half& score : scores) {
        seed = seed * 1664525u + 1013904223u;
        score = smx::dtype<smx::half>::narrow(static_cast<float>(seed >> 16) / 4096.0f - 8.0f);
    }
    smx::half *x = scores.data(), *y = probabilities.data();
    std::vector<int> all_lengths = {lengths[0], lengths[1], cached[0], cached[1]};
    int* counts = all_lengths.data();
    std::size_t const bytes = scores.size() * sizeof(smx::half);
    if (gpu) {
        require(cudaMalloc(&x, bytes));
        require(cudaMalloc(&y, bytes));
        require(cudaMalloc(&counts, all_lengths.size() * sizeof(int)));
        require(cudaMemcpy(x, scores.data(), bytes, cudaMemcpyHostToDevice));
        require(cudaMemcpy(counts, all_lengths.data(), all_lengths.size() * sizeof(int), cudaMemcpyHostToDevice));
    }
    attention_softmax const prefill = {"prefill", {batch, heads, prompt, prompt}, 64, x, y, counts};
    attention_softmax const decode = {"decode",           {batch, heads, 1, cache}, 64,
                                      x + prefill_scores, y + prefill_scores,       counts + 2};
    attention_softmax const mistake = {"mistake",          {batch, heads, 1, cache}, 64,
                                       x + prefill_scores, x + prefill_scores + 1,   counts};
    if (!plan(prefill, limits) || !plan(decode, limits)) return 1;
    if (plan(mistake, limits)) return 1;

    // [run]
    cudaStream_t stream = nullptr;
    if (gpu) require(cudaStreamCreate(&stream));
    for (attention_softmax const& step : {prefill, decode}) {
        smx::status const s =
            gpu ? launch(step, stream)
                : step.with_parts([](auto const&... parts) { return smx::softmax_on_host(parts...); });
        char sentence[256];
        smx::message(s, sentence, sizeof sentence);
        std::printf("%s: %s\n", step.name, sentence);
        if (!s) return 1;
    }
    if (gpu) require(cudaStreamSynchronize(stream));
    // [/run]

    if (gpu) require(cudaMemcpy(probabilities.data(), y, bytes, cudaMemcpyDeviceToHost));
    auto const part = [](std::vector<smx::half> const& all, std::size_t first, std::size_t count) {
        auto const begin = all.begin() + static_cast<std::ptrdiff_t>(first);
        return std::vector<smx::half>(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    double const largest = std::fmax(
        largest_difference(prefill, part(scores, 0, prefill_scores), part(probabilities, 0, prefill_scores), lengths),
        largest_difference(decode, part(scores, prefill_scores, decode_scores),
                           part(probabilities, prefill_scores, decode_scores), cached));
    std::printf("largest difference to plain loops: %.1e (allowed 1e-03)\n", largest);
    return largest <= 1e-3 ? 0 : 1;
}
