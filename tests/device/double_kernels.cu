// launch_auto's kernels for double scores, with masks put together at run time.
#include "device/runners.cuh"

namespace device {

runner_list double_kernels() { return automatic_kernels<double, family::structured>(); }

}  // namespace device
