// All of smx that needs no CUDA compiler: the operator on the CPU, masks, checks, policies.
#pragma once
#include "dtype_half.hpp"
#include "host.hpp"
#include "plan.hpp"
