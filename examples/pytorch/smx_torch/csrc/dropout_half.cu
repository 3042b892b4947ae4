// The kernels of both passes behind a dropout for scores of half.
#include "dropout.cuh"

template smx::status smx_torch::dropout_on_gpu<smx::half>(cudaStream_t, smx_torch::forward_call const&);
template smx::status smx_torch::dropout_backward_on_gpu<smx::half>(cudaStream_t, smx_torch::dropout_backward_call const&);
