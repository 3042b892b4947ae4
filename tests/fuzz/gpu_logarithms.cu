// Log-softmax on a GPU: every body and group, and its gradient, from saved logarithms and from scores.
#include "fuzz/gpu_runner.cuh"

namespace fuzz {

std::vector<runner> logarithms_gpu() {
    using device::automatic_among;
    using smx::block_group;
    using smx::chunked_online;
    using smx::chunked_staged;
    using smx::cluster_group;
    using smx::half;
    using smx::resident;
    using smx::warp_group;
    return {
        on_gpu<automatic_among<smx::for_columns<0, 600>>, family::none, way::logarithms, half>(),
        on_gpu<smx::compact<block_group<64>, 8, 4>, family::none, way::logarithms, half>(),
        on_gpu<chunked_online<block_group<64>, 8, 2>, family::none, way::logarithms, half>(),
        on_gpu<resident<smx::thread_group, 4, 8>, family::composed, way::logarithms, float>(),
        on_gpu<resident<warp_group<8>, 4, 4>, family::composed, way::logarithms, float>(),
        on_gpu<resident<cluster_group<64, 4>, 4, 2>, family::composed, way::logarithms, float>(),
        on_gpu<chunked_staged<warp_group<32>, 4, 2>, family::composed, way::logarithms, float>(),
        on_gpu<chunked_online<warp_group<32>, 4, 2>, family::composed, way::logarithms, float>(),
        on_gpu<resident<warp_group<8>, 8, 2>, family::composed, way::from_saved_logarithms, half>(),
        on_gpu<resident<block_group<64>, 8, 2>, family::composed, way::from_saved_logarithms, half>(),
        on_gpu<chunked_online<block_group<64>, 8, 1>, family::composed, way::from_saved_logarithms, half>(),
        on_gpu<resident<block_group<64>, 4, 2>, family::composed, way::from_scores_logarithms, float>(),
        on_gpu<chunked_online<warp_group<32>, 4, 2>, family::composed, way::from_scores_logarithms, float>(),
    };
}

}  // namespace fuzz
