// A block_group is whole warps; the message says what to use below.
// expect: use warp_group for 32 and less
#include <smx/group/block.cuh>

#if defined(WRONG)
using group = smx::block_group<16>;
#else
using group = smx::block_group<64>;
#endif

__global__ void kernel(float* sum) {
    __shared__ group::storage storage;
    group g(storage);
    *sum = g.all_reduce(1.0f, smx::plus());
}
