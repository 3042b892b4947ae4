// The backward pass on float elements.
#include "backward.cuh"

template smx::status bench::launch_dense_backward<float>(cudaStream_t, bench::call const&);
template smx::status bench::launch_article_backward<float>(cudaStream_t, bench::mask_kind, bench::call const&);
