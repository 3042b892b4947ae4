// The kernels that tune.cpp forces on bfloat16 rows.
#include "candidates.cuh"

template std::vector<bench::candidate> bench::candidates<smx::bfloat16>();
