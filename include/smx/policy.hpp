// Kernel types and the numbers they stand for; which of them runs a row of a given length, and why.
#pragma once
#include <stdio.h>

#include "group.hpp"
#include "row/operands.hpp"

SMX_BEGIN

enum class body_kind { resident, staged, online };

// The numbers that name a kernel.
struct policy {
    body_kind body;
    int lanes;    // that share a row
    int threads;  // a block
    int vec;      // columns a pack
    int packs;    // a lane (and chunk)

    // Columns that fit the lanes' registers: the longest row of a resident kernel, the chunk of any other.
    constexpr int columns() const { return lanes * vec * packs; }
};

constexpr bool operator==(policy const& a, policy const& b) {
    return a.body == b.body && a.lanes == b.lanes && a.threads == b.threads && a.vec == b.vec && a.packs == b.packs;
}
constexpr bool operator!=(policy const& a, policy const& b) { return !(a == b); }

namespace detail {

template <class Group>
constexpr int usual_threads = 128;
template <int Lanes>
constexpr int usual_threads<warp_group<Lanes>> = 128;
template <int Threads>
constexpr int usual_threads<block_group<Threads>> = Threads;

template <class Group>
constexpr int group_size = Group::size;
template <int Lanes>
constexpr int group_size<warp_group<Lanes>> = Lanes;
template <int Threads>
constexpr int group_size<block_group<Threads>> = Threads;

// What kernel types have in common.
template <class Group, int Vec, int Packs, int Threads, body_kind Body>
struct kernel_type {
    using group = Group;
    static constexpr int lanes = group_size<Group>;
    static constexpr int threads = Threads;
    static constexpr int rows_per_block = Threads / lanes;
    static_assert(Threads % lanes == 0 && Threads >= 1 && Threads <= 1024, "a block holds whole groups, and at most 1024 threads");
    // Enough threads that other rows hide a row's latency, as far as registers allow: 64 a thread for 32 elements a lane, 80 where a mask
    // is asked for every pack, 128 for more elements.
    static constexpr int blocks_per_sm(bool asks_mask) {
        int const wanted = Body == body_kind::resident && Vec * Packs <= 32 ? (asks_mask ? 768 : 1024) : 512;
        return Threads < wanted ? wanted / Threads : 1;
    }
    static constexpr policy value{Body, lanes, Threads, Vec, Packs};

    template <class Compute>
    using tile_type = tile<lanes, Vec, Packs, Compute, Body == body_kind::online ? kept::scores : kept::weights>;
};

}  // namespace detail

// The row waits in registers: up to lanes * Vec * Packs columns.
template <class Group, int Vec, int Packs, int Threads = detail::usual_threads<Group>>
struct resident : detail::kernel_type<Group, Vec, Packs, Threads, body_kind::resident> {
    template <class Compute>
    static constexpr int64 shared_bytes(int64) {
        return 0;
    }
    static constexpr int64 longest_row = int64{resident::value.columns()};

    template <class Operands>
    static SMX_HD void run(Group& g, Operands const& o, int64 index, void*) {
        run_resident<typename resident::template tile_type<typename Operands::compute>>(g, o, index);
    }
};

// The scores wait in shared memory, a chunk at a time: as long a row as the device has shared memory for.
template <class Group, int Vec, int Packs>
struct chunked_staged : detail::kernel_type<Group, Vec, Packs, detail::group_size<Group>, body_kind::staged> {
    template <class Compute>
    static constexpr int64 shared_bytes(int64 cols) {
        return staged<Compute>::template bytes<typename chunked_staged::template tile_type<Compute>>(cols);
    }
    static constexpr int64 longest_row = most_columns;

    template <class Operands>
    static SMX_HD void run(Group& g, Operands const& o, int64 index, void* shared) {
        using compute = typename Operands::compute;
        run_chunked<typename chunked_staged::template tile_type<compute>>(g, staged<compute>(shared), o, index);
    }
};

// The row is read twice: any length, no memory.
template <class Group, int Vec, int Packs>
struct chunked_online : detail::kernel_type<Group, Vec, Packs, detail::usual_threads<Group>, body_kind::online> {
    template <class Compute>
    static constexpr int64 shared_bytes(int64) {
        return 0;
    }
    static constexpr int64 longest_row = most_columns;

    template <class Operands>
    static SMX_HD void run(Group& g, Operands const& o, int64 index, void*) {
        run_chunked<typename chunked_online::template tile_type<typename Operands::compute>>(g, online(), o, index);
    }
};

// What of a device decides between kernels.
struct device_limits {
    int64 shared_bytes_per_block = 48 * 1024;  // with opt-in, where the device has it
};

template <class... Kernels>
struct kernel_list {};

namespace detail {

// The kernels of launch_auto for elements that fill a 16-byte pack with Vec, shortest row first.
template <int Vec>
using automatic_kernels = kernel_list<
    resident<warp_group<2>, Vec, 2>, resident<warp_group<4>, Vec, 2>, resident<warp_group<8>, Vec, 2>, resident<warp_group<8>, Vec, 4>,
    resident<warp_group<16>, Vec, 4>, resident<warp_group<32>, Vec, 4>, resident<block_group<64>, Vec, 4>, resident<block_group<128>, Vec, 4>,
    resident<block_group<256>, Vec, 4>, resident<block_group<512>, Vec, 4>, resident<block_group<512>, Vec, 8>,
    chunked_staged<block_group<512>, Vec, 4>, chunked_online<block_group<512>, Vec, 4>>;

template <class Kernel, class Compute>
constexpr bool can_run(int64 cols, device_limits limits) {
    return cols <= Kernel::longest_row && Kernel::template shared_bytes<Compute>(cols) <= limits.shared_bytes_per_block;
}

// Calls visit(kernel) with the first kernel of the list that can run rows of this length; gives what it gives.
template <class Compute, class Visit, class Kernel, class... Rest>
constexpr auto with_first(kernel_list<Kernel, Rest...>, int64 cols, device_limits limits, Visit const& visit) {
    if constexpr (sizeof...(Rest) > 0) {
        if (!can_run<Kernel, Compute>(cols, limits)) return with_first<Compute>(kernel_list<Rest...>(), cols, limits, visit);
    }
    return visit(Kernel());
}

}  // namespace detail

// The kernel that launch_auto runs for rows of `cols` elements of type T. It does not look at the number of rows: the same row gives the same
// bits in any batch.
template <class T>
constexpr policy choose_policy(int64 cols, device_limits limits = {}) {
    return detail::with_first<compute_of<T>>(detail::automatic_kernels<pack_columns_of<dense_input<T>>>(), cols, limits,
                                             [](auto kernel) { return decltype(kernel)::value; });
}

// Writes one line about a policy, at most `size` bytes with its end; gives the length it would have needed, as snprintf does.
inline int explain(policy const& p, char* buffer, int size) {
    char const* const waits = p.body == body_kind::resident ? "the row waits in registers"
                              : p.body == body_kind::staged ? "the row's scores wait in shared memory"
                                                            : "the row is read twice";
    return snprintf(buffer, size > 0 ? static_cast<unsigned long>(size) : 0,
                    "%d lanes a row, %d threads a block, packs of %d columns, %d a lane (%d columns at a time); %s", p.lanes, p.threads, p.vec,
                    p.packs, p.columns(), waits);
}

SMX_END
