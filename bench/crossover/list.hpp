// The kernels that crossover.cpp compares.
#pragma once
#include "../tune/candidates.hpp"

namespace bench {

// launch_auto, then some of every family for each length that it can run. Of half and float, in half.cu and float.cu.
template <class T>
std::vector<candidate> crossover_kernels();

}  // namespace bench
