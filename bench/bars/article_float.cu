// Rows of 2048 float scores with any mask.
#include "article.cuh"

template smx::status bench::launch_article<float>(cudaStream_t, bench::mask_kind, bench::call const&);
