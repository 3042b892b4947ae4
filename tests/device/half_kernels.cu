// launch_auto's kernels for half scores, with masks put together at run time.
#include "device/runners.cuh"

namespace device {

runner_list half_kernels() { return automatic_kernels<smx::half, family::composed>(); }

}  // namespace device
