// A kernel that behaviour_test.cu instantiates too: each translation unit has its own.
#include "device/second_unit.cuh"

namespace device {

smx::status launch_in_second_unit(cudaStream_t on, float const* x, float* y, int rows, int cols) {
    return launch_shared_kernel(on, x, y, rows, cols);
}

}  // namespace device
