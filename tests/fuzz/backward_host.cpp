// The host path of a backward pass.
#include "fuzz/host_runner.hpp"

namespace fuzz {

std::vector<runner> backward_host() {
    using smx::bfloat16;
    using smx::half;
    return {
        on_host<family::none, way::from_saved, float>(),
        on_host<family::tree, way::from_saved, float>(),
        on_host<family::tree, way::from_saved, half>(),
        on_host<family::tree, way::from_saved, bfloat16, half, float>(),
        on_host<family::tree, way::from_saved, double>(),
        on_host<family::composed, way::from_saved, half>(),
        on_host<family::composed, way::from_saved_kept, float>(),
        on_host<family::causal, way::from_saved_kept, half>(),
        on_host<family::tree, way::from_scores, float>(),
        on_host<family::tree, way::from_scores, half>(),
        on_host<family::composed, way::from_scores, half, float>(),
        on_host<family::composed, way::from_saved_logarithms, half>(),
        on_host<family::composed, way::from_scores_logarithms, float>(),
        on_host<family::tree, way::from_saved_logarithms, float>(),
        on_host<family::tree, way::from_scores_logarithms, half>(),
        on_host<family::tree, way::from_saved_dropped, float>(),
        on_host<family::composed, way::from_saved_dropped, half>(),
    };
}

}  // namespace fuzz
