// What a layer learns beside its scores: a bias that all batches share, and one scale a head.
#include <smx/smx.cuh>

#include "support/device.cuh"

// [sums]
// The bias is [1, heads, queries, keys], the scale [heads]; the scores are kept, their probabilities are not.
smx::strides bias_steps(smx::extents shape) { return smx::broadcast({1, shape.heads, shape.queries, shape.keys}); }

smx::status forward(cudaStream_t stream, __half const* x, float const* scale, float const* bias, __half* y, float* sums,
                    smx::extents shape) {
    return smx::launch_auto(stream, smx::scores(x, shape), smx::head_scale(scale),
                            smx::bias_tensor(bias, bias_steps(shape)), smx::probabilities(y), smx::log_sum_exp(sums));
}

// One kernel: dx, the gradient of the bias summed over the batch, and a number a row for that of the scale.
smx::status backward(cudaStream_t stream, __half const* x, float const* sums, __half const* dy, float const* scale,
                     float const* bias, __half* dx, float* dbias, float* dscale_of_rows, smx::extents shape) {
    return smx::launch_auto_backward(
        stream, smx::recomputed_probabilities(smx::scores(x, shape), sums), smx::incoming_gradients(dy),
        smx::head_scale(scale), smx::bias_tensor(bias, bias_steps(shape)), smx::gradients(dx),
        smx::bias_gradients(dbias, bias_steps(shape)), smx::scale_gradients(dscale_of_rows));
}

// The gradient of a head's scale: the sum over its rows, in one order.
__global__ void add_rows_of_heads(float const* of_rows, float* of_heads, smx::extents shape) {
    int const head = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (head >= shape.heads) return;
    double sum = 0;
    for (long long batch = 0; batch < shape.batch; ++batch)
        for (long long query = 0; query < shape.queries; ++query)
            sum += of_rows[(batch * shape.heads + head) * shape.queries + query];
    of_heads[head] = static_cast<float>(sum);
}
// [/sums]

namespace {

smx::status forward_on_host(__half const* x, float const* scale, float const* bias, __half* y, float* sums,
                            smx::extents shape) {
    return smx::softmax_on_host(smx::scores(x, shape), smx::head_scale(scale),
                                smx::bias_tensor(bias, bias_steps(shape)), smx::probabilities(y),
                                smx::log_sum_exp(sums));
}

smx::status backward_on_host(__half const* x, float const* sums, __half const* dy, float const* scale,
                             float const* bias, __half* dx, float* dbias, float* dscale_of_rows, smx::extents shape) {
    return smx::softmax_backward_on_host(
        smx::recomputed_probabilities(smx::scores(x, shape), sums), smx::incoming_gradients(dy), smx::head_scale(scale),
        smx::bias_tensor(bias, bias_steps(shape)), smx::gradients(dx), smx::bias_gradients(dbias, bias_steps(shape)),
        smx::scale_gradients(dscale_of_rows));
}

}  // namespace

int main() {
    bool const gpu = example::gpu_found();
    int const batch = 4, heads = 3, queries = 20, keys = 77;
    smx::extents const shape(batch, heads, queries, keys);
    long long const rows = batch * heads * queries;
    auto const count = static_cast<std::size_t>(rows) * keys, of_bias = count / batch;
    auto const halves = [&](float spread, std::uint32_t seed) {
        return example::as_halves(example::numbers(count, spread, seed));
    };
    std::vector<float> const scales{0.125f, 0.25f, -0.5f}, biases = example::numbers(of_bias, 2.0f, 3);
    example::array<__half> x(gpu, halves(8.0f, 1)), y(gpu, count), dy(gpu, halves(1.0f, 7)), dx(gpu, count);
    example::array<float> scale(gpu, scales), bias(gpu, biases), sums(gpu, static_cast<std::size_t>(rows)),
        dbias(gpu, of_bias), dscale_of_rows(gpu, static_cast<std::size_t>(rows)),
        dscale(gpu, static_cast<std::size_t>(heads));

    smx::status s = gpu ? forward(nullptr, x.get(), scale.get(), bias.get(), y.get(), sums.get(), shape)
                        : forward_on_host(x.get(), scale.get(), bias.get(), y.get(), sums.get(), shape);
    if (!example::succeeded(s)) return 1;
    s = gpu ? backward(nullptr, x.get(), sums.get(), dy.get(), scale.get(), bias.get(), dx.get(), dbias.get(),
                       dscale_of_rows.get(), shape)
            : backward_on_host(x.get(), sums.get(), dy.get(), scale.get(), bias.get(), dx.get(), dbias.get(),
                               dscale_of_rows.get(), shape);
    if (!example::succeeded(s)) return 1;
    std::vector<float> of_heads(static_cast<std::size_t>(heads));
    if (gpu) {
        add_rows_of_heads<<<1, 32>>>(dscale_of_rows.get(), dscale.get(), shape);
        of_heads = dscale.content();
    } else {
        std::vector<float> const of_rows = dscale_of_rows.content();
        for (std::size_t row = 0; row < of_rows.size(); ++row) of_heads[row / queries % heads] += of_rows[row];
    }

    // ds = y * (dy - sum(dy * y)), summed over the batch, and its products with x over a head.
    std::vector<float> const scores = example::as_floats(halves(8.0f, 1)), given = example::as_floats(halves(1.0f, 7));
    auto const at = [&](long long row, int col) {
        return static_cast<std::size_t>(row) * keys + static_cast<std::size_t>(col);
    };
    std::vector<double> const p = example::plain_softmax(rows, keys, [&](long long row, int col) {
        std::size_t const head = static_cast<std::size_t>(row / queries % heads);
        return static_cast<double>(scales[head]) * static_cast<double>(scores[at(row, col)]) +
               static_cast<double>(biases[at(row % (heads * queries), col)]);
    });
    std::vector<double> expected(of_bias, 0.0), expected_of_heads(static_cast<std::size_t>(heads), 0.0);
    for (long long row = 0; row < rows; ++row) {
        double inner = 0;
        for (int k = 0; k < keys; ++k) inner += static_cast<double>(given[at(row, k)]) * p[at(row, k)];
        for (int k = 0; k < keys; ++k) {
            double const ds = p[at(row, k)] * (static_cast<double>(given[at(row, k)]) - inner);
            expected[at(row % (heads * queries), k)] += ds;
            expected_of_heads[static_cast<std::size_t>(row / queries % heads)] +=
                ds * static_cast<double>(scores[at(row, k)]);
        }
    }
    bool const biases_agree = example::agrees("bias gradients", dbias.content(), expected, 1e-5);
    return example::agrees("scale gradients", of_heads, expected_of_heads, 1e-4) && biases_agree ? 0 : 1;
}
