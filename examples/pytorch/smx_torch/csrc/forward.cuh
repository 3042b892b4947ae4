// The forward pass of one type of scores, by smx::launch_auto.
#pragma once
#include "on_stream.cuh"

namespace smx_torch {

template <class Element>
smx::status forward_on_gpu(cudaStream_t stream, forward_call const& c) {
    return run_forward<Element>(on_stream{stream}, c);
}

}  // namespace smx_torch
