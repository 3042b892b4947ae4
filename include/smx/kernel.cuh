// The kernels: __global__ templates, nothing else.
#pragma once
#include "group/cluster.cuh"
#include "policy.hpp"
#include "row/bulk.cuh"

SMX_BEGIN_KERNELS

// Runs every row of a call, Kernel::rows_per_block a block, or a cluster where blocks share a row.
// Requires  grid.x * grid.y blocks cover o.rows.count(); blockDim.x == Kernel::threads; dynamic shared memory of Kernel::shared_bytes(...);
//           clusters of Kernel::blocks along x, which divide grid.x
template <class Kernel, class Operands>
__global__ void __launch_bounds__(Kernel::threads, Kernel::blocks_per_sm(detail::mask_traits_of<typename Operands::seen_type>,
                                                                         int{sizeof(typename Operands::compute)}))
    softmax_kernel(Operands const __grid_constant__ o) {
    using group_type = typename Kernel::group;
    extern __shared__ __align__(128) unsigned char smx_dynamic_shared[];
    __shared__ typename group_type::storage storage;
    __shared__ uint64 barrier;
    static_assert(sizeof(storage) + sizeof(barrier) <= static_shared_bytes, "more shared memory than launches count on");
    int64 const block = static_cast<int64>(blockIdx.y) * gridDim.x + blockIdx.x;
    int64 const first = block / Kernel::blocks * Kernel::rows_per_block;
    if (first >= o.rows.count()) return;  // the whole block or cluster, and later a whole group, leaves: none waits for it
    group_type g(storage);
    int const group = Kernel::threads <= Kernel::lanes ? 0 : static_cast<int>(threadIdx.x) / Kernel::lanes;
    Kernel::run(g, o, first, group, smx_dynamic_shared, &barrier);
}

SMX_END_KERNELS
