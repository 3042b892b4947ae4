// The kernels of the forward pass for scores of double.
#include "forward.cuh"

template smx::status smx_torch::forward_on_gpu<double>(cudaStream_t, smx_torch::forward_call const&);
