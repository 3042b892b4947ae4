// Backward passes on a GPU: every body and group, from saved probabilities and from scores, with a dropout and without.
#include "fuzz/gpu_runner.cuh"

namespace fuzz {

std::vector<runner> backward_gpu() {
    using device::automatic;
    using device::automatic_among;
    using smx::block_group;
    using smx::chunked_online;
    using smx::cluster_group;
    using smx::compact;
    using smx::half;
    using smx::resident;
    using smx::warp_group;
    return {
        on_gpu<automatic, family::none, way::from_saved, float>(),
        on_gpu<resident<smx::thread_group, 4, 8>, family::none, way::from_saved, float>(),
        on_gpu<resident<warp_group<8>, 8, 2>, family::composed, way::from_saved, half>(),
        on_gpu<resident<block_group<64>, 8, 2>, family::composed, way::from_saved, half>(),
        on_gpu<compact<block_group<64>, 8, 4>, family::composed, way::from_saved, half>(),
        on_gpu<compact<cluster_group<64, 4>, 8, 4>, family::composed, way::from_saved, half>(),
        on_gpu<chunked_online<warp_group<32>, 8, 2>, family::composed, way::from_saved, half>(),
        on_gpu<resident<warp_group<32>, 4, 3>, family::composed, way::from_saved_kept, float>(),
        on_gpu<resident<cluster_group<64, 4>, 4, 2>, family::composed, way::from_saved_kept, float>(),
        on_gpu<chunked_online<block_group<64>, 4, 1>, family::composed, way::from_saved_kept, float>(),
        on_gpu<automatic_among<smx::for_columns<0, 600>>, family::causal, way::from_saved_kept, half>(),
        on_gpu<resident<warp_group<16>, 8, 2>, family::composed, way::from_scores, half, float>(),
        on_gpu<resident<block_group<64>, 8, 2>, family::composed, way::from_scores, half, float>(),
        on_gpu<chunked_online<block_group<64>, 8, 1>, family::composed, way::from_scores, half, float>(),
        on_gpu<resident<warp_group<8>, 8, 2>, family::composed, way::from_saved_dropped, half>(),
        on_gpu<resident<block_group<64>, 8, 2>, family::composed, way::from_saved_dropped, half>(),
        on_gpu<resident<cluster_group<64, 2>, 8, 2>, family::composed, way::from_saved_dropped, half>(),
        on_gpu<chunked_online<warp_group<32>, 8, 1>, family::composed, way::from_saved_dropped, half>(),
    };
}

}  // namespace fuzz
