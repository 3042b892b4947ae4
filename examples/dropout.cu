// A step of training with dropout, and one of log-probabilities: both passes of each.
#include <smx/smx.cuh>

#include "support/device.cuh"

namespace {

// [dropout]
// Seed and offset lie in device memory, where a graph that is replayed reads the next step's.
auto dropout_of(unsigned long long const* state) { return smx::dropout(0.1, state, state + 1); }

// y is dropped; saved is what it was before, for the backward pass.
smx::status forward(cudaStream_t stream, __half const* x, unsigned long long const* state, __half* y, __half* saved,
                    smx::extents shape) {
    return smx::launch_auto(stream, smx::scores(x, shape), smx::inv_sqrt(64), smx::causal_mask::bottom_right(),
                            smx::dropped(smx::probabilities(y), dropout_of(state), smx::probabilities(saved)));
}

// dy is the gradient of the dropped y.
smx::status backward(cudaStream_t stream, __half const* saved, __half const* dy, unsigned long long const* state,
                     __half* dx, smx::extents shape) {
    return smx::launch_auto_backward(stream, smx::saved_probabilities(saved, shape),
                                     smx::dropped(smx::incoming_gradients(dy), dropout_of(state)), smx::inv_sqrt(64),
                                     smx::causal_mask::bottom_right(), smx::gradients(dx));
}
// [/dropout]

smx::status forward_on_host(__half const* x, unsigned long long const* state, __half* y, __half* saved,
                            smx::extents shape) {
    return smx::softmax_on_host(smx::scores(x, shape), smx::inv_sqrt(64), smx::causal_mask::bottom_right(),
                                smx::dropped(smx::probabilities(y), dropout_of(state), smx::probabilities(saved)));
}

smx::status backward_on_host(__half const* saved, __half const* dy, unsigned long long const* state, __half* dx,
                             smx::extents shape) {
    return smx::softmax_backward_on_host(smx::saved_probabilities(saved, shape),
                                         smx::dropped(smx::incoming_gradients(dy), dropout_of(state)),
                                         smx::inv_sqrt(64), smx::causal_mask::bottom_right(), smx::gradients(dx));
}

// The loss of a classifier is a log-probability; its gradient is that of the one class that was right.
bool log_probabilities_are_right() {
    float const logits[2 * 3] = {1, 2, 4, 0, 0, 300};
    float const dz[2 * 3] = {0, 0, -1, -1, 0, 0};  // classes 2 and 0
    float z[2 * 3] = {}, dx[2 * 3] = {};
    // [logarithms]
    smx::status s = smx::softmax_on_host(smx::scores(logits, {2, 3}), smx::fixed_scale(1), smx::no_mask{},
                                         smx::log_probabilities(z));
    if (s) {
        s = smx::softmax_backward_on_host(smx::saved_log_probabilities(z, {2, 3}), smx::incoming_gradients(dz),
                                          smx::fixed_scale(1), smx::no_mask{}, smx::gradients(dx));
    }
    // [/logarithms]
    if (!example::succeeded(s)) return false;
    std::vector<double> const p = example::plain_softmax(
        2, 3, [&](long long row, int col) { return static_cast<double>(logits[row * 3 + col]); });
    std::vector<double> expected;
    for (std::size_t i = 0; i < 6; ++i) expected.push_back(static_cast<double>(dz[i]) + p[i]);
    return z[3] == -300 && example::agrees("gradients of scores from log-probabilities", {dx, dx + 6}, expected, 1e-6);
}

}  // namespace

int main() {
    bool const gpu = example::gpu_found();
    int const rows = 300, keys = 500;
    smx::extents const shape(rows, keys);
    auto const count = static_cast<std::size_t>(rows) * keys;
    auto const halves = [&](float spread, std::uint32_t seed) {
        return example::as_halves(example::numbers(count, spread, seed));
    };
    example::array<__half> x(gpu, halves(16.0f, 1)), y(gpu, count), saved(gpu, count), dy(gpu, halves(1.0f, 7)),
        dx(gpu, count);
    example::array<unsigned long long> state(gpu, {42, 1});

    smx::status s = gpu ? forward(nullptr, x.get(), state.get(), y.get(), saved.get(), shape)
                        : forward_on_host(x.get(), state.get(), y.get(), saved.get(), shape);
    if (!example::succeeded(s)) return 1;
    s = gpu ? backward(nullptr, saved.get(), dy.get(), state.get(), dx.get(), shape)
            : backward_on_host(saved.get(), dy.get(), state.get(), dx.get(), shape);
    if (!example::succeeded(s)) return 1;

    // What was kept shows in y; the gradient goes the same way.
    std::vector<float> const p = example::as_floats(saved.content()), dropped = example::as_floats(y.content()),
                             given = example::as_floats(dy.content());
    double const by = 65536.0 / (65536 - 6554);  // 1 / (1 - p): 0.1 is drawn as 6554 of 65536
    std::vector<double> expected_y, expected_dx;
    long long visible = 0, kept = 0;
    for (std::size_t row = 0; row < count; row += keys) {
        std::vector<double> reached;
        double inner = 0;
        for (std::size_t k = row; k < row + keys; ++k) {
            bool const is_kept = dropped[k] != 0;
            visible += p[k] != 0 ? 1 : 0;
            kept += is_kept ? 1 : 0;
            expected_y.push_back(is_kept ? by * static_cast<double>(p[k]) : 0);
            reached.push_back(is_kept ? by * static_cast<double>(given[k]) : 0);
            inner += reached.back() * static_cast<double>(p[k]);
        }
        for (std::size_t k = 0; k < keys; ++k)
            expected_dx.push_back(static_cast<double>(p[row + k]) * (reached[k] - inner) / 8);
    }
    std::printf("%lld of %lld visible columns were kept\n", kept, visible);
    bool const right = example::agrees("probabilities", dropped, expected_y, 1e-3) &&
                       example::agrees("gradients", example::as_floats(dx.content()), expected_dx, 1e-4);
    bool const as_many = kept > visible * 8 / 10 && kept <= visible;
    return right && as_many && log_probabilities_are_right() ? 0 : 1;
}
