// The backward pass on bfloat16 elements.
#include "backward.cuh"

template smx::status bench::launch_dense_backward<smx::bfloat16>(cudaStream_t, bench::call const&);
template smx::status bench::launch_article_backward<smx::bfloat16>(cudaStream_t, bench::mask_kind, bench::call const&);
