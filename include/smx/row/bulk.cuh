// Bulk copies: how a stretch of rows gets into shared memory and out of it.
#pragma once
#include "../ptx.cuh"
#include "packed_rows.hpp"

SMX_BEGIN

// Runs rows [first, first + count) of a call whose rows touch, by all groups of a block.
// Requires  shared: count * cols elements and 32 bytes, aligned to 128, where bulk copies are fastest: at 16 they took 8 % longer (H200);
//           barrier: in shared memory, for this call alone
// Callers   all threads of the block; the lanes of a group lie in one warp
// Cost      one bulk copy in, rounded out to whole 16 bytes that the neighbours' rows share, and one out, rounded in; what is left, and what
//           a bulk copy would touch outside the tensor, is moved by hand
template <class Tile, class Group, int Threads, int RowsEach, class Operands>
SMX_DEVICE void run_packed(block_of<Tile, Threads, RowsEach>, Group& g, Operands const& o, int64 first, int count, void* shared, uint64* barrier) {
#if SMX_ARCH >= 900
    using x_type = typename Operands::input_type::element;
    using y_type = typename Operands::output_type::element;
    constexpr int per_16 = 16 / int{sizeof(x_type)};
    static_assert(sizeof(x_type) == sizeof(y_type), "probabilities take the place of scores of the same size");
    // What a stretch moves by hand is less than two times 16 bytes: an element a thread.
    static_assert(Threads >= 2 * per_16 - 2, "too few threads for the ends of a stretch: write packed<Group, vec, packs, 32> or more");
    int const thread = static_cast<int>(threadIdx.x);
    int const cols = o.rows.cols();
    int64 const start = first * cols;
    x_type const* const from = o.input.data + start;
    y_type* const to = o.output.data + start;
    stretch_moves<per_16> moves{static_cast<int>(reinterpret_cast<uint64>(from) % 16 / sizeof(x_type)), count * cols};
    x_type* const scores = static_cast<x_type*>(shared) + moves.lead;
    y_type* const probabilities = reinterpret_cast<y_type*>(scores);
    interval const in = moves.in(start, o.rows.count() * cols);
    int const bytes = (in.end - in.begin) * int{sizeof(x_type)};

    if (thread == 0) {
        ptx::barrier_init(barrier, 1);
        ptx::fence_for_bulk_copy();
        ptx::barrier_expect(barrier, bytes);
        if (bytes > 0) ptx::bulk_load(scores + in.begin, from + in.begin, bytes, barrier);
    }
    ptx::start_next_kernel();
    if (thread < in.begin) scores[thread] = from[thread];
    if (in.end + thread < moves.elements) scores[in.end + thread] = from[in.end + thread];
    __syncthreads();
    ptx::barrier_wait(barrier, 0);

    constexpr int groups = Threads / Group::size;
    if constexpr (RowsEach == 1) {
        smx::run_stretch<Tile>(g, o, scores, probabilities, first, count, thread / Group::size);
    } else {
        SMX_KEEP_LOOP
        for (int done = 0; done < count; done += groups) smx::run_stretch<Tile>(g, o, scores, probabilities, first, count, done + thread / Group::size);
    }

    asm volatile("" : "+r"(moves.lead));  // or what follows from it would take registers while the rows run
    interval const out = moves.out();
    ptx::fence_for_bulk_copy();
    __syncthreads();
    if (thread == 0 && out.end > out.begin)
        ptx::bulk_store(to + out.begin, probabilities + out.begin, (out.end - out.begin) * int{sizeof(y_type)});
    if (thread < out.begin) to[thread] = probabilities[thread];
    if (out.end + thread < moves.elements) to[out.end + thread] = probabilities[out.end + thread];
    if (thread == 0) ptx::bulk_stores_wait();
#else
    (void)g, (void)o, (void)first, (void)count, (void)shared, (void)barrier;
    __trap();  // never launched: launches ask what the kernel was compiled for
#endif
}

SMX_END
