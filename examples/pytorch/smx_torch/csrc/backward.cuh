// The backward pass of one type of probabilities, by smx::launch_auto_backward.
#pragma once
#include "on_stream.cuh"

namespace smx_torch {

template <class Element>
smx::status backward_on_gpu(cudaStream_t stream, backward_call const& c) {
    return run_backward<Element>(on_stream{stream}, c);
}

template <class Element>
smx::status backward_with_bias_on_gpu(cudaStream_t stream, backward_call const& c) {
    return run_backward_with_bias<Element>(on_stream{stream}, c);
}

}  // namespace smx_torch
