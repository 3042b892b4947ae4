// The kernels that crossover.cpp compares on float rows.
#include "list.cuh"

template std::vector<bench::candidate> bench::crossover_kernels<float>();
