// What other GPUs have less than the one that there is.
#pragma once

#include "smx/smx.hpp"

namespace device {

// Shared memory of a block since compute capability 7.5, and none, with and without the instructions of 9.0.
inline constexpr smx::device_limits lesser_limits[] = {
    {48 * 1024, false, 1, 0}, {99 * 1024, false, 1, 0}, {99 * 1024, true, 8, 0}, {0, false, 1, 0}, {0, true, 8, 0},
};

}  // namespace device
