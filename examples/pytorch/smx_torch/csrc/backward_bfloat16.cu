// The kernels of the backward pass for probabilities of bfloat16.
#include "backward.cuh"

template smx::status smx_torch::backward_on_gpu<smx::bfloat16>(cudaStream_t, smx_torch::backward_call const&);
template smx::status smx_torch::backward_with_bias_on_gpu<smx::bfloat16>(cudaStream_t, smx_torch::backward_call const&);
