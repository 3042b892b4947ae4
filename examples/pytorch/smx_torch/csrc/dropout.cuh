// Both passes of one type of scores behind a dropout, by smx::launch_auto and smx::launch_auto_backward.
#pragma once
#include "on_stream.cuh"

namespace smx_torch {

template <class Element>
smx::status dropout_on_gpu(cudaStream_t stream, forward_call const& c) {
    return run_dropout<Element>(on_stream{stream}, c);
}

template <class Element>
smx::status dropout_backward_on_gpu(cudaStream_t stream, dropout_backward_call const& c) {
    return run_dropout_backward<Element>(on_stream{stream}, c);
}

}  // namespace smx_torch
