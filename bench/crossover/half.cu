// The kernels that crossover.cpp compares on half rows.
#include "list.cuh"

template std::vector<bench::candidate> bench::crossover_kernels<smx::half>();
