// The kernels for scores of dtype f32.
#include "gpu_launch.cuh"

template smx::status launch_on_gpu<float>(call const&, cudaStream_t);
