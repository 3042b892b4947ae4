// The kernels: __global__ templates, nothing else.
#pragma once
#include "group/block.cuh"
#include "policy.hpp"

SMX_BEGIN_KERNELS

// Runs every row of a call, `Kernel::rows_per_block` a block.
// Requires  grid.x * grid.y blocks cover o.rows.count(); blockDim.x == Kernel::threads; dynamic shared memory of
//           Kernel::shared_bytes<compute>(cols) bytes
template <class Kernel, class Operands>
SMX_HIDDEN __global__ void __launch_bounds__(Kernel::threads, Kernel::blocks_per_sm(Operands::asks_mask))
    softmax_kernel(Operands const __grid_constant__ o) {
    using group_type = typename Kernel::group;
    extern __shared__ __align__(16) unsigned char smx_dynamic_shared[];
    __shared__ typename group_type::storage storage;
    int64 const block = static_cast<int64>(blockIdx.y) * gridDim.x + blockIdx.x;
    int64 index = block;
    if constexpr (Kernel::rows_per_block > 1) index = block * Kernel::rows_per_block + threadIdx.x / group_type::size;
    if (index >= o.rows.count()) return;  // a group leaves as a whole, so none waits for it
    group_type g(storage);
    Kernel::run(g, o, index, smx_dynamic_shared);
}

SMX_END_KERNELS
