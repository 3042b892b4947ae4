// The kernels of the forward pass for scores of bfloat16.
#include "forward.cuh"

template smx::status smx_torch::forward_on_gpu<smx::bfloat16>(cudaStream_t, smx_torch::forward_call const&);
