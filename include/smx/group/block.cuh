// A thread block that shares a row.
#pragma once
#include "warp.cuh"

SMX_BEGIN

// Requires  blockDim.x == Threads, one-dimensional; Threads a multiple of 32, 64 to 1024
// Callers   all threads of the block, convergent
// Storage   __shared__, one group object a storage a kernel: a second one would start the alternating buffers again and race
// Cost      one barrier a reduction
template <int Threads>
class block_group {
public:
    static_assert(Threads >= 64 && Threads <= 1024 && Threads % 32 == 0,
                  "a block_group has 64 to 1024 threads, a multiple of 32: use warp_group for 32 and less");
    static constexpr int size = Threads;
    static constexpr int warps = Threads / 32;
    // Two buffers in turn: a lane that is already in the next reduction cannot overwrite what a slower one still reads.
    struct storage {
        alignas(16) unsigned char partials[2][warps][sizeof(double)];
    };

    SMX_DEVICE explicit block_group(storage& memory) : memory_(memory) {}

    SMX_DEVICE int rank() const { return static_cast<int>(threadIdx.x); }
    SMX_DEVICE void sync() const { __syncthreads(); }

    template <class Value, class Op>
    SMX_DEVICE Value all_reduce(Value value, Op op) {
        static_assert(sizeof(Value) <= sizeof(double), "a block_group reduces values of up to 8 bytes");
        value = warp_group<32>().all_reduce(value, op);
        Value* const partials = reinterpret_cast<Value*>(memory_.partials[turn_]);
        turn_ ^= 1;
        if (threadIdx.x % 32 == 0) partials[threadIdx.x / 32] = value;
        __syncthreads();
        // Every lane folds the partials of all warps in the same order.
        value = partials[0];
        SMX_UNROLL
        for (int w = 1; w < warps; ++w) value = op(value, partials[w]);
        return value;
    }

private:
    storage& memory_;
    int turn_ = 0;
};

SMX_END
