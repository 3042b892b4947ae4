// Stands in for run_gpu.cpp where there is no CUDA compiler.
#include <stdexcept>

#include "run.hpp"

std::string gpu_absence() { return "this program was built without the CUDA toolkit"; }

timing run_on_gpu(call const&) { throw std::runtime_error(gpu_absence()); }
