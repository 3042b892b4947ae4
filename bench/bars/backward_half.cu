// The backward pass on half elements.
#include "backward.cuh"

template smx::status bench::launch_dense_backward<smx::half>(cudaStream_t, bench::call const&);
template smx::status bench::launch_article_backward<smx::half>(cudaStream_t, bench::mask_kind, bench::call const&);
