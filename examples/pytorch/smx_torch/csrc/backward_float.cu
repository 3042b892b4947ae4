// The kernels of the backward pass for probabilities of float.
#include "backward.cuh"

template smx::status smx_torch::backward_on_gpu<float>(cudaStream_t, smx_torch::backward_call const&);
template smx::status smx_torch::backward_with_bias_on_gpu<float>(cudaStream_t, smx_torch::backward_call const&);
