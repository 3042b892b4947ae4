// Groups: the lanes that share a row. Five names: size, storage, rank(), sync(), all_reduce(value, op).
//
// all_reduce gives the result to every lane, the same bits in each, folded in a fixed order; all lanes call it, convergent. sync is a barrier
// of the group's lanes. storage is the kernel's to place: one group object a storage. A group may also have part(), across() and
// exchange(value, neutral), by which reduce.hpp reduces statistics in steps.
#pragma once
#include "math.hpp"

SMX_BEGIN

// One lane has the row to itself. Compiled by a plain C++ compiler this is the CPU path.
class thread_group {
public:
    static constexpr int size = 1;
    struct storage {};

    thread_group() = default;
    SMX_HD explicit thread_group(storage&) {}

    SMX_HD int rank() const { return 0; }
    SMX_HD void sync() const {}

    template <class Value, class Op>
    SMX_HD Value all_reduce(Value value, Op) const {
        return value;
    }
};

// Defined in group/warp.cuh, group/block.cuh and group/cluster.cuh; named here so that a policy can be spelled without a CUDA compiler.
template <int Lanes>
class warp_group;
template <int Threads>
class block_group;
template <int Threads, int Blocks>
class cluster_group;

SMX_END
