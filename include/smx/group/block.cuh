// A thread block that shares a row.
#pragma once
#include "warp.cuh"

SMX_BEGIN

namespace detail {

// A block_group for values of at most Largest bytes.
template <int Threads, int Largest>
class block_lanes {
public:
    static_assert(Threads >= 64 && Threads <= 1024 && Threads % 32 == 0,
                  "a block_group has 64 to 1024 threads, a multiple of 32: use warp_group for 32 and less");
    static constexpr int size = Threads;
    static constexpr int warps = Threads / 32;
    static constexpr int largest_value = Largest;
    // Two buffers in turn: a lane that is already in the next reduction cannot overwrite what a slower one still reads.
    struct storage {
        alignas(16) unsigned char partials[2][warps][largest_value];
    };

    SMX_DEVICE explicit block_lanes(storage& memory) : memory_(memory) {}

    SMX_DEVICE int rank() const { return static_cast<int>(threadIdx.x); }
    SMX_DEVICE void sync() const { __syncthreads(); }

    template <class Value, class Op>
    SMX_DEVICE Value all_reduce(Value value, Op op) {
        Value const* const partials = publish(warp_group<32>().all_reduce(value, op));
        // Every lane folds the partials of all warps in the same order.
        value = partials[0];
        SMX_UNROLL
        for (int w = 1; w < warps; ++w) value = op(value, partials[w]);
        return value;
    }

    // The two levels of a reduction, for values whose lanes and warps are better reduced in steps of their own: reduce over part(), exchange,
    // reduce over across().
    using warp_of_warps = warp_group<(warps <= 2 ? 2 : warps <= 4 ? 4 : warps <= 8 ? 8 : warps <= 16 ? 16 : 32)>;
    SMX_DEVICE warp_group<32> part() const { return {}; }
    SMX_DEVICE warp_of_warps across() const { return warp_of_warps::in_step(); }

    // Gives     lane i of each across() the value of warp i; `neutral` where there is no such warp
    template <class Value>
    SMX_DEVICE Value exchange(Value value, Value neutral) {
        Value const* const partials = publish(value);
        int const w = across().rank();
        return w < warps ? partials[w] : neutral;
    }

private:
    template <class Value>
    SMX_DEVICE Value const* publish(Value value) {
        static_assert(int{sizeof(Value)} <= Largest, "larger than the values that this group reduces (a block_group: 16 bytes)");
        Value* const partials = reinterpret_cast<Value*>(memory_.partials[turn_]);
        turn_ ^= 1;
        if (threadIdx.x % 32 == 0) partials[threadIdx.x / 32] = value;
        __syncthreads();
        return partials;
    }

    storage& memory_;
    int turn_ = 0;
};

}  // namespace detail

// Requires  blockDim.x == Threads, one-dimensional; Threads a multiple of 32, 64 to 1024
// Callers   all threads of the block, convergent
// Storage   __shared__, one group object a storage a kernel: a second one would start the alternating buffers again and race
// Cost      one barrier a reduction
template <int Threads>
class block_group : public detail::block_lanes<Threads, 2 * int{sizeof(double)}> {
public:
    using detail::block_lanes<Threads, 2 * int{sizeof(double)}>::block_lanes;
};

SMX_END
