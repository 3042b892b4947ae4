// The kernels of the forward pass for scores of float.
#include "forward.cuh"

template smx::status smx_torch::forward_on_gpu<float>(cudaStream_t, smx_torch::forward_call const&);
