// A step of training: probabilities of the scores, then the gradient of the scores from that of the probabilities.
#include <smx/smx.cuh>

#include "support/device.cuh"

// [step]
// The scale and the mask of a layer, written once for both passes.
auto scale_of(int head_dim) { return smx::inv_sqrt(head_dim); }
auto mask_of(int const* lengths) { return smx::both(smx::causal_mask::bottom_right(), smx::key_lengths(lengths)); }

smx::status forward(cudaStream_t stream, __half const* x, int const* lengths, __half* y, smx::extents shape) {
    return smx::launch_auto(stream, smx::scores(x, shape), scale_of(64), mask_of(lengths), smx::probabilities(y));
}

smx::status backward(cudaStream_t stream, __half const* y, __half const* dy, int const* lengths, __half* dx,
                     smx::extents shape) {
    return smx::launch_auto_backward(stream, smx::saved_probabilities(y, shape), smx::incoming_gradients(dy),
                                     scale_of(64), mask_of(lengths), smx::gradients(dx));
}
// [/step]

namespace {

smx::status forward_on_host(__half const* x, int const* lengths, __half* y, smx::extents shape) {
    return smx::softmax_on_host(smx::scores(x, shape), scale_of(64), mask_of(lengths), smx::probabilities(y));
}

smx::status backward_on_host(__half const* y, __half* dy, int const* lengths, smx::extents shape) {
    // [in_place]
    // dx is dy: same pointer, element size and strides.
    smx::status const s = smx::softmax_backward_on_host(smx::saved_probabilities(y, shape), smx::incoming_gradients(dy),
                                                        scale_of(64), mask_of(lengths), smx::gradients(dy));
    // [/in_place]
    return s;
}

}  // namespace

int main() {
    bool const gpu = example::gpu_found();
    int const batch = 2, heads = 3, queries = 40, keys = 100;
    smx::extents const shape(batch, heads, queries, keys);
    long long const rows = batch * heads * queries;
    auto const count = static_cast<std::size_t>(rows) * keys;
    std::vector<int> const keys_of_batch{keys, 71};
    auto const halves = [&](float spread, std::uint32_t seed) {
        return example::as_halves(example::numbers(count, spread, seed));
    };
    example::array<__half> x(gpu, halves(16.0f, 1)), y(gpu, count), dy(gpu, halves(1.0f, 7)), dx(gpu, count);
    example::array<int> lengths(gpu, keys_of_batch);
    std::vector<float> const given = example::as_floats(halves(1.0f, 7));

    smx::status s = gpu ? forward(nullptr, x.get(), lengths.get(), y.get(), shape)
                        : forward_on_host(x.get(), lengths.get(), y.get(), shape);
    if (!example::succeeded(s)) return 1;
    s = gpu ? backward(nullptr, y.get(), dy.get(), lengths.get(), dx.get(), shape)
            : backward_on_host(y.get(), dy.get(), lengths.get(), shape);
    if (!example::succeeded(s)) return 1;

    // dx = scale * y * (dy - sum(dy * y)); what is hidden has a y of 0 in both sums.
    std::vector<float> const p = example::as_floats(y.content());
    std::vector<double> expected;
    for (std::size_t row = 0; row < count; row += keys) {
        double inner = 0;
        for (std::size_t k = row; k < row + keys; ++k)
            inner += static_cast<double>(given[k]) * static_cast<double>(p[k]);
        for (std::size_t k = row; k < row + keys; ++k)
            expected.push_back(static_cast<double>(p[k]) * (static_cast<double>(given[k]) - inner) / 8);
    }
    return example::agrees("gradients", example::as_floats(gpu ? dx.content() : dy.content()), expected, 1e-4) ? 0 : 1;
}
