// launch_auto on bfloat16 scores without a mask.
#include "launchers.cuh"

namespace bench {

template <>
smx::status launch_dense<smx::bfloat16>(cudaStream_t stream, call const& c) {
    return launch_automatic<smx::bfloat16>(stream, c, smx::no_mask());
}

}  // namespace bench
