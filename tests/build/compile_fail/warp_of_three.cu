// A part of a warp is a power of two; the message says what to use beyond a warp.
// expect: a warp_group has 2, 4, 8, 16 or 32 lanes: use thread_group for one, block_group for more
#include <smx/group/warp.cuh>

#if defined(WRONG)
using group = smx::warp_group<3>;
#else
using group = smx::warp_group<4>;
#endif

__global__ void kernel(float* sum) {
    group::storage storage;
    group g(storage);
    *sum = g.all_reduce(1.0f, smx::plus());
}
