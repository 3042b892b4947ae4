// The only part of the engine that is compiled by nvcc.
#include "attention.hpp"

#include <smx/smx.cuh>

// [launch]
smx::status launch(attention_softmax const& step, cudaStream_t stream) {
    return step.with_parts([&](auto const&... parts) { return smx::launch_auto(stream, parts...); });
}
// [/launch]
