// The kernels, and the groups that their threads make.
#pragma once
#include "group/cluster.cuh"
#include "kernel_types.hpp"
#include "row/bulk.cuh"

SMX_BEGIN_KERNELS

namespace in_kernel {

// The group of a thread of softmax_kernel, for values of at most two Computes.
template <class Group, class Compute>
struct group_made : Group {
    SMX_DEVICE explicit group_made(typename Group::storage& storage) : Group(storage) {}
};
// Groups without a row end, or stay with the others: none of a warp waits elsewhere.
template <int Lanes, class Compute>
struct group_made<warp_group<Lanes>, Compute> : warp_group<Lanes> {
    SMX_DEVICE explicit group_made(typename warp_group<Lanes>::storage&) : warp_group<Lanes>(warp_group<Lanes>::in_step()) {}
};
template <int Threads, int Blocks, class Compute>
struct group_made<cluster_group<Threads, Blocks>, Compute> : detail::cluster_lanes<Threads, Blocks, 2 * int{sizeof(Compute)}> {
    using base = detail::cluster_lanes<Threads, Blocks, 2 * int{sizeof(Compute)}>;
    SMX_DEVICE explicit group_made(typename base::storage& storage) : base(storage, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x)) {}
};

// Beside the kernel: nvcc 11 does not read a template's name among launch bounds.
template <class Kernel, class Operands>
SMX_HD constexpr int blocks_per_sm() {
    return Kernel::blocks_per_sm(detail::traits_of<Operands>, int{sizeof(typename Operands::compute)}, Kernel::template held_bytes<Operands>);
}

// One that lets the next kernel start when it begins to load its row.
template <class Group, class Compute>
struct group_of : group_made<Group, Compute> {
    using group_made<Group, Compute>::group_made;
    bool tells_next = true;
    SMX_DEVICE void loads_begin() const {
        if (tells_next) ptx::start_next_kernel();
    }
};

}  // namespace in_kernel

// Runs every row of a call, forward or backward, Kernel::rows_per_block a block, or a cluster where blocks share a row.
// Requires  grid.x * grid.y blocks cover o.rows.count(), or where blocks share a row, grid.x == clusterDim.x <= Kernel::blocks and grid.y * grid.z
//           cover it; blockDim.x == Kernel::threads; dynamic shared memory of Kernel::shared_bytes(...); of what launches add to o (launch_checked),
//           o.rows.share(...) where blocks share a row, and o.whole.launch_as(...) where Kernel takes whole rows
template <class Kernel, class Operands>
__global__ void __launch_bounds__(Kernel::threads, in_kernel::blocks_per_sm<Kernel, Operands>())
    softmax_kernel(Operands const SMX_GRID_CONSTANT o) {
    using group_type = in_kernel::group_of<typename Kernel::group, typename Operands::compute>;
    extern __shared__ __align__(128) unsigned char smx_dynamic_shared[];
    __shared__ typename group_type::storage storage;
    __shared__ uint64 barrier;
    static_assert(sizeof(storage) + sizeof(barrier) <= static_shared_bytes, "more shared memory than launches count on");
    int const group = Kernel::threads <= Kernel::lanes ? 0 : static_cast<int>(threadIdx.x) / Kernel::lanes;
    if constexpr (Kernel::template takes_whole_rows<Operands>) {
        if (o.whole.count != 0) {
            unsigned const index = (Kernel::blocks > 1 ? blockIdx.y : blockIdx.x) * Kernel::rows_per_block + static_cast<unsigned>(group);
            if (index >= o.whole.count) return;
            if (o.whole.starts_early) ptx::wait_for_previous_kernel();
            group_type g(storage);
            g.tells_next = o.whole.starts_early;
            smx::run_whole_row<typename Kernel::template tile_of<Operands>>(g, o, index);
            return;
        }
    }
    // The blocks of a cluster lie along x, and nothing else does.
    int64 block = Kernel::blocks > 1 ? blockIdx.y : blockIdx.x;
    unsigned const outer = Kernel::blocks > 1 ? blockIdx.z : blockIdx.y;
    if (outer != 0) block += static_cast<int64>(outer) * (Kernel::blocks > 1 ? ptx::grid_height() : ptx::grid_width());
    int64 const first = block * Kernel::rows_per_block;
    if (first >= o.rows.count()) return;  // the whole block or cluster, and later a whole group, leaves: none waits for it
    ptx::wait_for_previous_kernel();
    group_type g(storage);
    Kernel::run(g, o, first, group, smx_dynamic_shared, &barrier);
}

SMX_END_KERNELS
