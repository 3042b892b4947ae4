// Everything.
#pragma once
#include "config.hpp"
#if !defined(SMX_DEVICE)
#error "smx.cuh is for nvcc and NVRTC: without them include smx/smx.hpp, which does the same on the CPU"
#endif
#include "launch_backward.cuh"
#include "smx.hpp"
