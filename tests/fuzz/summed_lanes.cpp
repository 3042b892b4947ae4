// The bodies of such a backward pass on emulated lanes.
#include "fuzz/lanes_runner.hpp"
#include "smx/row/summed_backward.hpp"

namespace fuzz {

std::vector<runner> summed_lanes() {
    using smx::half;
    return {
        on_lanes<backward<waits::as_stored, 8, 8, 4>, family::none, way::from_saved_summed, half>(),
        on_lanes<backward<waits::as_numbers, 8, 4, 4>, family::tree, way::from_saved_summed, float>(),
        on_lanes<backward<waits::nowhere, 4, 4, 2>, family::tree, way::from_saved_summed, float>(),
        on_lanes<backward<waits::nowhere, 4, 8, 1>, family::composed, way::from_saved_summed, half>(),
        on_lanes<backward<waits::as_numbers, 16, 8, 2>, family::composed, way::from_scores_scaled, half>(),
        on_lanes<backward<waits::as_numbers, 2, 4, 8>, family::composed, way::from_scores_summed, half, float>(),
        on_lanes<backward<waits::nowhere, 8, 4, 1>, family::composed, way::from_scores_logarithms_summed, float>(),
    };
}

}  // namespace fuzz
