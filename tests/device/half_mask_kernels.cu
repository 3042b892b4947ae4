// Every family of masks on one kernel of each kind of group and body, for half scores.
#include "device/runners.cuh"

namespace device {

namespace {

using few =
    smx::kernel_list<smx::detail::with_whole_rows<smx::resident<smx::warp_group<4>, 8, 2>>,
                     smx::detail::with_whole_rows<smx::resident<smx::block_group<64>, 8, 2>>,
                     smx::compact<smx::warp_group<32>, 8, 3>, smx::deep<smx::block_group<64>, 8, 1, 4>,
                     smx::detail::with_whole_rows<smx::resident<smx::cluster_group<64, 2>, 8, 2>>,
                     smx::chunked_staged<smx::block_group<128>, 8, 2>, smx::chunked_online<smx::warp_group<32>, 8, 2>>;

template <family... Families>
runner_list kernels_of() {
    runner_list all;
    for (auto const& part : {kernels<smx::half, smx::half, Families>(few())...}) all = joined(all, part);
    return all;
}

}  // namespace

runner_list half_mask_kernels() {
    return kernels_of<family::causal, family::lengths, family::flags, family::hidden_flags, family::bits, family::bias,
                      family::half_bias, family::structured_bits, family::either_of, family::either_bits,
                      family::two_ends, family::written, family::predicate>();
}

}  // namespace device
