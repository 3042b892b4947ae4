// The bodies of a backward pass on emulated lanes.
#include "fuzz/lanes_runner.hpp"

namespace fuzz {

std::vector<runner> backward_lanes() {
    using smx::bfloat16;
    using smx::half;
    return {
        on_lanes<backward<waits::as_numbers, 8, 4, 4>, family::none, way::from_saved, float>(),
        on_lanes<backward<waits::as_numbers, 4, 4, 16>, family::tree, way::from_saved, float>(),
        on_lanes<backward<waits::nowhere, 8, 4, 1>, family::tree, way::from_saved, float>(),
        on_lanes<backward<waits::as_stored, 8, 8, 4>, family::tree, way::from_saved, half>(),
        on_lanes<backward<waits::as_numbers, 2, 8, 8>, family::tree, way::from_saved, bfloat16, half, float>(),
        on_lanes<backward<waits::as_stored, 4, 8, 8>, family::composed, way::from_saved, half>(),
        on_lanes<backward<waits::nowhere, 4, 8, 2>, family::composed, way::from_saved, half>(),
        on_lanes<backward<waits::as_numbers, 32, 4, 2>, family::composed, way::from_saved_kept, float>(),
        on_lanes<backward<waits::nowhere, 2, 4, 4>, family::composed, way::from_saved_kept, float>(),
        on_lanes<backward<waits::as_numbers, 8, 4, 4>, family::tree, way::from_scores, float>(),
        on_lanes<backward<waits::nowhere, 4, 8, 1>, family::tree, way::from_scores, half>(),
        on_lanes<backward<waits::as_numbers, 16, 8, 2>, family::composed, way::from_scores, half, float>(),
        on_lanes<backward<waits::as_numbers, 4, 2, 16>, family::tree, way::from_saved_logarithms, float>(),
        on_lanes<backward<waits::nowhere, 8, 8, 1>, family::tree, way::from_scores_logarithms, half>(),
        on_lanes<backward<waits::as_numbers, 8, 4, 2>, family::tree, way::from_saved_dropped, float>(),
        on_lanes<backward<waits::nowhere, 2, 8, 2>, family::composed, way::from_saved_dropped, half>(),
    };
}

}  // namespace fuzz
