#include "backward.cuh"

template smx::status smx_torch::backward_on_gpu<double>(cudaStream_t, smx_torch::backward_call const&);
