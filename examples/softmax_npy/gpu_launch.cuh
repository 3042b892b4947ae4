// The launch of a call on the GPU for one dtype of scores; each dtype is a translation unit of its own, so that they
// compile side by side.
#pragma once

#include <smx/smx.cuh>

#include "call.hpp"

template <class In>
smx::status launch_on_gpu(call const& c, cudaStream_t stream) {
    return with_input<In>(c, [&](auto const&... parts) { return smx::launch_auto(stream, parts...); });
}
