// An input and an output of the user's own: scores that are stored as int8 with one step a row, and probabilities that
// are stored as bytes in units of 1/255.
#include <smx/smx.cuh>

#include "support/device.cuh"

// [input]
// score = step of the row * stored byte. Called with V = the kernel's pack and with V = 1.
struct int8_scores {
    signed char const* data;
    float const* steps;

    using compute = float;
    static constexpr int pack_columns = 8;  // what launch_auto would load at a time

    template <int V>
    SMX_HD smx::pack<float, V> load(smx::row_id row, int col) const {
        auto const bytes = smx::read_pack<V>(data + row.index * row.cols + col);
        smx::pack<float, V> scores;
        SMX_UNROLL
        for (int i = 0; i < V; ++i) scores[i] = steps[row.index] * static_cast<float>(bytes[i]);
        return scores;
    }
};
// [/input]

// [output]
// A probability p becomes the byte nearest to 255 p.
struct byte_probabilities {
    unsigned char* data;

    template <int V, class Compute>
    SMX_HD void store(smx::row_id row, int col, smx::pack<Compute, V> const& probabilities) const {
        SMX_UNROLL
        for (int i = 0; i < V; ++i)
            data[row.index * row.cols + col + i] =
                static_cast<unsigned char>(probabilities[i] * Compute(255) + Compute(0.5));
    }
};
// [/output]

int main() {
    bool const gpu = example::gpu_found();
    int const rows = 100, cols = 777;
    std::vector<float> const random = example::numbers(std::size_t{rows} * cols, 127.0f);
    std::vector<signed char> bytes;
    for (float const number : random) bytes.push_back(static_cast<signed char>(number));
    std::vector<float> steps(rows);
    for (int row = 0; row < rows; ++row)
        steps[static_cast<std::size_t>(row)] = 0.01f + 0.001f * static_cast<float>(row);

    example::array<signed char> stored(gpu, bytes);
    example::array<float> step(gpu, steps), y(gpu, bytes.size());
    example::array<unsigned char> y_bytes(gpu, bytes.size());

    // [call]
    using kernel = smx::resident<smx::warp_group<32>, 16, 2>;
    auto const in = smx::scores_from(int8_scores{stored.get(), step.get()}, {rows, cols});
    auto const run = [&](auto const& out) {
        return gpu ? smx::launch<kernel>(nullptr, in, smx::fixed_scale(1), smx::no_mask{}, out)
                   : smx::softmax_on_host(in, smx::fixed_scale(1), smx::no_mask{}, out);
    };
    smx::status const to_floats = run(smx::probabilities(y.get()));
    smx::status const to_bytes = run(byte_probabilities{y_bytes.get()});
    // [/call]
    if (!example::succeeded(to_floats) || !example::succeeded(to_bytes)) return 1;

    auto const expected = example::plain_softmax(rows, cols, [&](long long row, int col) {
        auto const index = static_cast<std::size_t>(row * cols + col);
        return static_cast<double>(steps[static_cast<std::size_t>(row)] * static_cast<float>(bytes[index]));
    });
    std::vector<float> from_bytes;
    for (unsigned char const byte : y_bytes.content()) from_bytes.push_back(static_cast<float>(byte) / 255.0f);
    bool const good = example::agrees("int8 in, float out", y.content(), expected, 1e-6);
    return example::agrees("int8 in, bytes out", from_bytes, expected, 0.51 / 255) && good ? 0 : 1;
}
