// All of smx that needs no CUDA compiler: the operator on the CPU, masks, checks, policies.
#pragma once
#include "host.hpp"
#include "policy.hpp"
