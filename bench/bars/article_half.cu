// Rows of 2048 half scores with any mask.
#include "article.cuh"

template smx::status bench::launch_article<smx::half>(cudaStream_t, bench::mask_kind, bench::call const&);
