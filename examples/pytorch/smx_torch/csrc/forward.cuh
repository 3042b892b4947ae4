// The forward pass of one type of scores, by smx::launch_auto.
#pragma once
#include <smx/smx.cuh>

#include "cuda.hpp"
#include "run.hpp"

namespace smx_torch {

struct on_stream {
    cudaStream_t stream;
    template <class... Parts>
    smx::status forward(Parts const&... parts) const {
        return smx::launch_auto(stream, parts...);
    }
};

template <class Element>
smx::status forward_on_gpu(cudaStream_t stream, forward_call const& c) {
    return run_forward<Element>(on_stream{stream}, c);
}

}  // namespace smx_torch
