// Naming the kernel: one instantiation, chosen by the caller, in the caller's own .cu file.
#include <smx/smx.cuh>

#include "support/device.cuh"

// [kernel]
// 128 lanes share a row and hold two packs of 8 columns each: rows of up to 2048 columns, in registers.
using kernel = smx::resident<smx::block_group<128>, 8, 2>;

smx::status attention_softmax(cudaStream_t stream, __half const* x, __half* y, smx::extents shape) {
    return smx::launch<kernel>(stream, smx::scores(x, shape), smx::inv_sqrt(64), smx::causal_mask::bottom_right(),
                               smx::probabilities(y));
}
// [/kernel]

int main() {
    bool const gpu = example::gpu_found();
    int const heads = 6, queries = 40, keys = 1999;
    long long const rows = heads * queries;
    std::vector<float> const scores =
        example::as_floats(example::as_halves(example::numbers(static_cast<std::size_t>(rows) * keys, 16.0f)));
    example::array<__half> x(gpu, example::as_halves(scores)), y(gpu, scores.size());
    smx::extents const shape(1, heads, queries, keys);

    // [explain]
    char line[256];
    smx::explain(kernel::value, line, sizeof line);
    std::printf("%s\n", line);
    // [/explain]

    smx::status const s = gpu ? attention_softmax(nullptr, x.get(), y.get(), shape)
                              : smx::softmax_on_host(smx::scores(x.get(), shape), smx::inv_sqrt(64),
                                                     smx::causal_mask::bottom_right(), smx::probabilities(y.get()));
    if (!example::succeeded(s)) return 1;

    auto const expected = example::plain_softmax(rows, keys, [&](long long row, int col) {
        double const score = static_cast<double>(scores[static_cast<std::size_t>(row * keys + col)]);
        return col <= row % queries + keys - queries ? score / 8 : example::hidden_score;
    });
    bool const good = example::agrees("probabilities", example::as_floats(y.content()), expected, 1e-3);

    if (!gpu) return good ? 0 : 1;

    // Rows that the kernel cannot hold are refused before anything is launched.
    smx::status const refused = attention_softmax(nullptr, x.get(), y.get(), {1, 4096});
    example::succeeded(refused);
    return good && refused.code == smx::errc::too_large && refused.actual == 4096 ? 0 : 1;
}
