// Calls of kernels that are compiled for a GPU that is not there, and for no other.
#pragma once

#include "smx/policy.hpp"
#include "smx/status.hpp"

namespace device {

// Of rows x 64 floats; by a kernel that asks what its code is for, by one that does not, by launch_auto and backward.
struct foreign_call {
    char const* name;
    smx::status (*run)(void* stream, float const* x, float* y, int rows);
};
inline constexpr int foreign_call_count = 5;
extern foreign_call const foreign_calls[foreign_call_count];
// The only compute capability that they are compiled for, times 100.
extern int const foreign_capability;

}  // namespace device
