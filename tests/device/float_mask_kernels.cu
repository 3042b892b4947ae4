// Every family of masks on one kernel of each kind of group and body, for float scores.
#include "device/runners.cuh"

namespace device {

using few =
    smx::kernel_list<smx::resident<smx::warp_group<4>, 4, 2>, smx::resident<smx::block_group<64>, 4, 2>,
                     smx::chunked_staged<smx::block_group<128>, 4, 2>, smx::chunked_online<smx::warp_group<32>, 4, 2>>;

template <family... Families>
runner_list kernels_of() {
    runner_list all;
    for (auto const& part : {kernels<float, float, Families>(few())...}) all = joined(all, part);
    return all;
}

runner_list float_mask_kernels() {
    return kernels_of<family::causal, family::lengths, family::flags, family::hidden_flags, family::bias,
                      family::half_bias, family::either_of, family::two_ends, family::written, family::predicate>();
}

}  // namespace device
