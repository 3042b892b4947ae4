// The kernels for scores of dtype f64.
#include "gpu_launch.cuh"

template smx::status launch_on_gpu<double>(call const&, cudaStream_t);
