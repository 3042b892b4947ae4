// The kernels of the forward pass for scores of half.
#include "forward.cuh"

template smx::status smx_torch::forward_on_gpu<smx::half>(cudaStream_t, smx_torch::forward_call const&);
