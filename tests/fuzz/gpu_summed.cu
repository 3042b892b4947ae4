// Backward passes on a GPU that add up the gradients of a bias and of the scale: every body and group.
#include "fuzz/gpu_runner.cuh"

namespace fuzz {

std::vector<runner> summed_gpu() {
    using device::automatic_among;
    using smx::block_group;
    using smx::chunked_online;
    using smx::cluster_group;
    using smx::half;
    using smx::resident;
    using smx::warp_group;
    return {
        on_gpu<automatic_among<smx::for_columns<0, 600>>, family::none, way::from_saved_summed, half>(),
        on_gpu<smx::compact<block_group<64>, 8, 4>, family::none, way::from_saved_summed, half>(),
        on_gpu<resident<warp_group<8>, 8, 2>, family::composed, way::from_saved_summed, half>(),
        on_gpu<resident<cluster_group<64, 2>, 8, 2>, family::composed, way::from_saved_summed, half>(),
        on_gpu<chunked_online<warp_group<32>, 8, 1>, family::composed, way::from_saved_summed, half>(),
        on_gpu<resident<block_group<64>, 8, 2>, family::composed, way::from_scores_scaled, half>(),
        on_gpu<resident<smx::thread_group, 4, 8>, family::composed, way::from_scores_summed, half, float>(),
        on_gpu<resident<block_group<64>, 8, 2>, family::composed, way::from_scores_summed, half, float>(),
        on_gpu<chunked_online<cluster_group<64, 2>, 8, 1>, family::composed, way::from_scores_summed, half, float>(),
        on_gpu<resident<warp_group<32>, 4, 3>, family::composed, way::from_scores_logarithms_summed, float>(),
        on_gpu<chunked_online<block_group<64>, 4, 1>, family::composed, way::from_scores_logarithms_summed, float>(),
    };
}

}  // namespace fuzz
