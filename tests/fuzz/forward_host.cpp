// The host path: every way of a forward pass, and every family of masks.
#include "fuzz/host_runner.hpp"

namespace fuzz {

std::vector<runner> forward_host() {
    using smx::bfloat16;
    using smx::half;
    return {
        on_host<family::none, way::probabilities, float>(),
        on_host<family::none, way::probabilities, half>(),
        on_host<family::causal, way::probabilities, float>(),
        on_host<family::causal, way::kept, bfloat16>(),
        on_host<family::one, way::probabilities, half>(),
        on_host<family::one, way::probabilities, bfloat16, float>(),
        on_host<family::composed, way::probabilities, float>(),
        on_host<family::composed, way::probabilities, half>(),
        on_host<family::composed, way::kept, float>(),
        on_host<family::tree, way::kept, half, float>(),
        on_host<family::none, way::logarithms, half>(),
        on_host<family::composed, way::logarithms, float>(),
        on_host<family::tree, way::logarithms, float>(),
        on_host<family::tree, way::logarithms, half>(),
        on_host<family::tree, way::logarithms, double, float>(),
        on_host<family::tree, way::dropped, float>(),
        on_host<family::tree, way::dropped, half, bfloat16>(),
        on_host<family::none, way::dropped, half>(),
        on_host<family::composed, way::dropped, float>(),
    };
}

}  // namespace fuzz
