// launch_auto on float scores without a mask.
#include "launchers.cuh"

namespace bench {

template <>
smx::status launch_dense<float>(cudaStream_t stream, call const& c) {
    return launch_automatic<float>(stream, c, smx::no_mask());
}

}  // namespace bench
