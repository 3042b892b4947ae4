// Probabilities stored in another type than the scores, wider and narrower.
#include "device/runners.cuh"

namespace device {

namespace {

template <class X, class Y>
runner_list converting() {
    constexpr int vec = smx::pack_columns_of<smx::dense_input<X>>;
    return kernels<X, Y, family::structured>(
        smx::kernel_list<smx::resident<smx::warp_group<8>, vec, 4>, smx::compact<smx::warp_group<8>, vec, 5>,
                         smx::chunked_staged<smx::block_group<64>, vec, 2>>());
}

}  // namespace

runner_list mixed_kernels() {
    runner_list all;
    for (auto const& part :
         {converting<smx::half, float>(), converting<smx::half, smx::bfloat16>(),
          converting<smx::bfloat16, smx::half>(), converting<smx::bfloat16, float>(), converting<float, smx::half>(),
          converting<float, smx::bfloat16>(), converting<float, double>(), converting<double, float>(),
          converting<double, smx::half>()}) {
        all = joined(all, part);
    }
    return all;
}

}  // namespace device
