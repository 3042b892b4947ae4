// Composing: the six verbs called one by one inside kernels of the user's own, between work of the user's own. The
// scores are worked out from queries and keys when they are loaded and stored nowhere; the entropy of each row is
// worked out while its probabilities are at hand.
#include <smx/smx.cuh>

#include "support/device.cuh"

// [input]
// Scores that are stored nowhere: query . key, worked out when a pack is loaded. Plain, to be short.
struct dot_products {
    float const* queries;
    float const* keys;
    int dim;

    using compute = float;

    template <int V>
    SMX_HD smx::pack<float, V> load(smx::row_id row, int col) const {
        auto scores = smx::filled_pack<V>(0.0f);
        for (int d = 0; d < dim; ++d) {
            SMX_UNROLL
            for (int i = 0; i < V; ++i)
                scores[i] += queries[row.query * dim + d] * keys[static_cast<smx::int64>(col + i) * dim + d];
        }
        return scores;
    }
};
// [/input]

// [row]
template <class Tile, class Group, class Output>
SMX_HD void attention_row(Group& g, dot_products const& scores, Output const& output, float* entropies, smx::row_id row,
                          smx::extents shape) {
    auto const seen = smx::causal_mask::bottom_right().bind(row, shape);
    Tile t;
    smx::load(g, t, scores, row, seen.span());
    smx::scale(t, 0.125f);
    smx::mask(t, seen);
    auto const stats = smx::reduce(g, t);
    smx::normalize(t, stats, smx::empty_row::zeros, row.cols);

    // Our own: each lane sums -p ln p over the columns it holds, the group adds the lanes up.
    float entropy = 0;
    t.for_columns([&](int, float& p) { entropy -= p > 0 ? p * smx::natural_log(p) : 0; });
    entropy = g.all_reduce(entropy, smx::plus());
    if (g.rank() == 0) entropies[row.index] = entropy;

    smx::store(g, t, output, row, seen.span(), stats);
}
// [/row]

// [kernels]
using output_type = smx::dense_output<float>;

// A block a row.
__global__ void with_blocks(dot_products scores, output_type output, float* entropies, smx::row_range rows,
                            smx::extents shape) {
    __shared__ smx::block_group<128>::storage memory;
    smx::block_group<128> g(memory);
    attention_row<smx::tile<128, 4, 1>>(g, scores, output, entropies, rows[blockIdx.x], shape);
}

// A warp a row, four rows a block.
__global__ void with_warps(dot_products scores, output_type output, float* entropies, smx::row_range rows,
                           smx::extents shape) {
    smx::int64 const index = blockIdx.x * 4 + threadIdx.x / 32;
    if (index >= rows.count()) return;  // the whole warp leaves: no other waits for it
    smx::warp_group<32> g;
    attention_row<smx::tile<32, 4, 4>>(g, scores, output, entropies, rows[index], shape);
}
// [/kernels]

namespace {

void on_cpu(dot_products scores, output_type output, float* entropies, smx::row_range rows, smx::extents shape) {
    for (smx::int64 index = 0; index < rows.count(); ++index) {
        smx::thread_group g;
        attention_row<smx::tile<1, 16, 32>>(g, scores, output, entropies, rows[index], shape);
    }
}

}  // namespace

int main() {
    bool const gpu = example::gpu_found();
    int const queries = 301, keys = 450, dim = 64;
    std::vector<float> const q = example::numbers(std::size_t{queries} * dim, 2.0f, 1);
    std::vector<float> const k = example::numbers(std::size_t{keys} * dim, 2.0f, 2);
    example::array<float> device_q(gpu, q), device_k(gpu, k);
    dot_products const scores{device_q.get(), device_k.get(), dim};
    smx::extents const shape(queries, keys);
    smx::row_range const rows(shape);

    auto const expected = example::plain_softmax(queries, keys, [&](long long row, int col) {
        if (col > row + keys - queries) return example::hidden_score;
        double score = 0;
        for (int d = 0; d < dim; ++d)
            score += static_cast<double>(q[static_cast<std::size_t>(row * dim + d)]) *
                     static_cast<double>(k[static_cast<std::size_t>(col * dim + d)]);
        return score / 8;
    });
    std::vector<double> expected_entropies(queries);
    for (std::size_t i = 0; i < expected.size(); ++i)
        if (expected[i] > 0) expected_entropies[i / keys] -= expected[i] * std::log(expected[i]);

    bool good = true;
    auto const check = [&](char const* name, auto run) {
        example::array<float> y(gpu, expected.size()), entropies(gpu, queries);
        run(output_type{y.get(), smx::packed_strides(shape)}, entropies.get());
        if (gpu) example::require(cudaGetLastError());
        std::printf("%s\n", name);
        good &= example::agrees("  probabilities", y.content(), expected, 1e-5);
        good &= example::agrees("  entropies", entropies.content(), expected_entropies, 1e-4);
    };
    if (gpu) {
        check("a block of 128 threads a row", [&](output_type y, float* entropies) {
            with_blocks<<<queries, 128>>>(scores, y, entropies, rows, shape);
        });
        check("a warp a row", [&](output_type y, float* entropies) {
            with_warps<<<(queries + 3) / 4, 128>>>(scores, y, entropies, rows, shape);
        });
    } else {
        check("one lane a row", [&](output_type y, float* entropies) { on_cpu(scores, y, entropies, rows, shape); });
    }
    return good ? 0 : 1;
}
