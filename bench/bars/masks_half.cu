// launch_auto on half scores with one mask.
#include "launchers.cuh"

namespace bench {

smx::status launch_causal_half(cudaStream_t stream, call const& c) {
    return launch_automatic<smx::half>(stream, c, causal_of(c));
}
smx::status launch_flags_half(cudaStream_t stream, call const& c) {
    return launch_automatic<smx::half>(stream, c, flags_of(c));
}
smx::status launch_bits_half(cudaStream_t stream, call const& c) {
    return launch_automatic<smx::half>(stream, c, bits_of(c));
}
smx::status launch_bias_half(cudaStream_t stream, call const& c) {
    return launch_automatic<smx::half>(stream, c, bias_of<smx::half>(c));
}

}  // namespace bench
