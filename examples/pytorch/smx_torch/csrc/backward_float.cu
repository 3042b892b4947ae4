#include "backward.cuh"

template smx::status smx_torch::backward_on_gpu<float>(cudaStream_t, smx_torch::backward_call const&);
