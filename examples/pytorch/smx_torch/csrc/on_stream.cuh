// Where the kernels run: a stream, and the kernel that smx chooses for the rows.
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
    template <class... Parts>
    smx::status backward(Parts const&... parts) const {
        return smx::launch_auto_backward(stream, parts...);
    }
};

}  // namespace smx_torch
