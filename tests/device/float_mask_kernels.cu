// Every family of masks on a resident and a chunked kernel, for float scores.
#include "device/runners.cuh"

namespace device {

namespace {

using few = smx::kernel_list<smx::detail::with_whole_rows<smx::resident<smx::warp_group<32>, 4, 2>>,
                             smx::chunked_staged<smx::block_group<64>, 4, 2>>;

template <family... Families>
runner_list kernels_of() {
    runner_list all;
    for (auto const& part : {kernels<float, float, Families>(few())...}) all = joined(all, part);
    return all;
}

}  // namespace

runner_list float_mask_kernels() {
    return kernels_of<family::causal, family::lengths, family::flags, family::hidden_flags, family::bits, family::bias,
                      family::half_bias, family::structured_bits, family::either_of, family::either_bits,
                      family::two_ends, family::written, family::predicate>();
}

}  // namespace device
