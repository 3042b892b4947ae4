// Bulk copies: how a stretch of rows gets into shared memory and out of it.
#pragma once
#include "../ptx.cuh"
#include "packed_rows.hpp"

SMX_BEGIN

// Runs rows [first, first + count) of a call whose rows touch, by all groups of a block.
// Requires  shared: count * cols elements and 16 bytes, aligned to 16; barrier: in shared memory, for this call alone
// Callers   all threads of the block; the lanes of a group lie in one warp
// Cost      one bulk copy in and one out; the ends that are not whole 16 bytes are moved by hand, so that nothing outside the tensors is
//           touched
template <class Tile, class Group, int Threads, class Operands>
SMX_DEVICE void run_packed(block_of<Tile, Threads>, Group& g, Operands const& o, int64 first, int count, void* shared, uint64* barrier) {
#if SMX_ARCH >= 900
    using x_type = typename Operands::input_type::element;
    using y_type = typename Operands::output_type::element;
    static_assert(sizeof(x_type) == sizeof(y_type), "probabilities take the place of scores of the same size");
    constexpr int per_16 = 16 / int{sizeof(x_type)};
    int const thread = static_cast<int>(threadIdx.x);
    int const cols = o.rows.cols();
    x_type const* const from = o.input.data + first * cols;
    y_type* const to = o.output.data + first * cols;
    int const lead = static_cast<int>(reinterpret_cast<uint64>(from) % 16 / sizeof(x_type));
    x_type* const scores = static_cast<x_type*>(shared) + lead;
    y_type* const probabilities = reinterpret_cast<y_type*>(scores);
    // Elements [whole, rest) are whole 16 bytes in every one of the three memories.
    int const elements = count * cols;
    int const whole = (per_16 - lead) % per_16 < elements ? (per_16 - lead) % per_16 : elements;
    int const rest = whole + (elements - whole) / per_16 * per_16;
    int const bytes = (rest - whole) * int{sizeof(x_type)};

    if (thread == 0) {
        ptx::barrier_init(barrier, 1);
        ptx::fence_for_bulk_copy();
        ptx::barrier_expect(barrier, bytes);
        if (bytes > 0) ptx::bulk_load(scores + whole, from + whole, bytes, barrier);
    }
    if (thread < whole) scores[thread] = from[thread];
    if (thread < elements - rest) scores[rest + thread] = from[rest + thread];
    __syncthreads();
    ptx::barrier_wait(barrier, 0);

    smx::run_stretch<Tile>(g, o, scores, probabilities, first, count, thread / Group::size);

    ptx::fence_for_bulk_copy();
    __syncthreads();
    if (thread == 0 && bytes > 0) ptx::bulk_store(to + whole, probabilities + whole, bytes);
    if (thread < whole) to[thread] = probabilities[thread];
    if (thread < elements - rest) to[rest + thread] = probabilities[rest + thread];
    if (thread == 0) ptx::bulk_stores_wait();
#else
    __trap();  // never launched: launches ask what the kernel was compiled for
#endif
}

SMX_END
