// The kernels that tune.cpp forces on half rows.
#include "candidates.cuh"

template std::vector<bench::candidate> bench::candidates<smx::half>();
