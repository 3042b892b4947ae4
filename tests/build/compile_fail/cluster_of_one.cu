// A cluster has more than one block; the message says what to use for one.
// expect: a cluster_group has at most 2 to 16 blocks: use block_group for one
#include <smx/group/cluster.cuh>

#if defined(WRONG)
using group = smx::cluster_group<256, 1>;
#else
using group = smx::cluster_group<256, 4>;
#endif

__global__ void kernel(float* sum) {
    __shared__ group::storage storage;
    group g(storage);
    *sum = g.all_reduce(1.0f, smx::plus());
}
