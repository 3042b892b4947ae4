// The kernels for scores of dtype f16.
#include "gpu_launch.cuh"

template smx::status launch_on_gpu<smx::half>(call const&, cudaStream_t);
