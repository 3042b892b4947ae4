// The kernels of each type of scores. Types and directions have files of their own, which compile side by side.
// Cost      (nvcc 13.0, one architecture, one core) forward 70 s and 5.7 MB, backward 40 s and 3.0 MB for each of half, bfloat16 and float;
//           both behind a dropout 65 s and 3.5 MB. The gradient of a bias in the same kernel adds a sixth to the backward pass of half, two fifths to
//           that of float (--Ofast-compile=mid: 39 to 46 s, 26 to 38 s)
#pragma once
#include <cuda_runtime_api.h>

#include "call.hpp"

namespace smx_torch {

template <class Element>
smx::status forward_on_gpu(cudaStream_t stream, forward_call const& c);
template <class Element>
smx::status backward_on_gpu(cudaStream_t stream, backward_call const& c);
template <class Element>
smx::status backward_with_bias_on_gpu(cudaStream_t stream, backward_call const& c);
template <class Element>
smx::status dropout_on_gpu(cudaStream_t stream, forward_call const& c);
template <class Element>
smx::status dropout_backward_on_gpu(cudaStream_t stream, dropout_backward_call const& c);

}  // namespace smx_torch
