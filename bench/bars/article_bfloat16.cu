// Rows of 2048 bfloat16 scores with any mask.
#include "article.cuh"

template smx::status bench::launch_article<smx::bfloat16>(cudaStream_t, bench::mask_kind, bench::call const&);
