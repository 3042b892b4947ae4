// The host path of a backward pass that adds up the gradients of a bias and of the scale.
#include "fuzz/host_runner.hpp"

namespace fuzz {

std::vector<runner> summed_host() {
    using smx::bfloat16;
    using smx::half;
    return {
        on_host<family::none, way::from_saved_summed, half>(),
        on_host<family::tree, way::from_saved_summed, float>(),
        on_host<family::tree, way::from_saved_summed, bfloat16, half, float>(),
        on_host<family::composed, way::from_saved_summed, half>(),
        on_host<family::composed, way::from_scores_scaled, half>(),
        on_host<family::composed, way::from_scores_summed, half, float>(),
        on_host<family::tree, way::from_scores_summed, double>(),
        on_host<family::composed, way::from_scores_logarithms_summed, float>(),
    };
}

}  // namespace fuzz
