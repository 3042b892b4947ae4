// The kernel types: how the lanes that share a row hold it.
#pragma once
#include "policy.hpp"
#include "row/packed_rows.hpp"
#include "row/summed_backward.hpp"

SMX_BEGIN

namespace detail {

// Kernels whose lanes hold a row from its load to its store.
template <class Group, int Vec, int Packs, int Threads, body_kind Body, int Behind = 0>
struct in_registers : kernel_type<Group, Vec, Packs, Threads, Body, Behind> {
    static SMX_HD constexpr bool can_run(row_shape shape, device_limits limits) {
        return in_registers::has_blocks(limits) && shape.cols <= in_registers::value.columns();
    }

    template <class InKernel, class Operands>
    static SMX_HD void run(InKernel& g, Operands const& o, int64 first, int group, void* shared, uint64*) {
        using tile = typename in_registers::template tile_of<Operands>;
        int64 const index = first + group;
        if (index < o.rows.count()) smx::run_resident<tile>(g, o, index, shared);
    }
};

}  // namespace detail

// Each kernel type says by `plain` what is compiled for it: launch_auto's own types add when it runs, not what it does.

// The row waits in registers: up to lanes * Vec * Packs columns.
template <class Group, int Vec, int Packs, int Threads = detail::usual_threads<Group>>
struct resident : detail::in_registers<Group, Vec, Packs, Threads, body_kind::resident> {
    using plain = resident;
};

// The row waits in registers as it is stored, where that is less than numbers to compute with: 16-bit scores, to which nothing is added. Twice
// the columns a lane, and two exponentials each.
template <class Group, int Vec, int Packs, int Threads = detail::usual_threads<Group>>
struct compact : detail::in_registers<Group, Vec, Packs, Threads, body_kind::compact> {
    using plain = compact;
};

// The row waits as it is stored, of any type, where nothing is added to it: Packs a lane in registers, and what is left of it behind them in shared memory, up to
// Behind packs a lane.
template <class Group, int Vec, int Packs, int Behind>
struct deep : detail::in_registers<Group, Vec, Packs, detail::usual_threads<Group>, body_kind::deep, Behind> {
    using plain = deep;
    static_assert(deep::rows_per_block == 1, "packs behind the registers are of the one row of a block: write block_group or cluster_group");

    // At most as much behind the registers as in them, where blocks may be so many, and few blocks left over of what the 16 SMs of a GPC, which a
    // cluster lies within, take of 1024 threads each. H200, 800000 columns of half, 13 blocks of 512 threads 0.74 of copy, 16 blocks
    // (6 packs in registers) 0.88.
    static SMX_HD constexpr int blocks_for(row_shape shape) {
        constexpr int places = 16 * 1024 / deep::threads;
        int64 const of_block = int64{deep::lanes_per_slice} * Vec * (Packs + (Behind < Packs ? Behind : Packs));
        int64 const needed = (shape.cols + of_block - 1) / of_block;
        int blocks = needed < 2 ? 2 : needed < deep::blocks ? static_cast<int>(needed) : deep::blocks;
        while (blocks < deep::blocks && places % blocks > places / 16) ++blocks;
        return deep::blocks == 1 ? 1 : blocks;
    }
    // For whole rounds of packs, a pack a lane.
    static SMX_HD constexpr int64 shared_bytes(row_shape shape) {
        int64 const round = int64{deep::lanes_per_slice} * Vec, of_row = round * blocks_for(shape);
        int64 const rounds = (shape.cols + of_row - 1) / of_row;
        return rounds > Packs ? (rounds - Packs) * round * (shape.held_bytes != 0 ? shape.held_bytes : shape.compute_bytes) : 0;
    }
    static SMX_HD constexpr bool can_run(row_shape shape, device_limits limits) {
        return blocks_for(shape) <= limits.cluster_blocks && shape.cols <= deep::value.columns() &&
               shared_bytes(shape) + static_shared_bytes <= limits.shared_bytes_per_block;
    }
};

// Several rows that touch in memory move as one piece, by bulk copies: any length and address at the speed of the copy.
// RowsEach: that every group takes one after the other, so that the pieces of short rows are worth a block.
template <class Group, int Vec, int Packs, int Threads = detail::usual_threads<Group>, int RowsEach = 1>
struct packed : detail::kernel_type<Group, Vec, Packs, Threads, body_kind::packed, 0, RowsEach> {
    using plain = packed;
    static_assert(packed::lanes <= 32, "the lanes of a packed row lie in one warp");

    static SMX_HD constexpr int64 shared_bytes(row_shape shape) { return packed::rows_per_block * shape.cols * shape.element_bytes + 32; }
    static SMX_HD constexpr bool can_run(row_shape shape, device_limits limits) {
        return limits.bulk_copies && shape.rows_touch && shape.cols <= packed::value.columns() &&
               shared_bytes(shape) + static_shared_bytes <= limits.shared_bytes_per_block;
    }

    template <class InKernel, class Operands>
    static SMX_HD void run(InKernel& g, Operands const& o, int64 first, int, void* shared, uint64* barrier) {
        if constexpr (detail::can_touch<typename Operands::input_type, typename Operands::output_type>) {
            using tile_type = typename packed::template tile_of<Operands>;
            int64 const left = o.rows.count() - first;
            int const count = left < packed::rows_per_block ? static_cast<int>(left) : packed::rows_per_block;
            run_packed(block_of<tile_type, Threads, RowsEach>(), g, o, first, count, shared, barrier);
        }
    }
};

// Weights wait in shared memory, a chunk at a time: as long a row as the device has shared memory for.
template <class Group, int Vec, int Packs>
struct chunked_staged : detail::kernel_type<Group, Vec, Packs, detail::group_size<Group>, body_kind::staged> {
    using plain = chunked_staged;
    static_assert(detail::group_blocks<Group> == 1, "a staged row waits in the shared memory of one block: write resident or chunked_online");

    static SMX_HD constexpr int64 shared_bytes(row_shape shape) {
        using float_tile = typename chunked_staged::template tile_type<float, no_mask::row>;
        using double_tile = typename chunked_staged::template tile_type<double, no_mask::row>;
        return shape.compute_bytes == 4 ? staged<float>::template bytes<float_tile>(shape.cols)
                                        : staged<double>::template bytes<double_tile>(shape.cols);
    }
    static SMX_HD constexpr bool can_run(row_shape shape, device_limits limits) {
        return shared_bytes(shape) + static_shared_bytes <= limits.shared_bytes_per_block;
    }

    template <class InKernel, class Operands>
    static SMX_HD void run(InKernel& g, Operands const& o, int64 first, int, void* shared, uint64*) {
        using tile_type = typename chunked_staged::template tile_of<Operands>;
        smx::run_chunked<tile_type>(g, staged<typename Operands::compute, tile_type::keeps>(shared), o, first);
    }
};

// The row is read twice: any length, no memory.
template <class Group, int Vec, int Packs>
struct chunked_online : detail::kernel_type<Group, Vec, Packs, detail::usual_threads<Group>, body_kind::online> {
    using plain = chunked_online;
    static SMX_HD constexpr bool can_run(row_shape, device_limits limits) { return chunked_online::has_blocks(limits); }

    template <class InKernel, class Operands>
    static SMX_HD void run(InKernel& g, Operands const& o, int64 first, int group, void*, uint64*) {
        int64 const index = first + group;
        if (index < o.rows.count())
            smx::run_chunked<typename chunked_online::template tile_of<Operands>>(g, online(), o, index);
    }
};

SMX_END
