// The backward pass of one type of probabilities, by smx::launch_auto_backward.
#pragma once
#include <smx/smx.cuh>

#include "cuda.hpp"
#include "run.hpp"

namespace smx_torch {

struct on_stream {
    cudaStream_t stream;
    template <class... Parts>
    smx::status backward(Parts const&... parts) const {
        return smx::launch_auto_backward(stream, parts...);
    }
};

template <class Element>
smx::status backward_on_gpu(cudaStream_t stream, backward_call const& c) {
    return run_backward<Element>(on_stream{stream}, c);
}

}  // namespace smx_torch
