// One call: causal and padded attention scores, with the log-sum-exp of each row. The very first call is recorded into
// a CUDA graph.
#include <smx/smx.cuh>

#include "support/device.cuh"

using example::require;

int main() {
    bool const gpu = example::gpu_found();
    int const batch = 2, heads = 3, queries = 130, keys = 200;
    long long const rows = batch * heads * queries;
    std::vector<float> const scores =
        example::as_floats(example::as_halves(example::numbers(static_cast<std::size_t>(rows) * keys, 20.0f)));
    std::vector<int> const host_lengths = {200, 60};  // 140 keys of the second batch are padding
    example::array<__half> x(gpu, example::as_halves(scores)), y(gpu, scores.size());
    example::array<int> lengths(gpu, host_lengths);
    example::array<float> lse(gpu, static_cast<std::size_t>(rows));

    // [parts]
    auto const in = smx::scores(x.get(), {batch, heads, queries, keys});
    auto const mask = smx::both(smx::causal_mask::bottom_right(), smx::key_lengths(lengths.get()));
    auto const out = smx::probabilities(y.get());
    // [/parts]
    if (gpu) {
        cudaStream_t stream;
        require(cudaStreamCreate(&stream));
        // [graph]
        // No call has been made before: nothing has to be warmed up, allocated or waited for.
        cudaGraph_t graph;
        cudaGraphExec_t executable;
        require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        smx::status const recorded =
            smx::launch_auto(stream, in, smx::inv_sqrt(64), mask, out, smx::log_sum_exp(lse.get()));
        require(cudaStreamEndCapture(stream, &graph));
        if (!example::succeeded(recorded)) return 1;
        require(cudaGraphInstantiate(&executable, graph, 0));
        require(cudaGraphLaunch(executable, stream));
        // [/graph]
        require(cudaStreamSynchronize(stream));
        require(cudaGraphExecDestroy(executable));
        require(cudaGraphDestroy(graph));
        require(cudaStreamDestroy(stream));
        std::printf("recorded into a graph by the first call, and replayed\n");
    } else if (!example::succeeded(
                   smx::softmax_on_host(in, smx::inv_sqrt(64), mask, out, smx::log_sum_exp(lse.get())))) {
        return 1;
    }

    auto const score = [&](long long row, int col) {
        bool const visible = col <= row % queries + keys - queries &&
                             col < host_lengths[static_cast<std::size_t>(row / (heads * queries))];
        double const stored = static_cast<double>(scores[static_cast<std::size_t>(row * keys + col)]);
        return visible ? stored / 8 : example::hidden_score;
    };
    auto const expected = example::plain_softmax(rows, keys, score);
    std::vector<double> expected_lse;
    for (long long row = 0; row < rows; ++row) {
        double sum = 0;
        for (int col = 0; col < keys; ++col) sum += std::exp(score(row, col));
        expected_lse.push_back(std::log(sum));
    }
    bool const good = example::agrees("probabilities", example::as_floats(y.content()), expected, 1e-3);
    return example::agrees("log-sum-exp", lse.content(), expected_lse, 1e-5) && good ? 0 : 1;
}
