// The kernels for scores of dtype bf16.
#include "gpu_launch.cuh"

template smx::status launch_on_gpu<smx::bfloat16>(call const&, cudaStream_t);
