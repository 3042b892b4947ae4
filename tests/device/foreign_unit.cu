// Compiled for another GPU than the tests are.
#include "device/foreign_unit.cuh"

#include "smx/smx.cuh"

namespace device {

namespace {

template <class Kernel>
smx::status named(void* stream, float const* x, float* y, int rows) {
    return smx::launch<Kernel>(static_cast<cudaStream_t>(stream), smx::scores(x, {rows, 64}), smx::fixed_scale(0.5),
                               smx::no_mask{}, smx::probabilities(y));
}

smx::status automatic(void* stream, float const* x, float* y, int rows) {
    return smx::launch_auto<smx::for_columns<64, 64>>(static_cast<cudaStream_t>(stream), smx::scores(x, {rows, 64}),
                                                      smx::fixed_scale(0.5), smx::no_mask{}, smx::probabilities(y));
}

smx::status backward(void* stream, float const* x, float* y, int rows) {
    return smx::launch_backward<smx::resident<smx::warp_group<8>, 4, 2>>(
        static_cast<cudaStream_t>(stream), smx::saved_probabilities(x, {rows, 64}), smx::incoming_gradients(x),
        smx::fixed_scale(0.5), smx::no_mask{}, smx::gradients(y));
}

}  // namespace

int const foreign_capability = __CUDA_ARCH_LIST__;

foreign_call const foreign_calls[foreign_call_count] = {
    {"resident", named<smx::resident<smx::warp_group<8>, 4, 2>>},
    {"packed", named<smx::packed<smx::warp_group<8>, 4, 2>>},
    {"a cluster", named<smx::resident<smx::cluster_group<64, 2>, 4, 1>>},
    {"launch_auto", automatic},
    {"launch_backward", backward},
};

}  // namespace device
