// The shortest program on the GPU: causal softmax of a 3 x 4 matrix.

// [program]
#include <smx/smx.cuh>

#include <cstdio>

int main() {
    float *x = nullptr, *y = nullptr;
    cudaError_t error = cudaMallocManaged(&x, 12 * sizeof(float));
    if (error == cudaSuccess) error = cudaMallocManaged(&y, 12 * sizeof(float));
    if (error != cudaSuccess) {
        std::printf("no GPU: %s\n", cudaGetErrorString(error));
        return 0;
    }
    for (int i = 0; i < 12; ++i) x[i] = static_cast<float>(1 + i % 4);

    cudaStream_t const stream = nullptr;
    smx::status const s = smx::launch_auto(stream, smx::scores(x, {3, 4}), smx::inv_sqrt(64),
                                           smx::causal_mask::bottom_right(), smx::probabilities(y));
    if (!s) {
        std::puts(smx::sentence(s).text);
        return 1;
    }
    if (cudaStreamSynchronize(stream) != cudaSuccess) return 1;
    for (int row = 0; row < 3; ++row) {
        std::printf("%.3f %.3f %.3f %.3f\n", y[4 * row], y[4 * row + 1], y[4 * row + 2], y[4 * row + 3]);
    }
    return y[3] == 0 && y[11] > 0.25f ? 0 : 1;  // the first query does not see the last key, the last one does
}
// [/program]
