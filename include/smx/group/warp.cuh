// A warp, or an aligned part of one, that shares a row.
#pragma once
#include "../group.hpp"

SMX_BEGIN

// Requires  Lanes = 2, 4, 8, 16 or 32; blockDim.x a multiple of Lanes, one-dimensional
// Callers   all lanes of the group; groups of one warp may diverge from each other
template <int Lanes>
class warp_group {
public:
    static_assert(Lanes == 2 || Lanes == 4 || Lanes == 8 || Lanes == 16 || Lanes == 32,
                  "a warp_group has 2, 4, 8, 16 or 32 lanes: use thread_group for one, block_group for more");
    static constexpr int size = Lanes;
    struct storage {};

    SMX_DEVICE warp_group() : members_(members()) {}
    SMX_DEVICE explicit warp_group(storage&) : warp_group() {}

    // A group that meets those of its warp that have not ended: cheaper, since a mask that the compiler knows needs no look at who is there.
    // Callers   all lanes of the warp that have not ended, convergent
    static SMX_DEVICE warp_group in_step() { return warp_group(~0u); }

    SMX_DEVICE int rank() const { return static_cast<int>(threadIdx.x % Lanes); }
    SMX_DEVICE void sync() const { __syncwarp(members_); }

    // The butterfly leaves the same bits in every lane, since op(a, b) and op(b, a) are the same bits.
    template <class Value, class Op>
    SMX_DEVICE Value all_reduce(Value value, Op op) const {
        SMX_UNROLL
        for (int distance = Lanes / 2; distance > 0; distance /= 2) value = op(value, __shfl_xor_sync(members_, value, distance, Lanes));
        return value;
    }

private:
    SMX_DEVICE explicit warp_group(unsigned members) : members_(members) {}

    // The lanes of this group alone: naming the others would wait for rows that have ended.
    static SMX_DEVICE unsigned members() {
        if constexpr (Lanes == 32) {
            return ~0u;
        } else {
            return ((1u << Lanes) - 1u) << (threadIdx.x % 32 / Lanes * Lanes);
        }
    }

    unsigned members_;
};

SMX_END
