// A thread block cluster that shares a row: compute capability 9.0 and later.
#pragma once
#include "../ptx.cuh"
#include "block.cuh"

SMX_BEGIN

namespace detail {

// The row is shared out twice: a slice to each block, and a slice to the lanes of its block, which is what a tile is made for.
//
// Who may write into whom, and when:
// - A peer writes to this block's barriers and partials only after it has waited for the cluster, hence after this block has initialised
//   them: it arrives right after that, in loads_are_issued(), and waits in meet(), before its own first message.
// - Reductions take two sets of barrier and partials in turn. A peer sends for reduction n + 2 once it has all messages of n + 1, this
//   block's among them; this block sent that after a barrier of its own threads in n + 1, which each of them reached after it had read the
//   partials of n. So no message overwrites what is still read, and no barrier is two phases ahead of a thread that waits for it.
// - A message may be counted before this block says what it expects: the phase still lacks the arrival that says so.
// - A block ends after it has all messages to it: none arrives at a block that has gone. Its own may still be under way then: they carry
//   their values with them and go to blocks that wait for them. So the end needs no barrier of the cluster.
// Largest: that a value has in bytes. Two blocks on an SM have little room beside the packs behind their registers.
template <int Threads, int Blocks, int Largest>
class cluster_lanes {
public:
    static_assert(Blocks >= 2 && Blocks <= 16, "a cluster_group has at most 2 to 16 blocks: use block_group for one");
    static constexpr int size = Threads;
    static constexpr int blocks = Blocks;
    static constexpr int largest_value = Largest;
    struct storage {
        typename block_lanes<Threads, Largest>::storage block;
        alignas(16) unsigned char partials[2][Blocks][largest_value];
        uint64 arrived[2];
    };

    SMX_DEVICE explicit cluster_lanes(storage& memory) : cluster_lanes(memory, ptx::cluster_block(), ptx::cluster_blocks()) {}

    // Where the caller knows the place of this block in its cluster and the blocks of that, which take time to ask for.
    SMX_DEVICE cluster_lanes(storage& memory, int slice, int slices) : memory_(memory), block_(memory.block), slice_(slice), slices_(slices) {}

    SMX_DEVICE int rank() const { return block_.rank(); }
    SMX_DEVICE int slices() const { return slices_; }
    SMX_DEVICE int slice() const { return slice_; }

    // Arrives at the cluster, the first time: when what the row reads is on its way, which takes longer.
    SMX_DEVICE void loads_are_issued() {
        if (arrived_) return;
        arrived_ = true;
#if SMX_ARCH >= 900
        if (threadIdx.x == 0) {
            ptx::barrier_init(&memory_.arrived[0], 1);
            ptx::barrier_init(&memory_.arrived[1], 1);
            ptx::fence_barrier_init();  // the arrival itself orders nothing, and waits for nothing
        }
        __syncwarp();
        ptx::cluster_arrive_relaxed();
#else
        __trap();
#endif
    }

    SMX_DEVICE void sync() {
        meet();
#if SMX_ARCH >= 900
        ptx::cluster_arrive();
        ptx::cluster_wait();
#endif
    }

    template <class Value, class Op>
    SMX_DEVICE Value all_reduce(Value value, Op op) {
        int const turn = send(block_.all_reduce(value, op));
        // Every lane of every block folds the partials of all blocks in the same order.
        value = partial<Value>(turn, 0);
        for (int b = 1; b < slices_; ++b) value = op(value, partial<Value>(turn, b));
        return value;
    }

    // The levels of a reduction, as a block_group's: first the block, so that a pair of blocks needs one message and not one a warp.
    SMX_DEVICE block_lanes<Threads, Largest>& part() { return block_; }
    using warp_of_blocks = warp_group<(Blocks <= 2 ? 2 : Blocks <= 4 ? 4 : Blocks <= 8 ? 8 : 16)>;
    SMX_DEVICE warp_of_blocks across() const { return warp_of_blocks::in_step(); }

    // Requires  the value of the block in each of its lanes, from a reduction over part()
    // Gives     lane i of each across() the value of block i; `neutral` where there is no such block
    template <class Value>
    SMX_DEVICE Value exchange(Value value, Value neutral) {
        int const turn = send(value);
        int const b = across().rank();
        return b < slices_ ? partial<Value>(turn, b) : neutral;
    }

private:
    // Until every block of the cluster has started and has initialised what its peers write to.
    SMX_DEVICE void meet() {
        if (met_) return;
        loads_are_issued();
        met_ = true;
#if SMX_ARCH >= 900
        ptx::cluster_wait();
#endif
    }

    // The block's value to all blocks, itself too; gives the set of partials that then holds all of theirs.
    template <class Value>
    SMX_DEVICE int send([[maybe_unused]] Value value) {
        static_assert((sizeof(Value) == 4 || sizeof(Value) == 8 || sizeof(Value) == 16) && int{sizeof(Value)} <= Largest,
                      "a cluster_group reduces values of 4, 8 or 16 bytes (in a kernel: of at most two numbers to compute with)");
        meet();
        int const turn = reductions_ % 2;
#if SMX_ARCH >= 900
        uint64* const arrived = &memory_.arrived[turn];
        if (int const peer = block_.rank(); peer < slices_) {
            unsigned const to = ptx::peer_address(memory_.partials[turn][slice()], peer);
            unsigned const barrier = ptx::peer_address(arrived, peer);
            if constexpr (sizeof(Value) == 4) {
                ptx::store_async(to, bit_cast<unsigned>(value), barrier);
            } else if constexpr (sizeof(Value) == 8) {
                ptx::store_async(to, bit_cast<uint64>(value), barrier);
            } else {
                auto const words = bit_cast<two_words>(value);
                ptx::store_async(to, words.first, words.second, barrier);
            }
        }
        if (threadIdx.x == 0) ptx::barrier_expect(arrived, slices_ * int{sizeof(Value)});
        ptx::barrier_wait_for_peers(arrived, reductions_ / 2 % 2);
#endif
        ++reductions_;
        return turn;
    }
    struct two_words {
        uint64 first, second;
    };

    template <class Value>
    SMX_DEVICE Value const& partial(int turn, int block) const {
        return *reinterpret_cast<Value const*>(memory_.partials[turn][block]);
    }

    storage& memory_;
    block_lanes<Threads, Largest> block_;
    int slice_, slices_;
    int reductions_ = 0;
    bool arrived_ = false, met_ = false;
};

}  // namespace detail

// Requires  a launch in clusters of at most Blocks along x; blockDim.x == Threads, one-dimensional. Code for less than 9.0 traps.
// Callers   all threads of the cluster, convergent; the whole cluster makes the group or none of it, as of a row that there is not
// Storage   __shared__, the same object in every block, one group object a storage a kernel
// Cost      one barrier of the block and one message to each peer a reduction; the first waits until every block of the cluster has started
template <int Threads, int Blocks>
class cluster_group : public detail::cluster_lanes<Threads, Blocks, 2 * int{sizeof(double)}> {
public:
    using detail::cluster_lanes<Threads, Blocks, 2 * int{sizeof(double)}>::cluster_lanes;
};

SMX_END
