// A cluster has a power of two of blocks; the message says what to use for one.
// expect: a cluster_group has 2, 4, 8 or 16 blocks: use block_group for one
#include <smx/group/cluster.cuh>

#if defined(WRONG)
using group = smx::cluster_group<256, 3>;
#else
using group = smx::cluster_group<256, 4>;
#endif

__global__ void kernel(float* sum) {
    __shared__ group::storage storage;
    group g(storage);
    *sum = g.all_reduce(1.0f, smx::plus());
}
