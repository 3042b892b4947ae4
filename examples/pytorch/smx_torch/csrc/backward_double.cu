// The kernels of the backward pass for probabilities of double.
#include "backward.cuh"

template smx::status smx_torch::backward_on_gpu<double>(cudaStream_t, smx_torch::backward_call const&);
