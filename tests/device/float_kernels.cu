// launch_auto's kernels for float scores, with masks put together at run time.
#include "device/runners.cuh"

namespace device {

runner_list float_kernels() { return automatic_kernels<float, family::composed>(); }

}  // namespace device
