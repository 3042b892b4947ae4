// Kernels as NVRTC meets them, of half under a causal mask and one that is a tensor: a row by a warp, a block, a cluster, a bulk copy, and gradients.
#include <smx/kernel.cuh>
#include <smx/mask/causal.hpp>
#include <smx/mask/compose.hpp>
#include <smx/mask/tensor.hpp>

using seen = smx::both_mask<smx::causal_mask::of_shape, smx::flag_tensor<unsigned char, smx::nonzero::visible>>;
using scores = smx::dense_input<smx::half>;
using output = smx::dense_output<smx::half>;
using forward = smx::operands<scores, smx::fixed_scale, seen, output, smx::no_row_output>;
using unmasked = smx::operands<scores, smx::fixed_scale, smx::no_mask, output, smx::no_row_output>;
using backward = smx::backward_operands<scores, scores, smx::fixed_scale, seen, output>;

template __global__ void smx::softmax_kernel<smx::resident<smx::warp_group<32>, 8, 2>>(forward const __grid_constant__);
template __global__ void smx::softmax_kernel<smx::chunked_online<smx::block_group<128>, 8, 2>>(forward const __grid_constant__);
template __global__ void smx::softmax_kernel<smx::resident<smx::cluster_group<256, 8>, 8, 2>>(forward const __grid_constant__);
template __global__ void smx::softmax_kernel<smx::packed<smx::warp_group<32>, 8, 2>>(unmasked const __grid_constant__);
template __global__ void smx::softmax_kernel<smx::resident<smx::warp_group<32>, 8, 2>>(backward const __grid_constant__);
