// launch_auto's kernels for bfloat16 scores, with masks put together at run time.
#include "device/runners.cuh"

namespace device {

runner_list bfloat16_kernels() { return automatic_kernels<smx::bfloat16, family::structured>(); }

}  // namespace device
