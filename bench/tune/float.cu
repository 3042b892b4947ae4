// The kernels that tune.cpp forces on float rows.
#include "candidates.cuh"

template std::vector<bench::candidate> bench::candidates<float>();
