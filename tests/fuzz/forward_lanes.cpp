// The bodies of a forward pass on emulated lanes: each of them, every width of a group, masks whose types are the
// library's own and masks of any parts.
#include "fuzz/lanes_runner.hpp"

namespace fuzz {

std::vector<runner> forward_lanes() {
    using smx::bfloat16;
    using smx::half;
    constexpr auto scores = smx::kept::scores, weights = smx::kept::weights, stored = smx::kept::stored;
    return {
        on_lanes<resident<weights, 4, 8, 4>, family::none, way::probabilities, float>(),
        on_lanes<resident<weights, 32, 4, 2>, family::none, way::probabilities, float>(),
        on_lanes<staged<weights, 8, 4, 2>, family::none, way::probabilities, float>(),
        on_lanes<resident<stored, 8, 8, 4>, family::none, way::probabilities, half>(),
        on_lanes<resident<stored, 4, 8, 2, 3>, family::none, way::probabilities, half>(),
        on_lanes<resident<weights, 2, 4, 8>, family::causal, way::probabilities, float>(),
        on_lanes<online<8, 4, 2>, family::causal, way::probabilities, float>(),
        on_lanes<resident<weights, 16, 8, 8>, family::causal, way::kept, bfloat16>(),
        on_lanes<resident<stored, 4, 8, 4>, family::one, way::probabilities, half>(),
        on_lanes<resident<stored, 16, 8, 6>, family::one, way::probabilities, half>(),
        on_lanes<resident<stored, 4, 8, 2, 4>, family::one, way::probabilities, half>(),
        on_lanes<resident<weights, 1, 16, 8>, family::one, way::probabilities, bfloat16, float>(),
        on_lanes<resident<weights, 8, 4, 4>, family::composed, way::probabilities, float>(),
        on_lanes<resident<weights, 8, 1, 32>, family::composed, way::probabilities, float>(),
        on_lanes<resident<weights, 8, 4, 3, 5>, family::composed, way::probabilities, float>(),
        on_lanes<staged<weights, 4, 8, 2>, family::composed, way::probabilities, float>(),
        on_lanes<online<4, 4, 3>, family::composed, way::probabilities, float>(),
        on_lanes<resident<weights, 32, 8, 2>, family::composed, way::probabilities, half>(),
        on_lanes<resident<weights, 4, 16, 4>, family::composed, way::probabilities, half>(),
        on_lanes<staged<weights, 8, 8, 1>, family::composed, way::probabilities, half>(),
        on_lanes<resident<scores, 8, 2, 16>, family::composed, way::kept, float>(),
        on_lanes<online<2, 8, 4>, family::composed, way::kept, float>(),
        on_lanes<resident<weights, 8, 8, 8>, family::tree, way::probabilities, float>(),
        on_lanes<online<16, 4, 1>, family::tree, way::probabilities, float>(),
        on_lanes<resident<weights, 1, 8, 32>, family::tree, way::probabilities, half>(),
        on_lanes<resident<weights, 8, 2, 8>, family::tree, way::probabilities, double>(),
        on_lanes<resident<weights, 4, 8, 8>, family::tree, way::kept, half, float>(),
        on_lanes<resident<scores, 4, 4, 8>, family::tree, way::logarithms, float>(),
        on_lanes<staged<scores, 8, 4, 1>, family::tree, way::logarithms, float>(),
        on_lanes<online<4, 8, 2>, family::tree, way::logarithms, half>(),
        on_lanes<resident<weights, 8, 4, 4>, family::tree, way::dropped, float>(),
        on_lanes<online<4, 2, 4>, family::tree, way::dropped, float>(),
        on_lanes<staged<weights, 2, 8, 2>, family::tree, way::dropped, half, bfloat16>(),
        on_lanes<resident<weights, 16, 8, 2>, family::none, way::dropped, half>(),
    };
}

}  // namespace fuzz
