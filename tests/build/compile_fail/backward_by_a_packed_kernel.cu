// Two rows do not pass through the shared memory of a packed kernel.
// expect: a backward pass waits in registers or is read twice: write resident, compact or chunked_online
#include <smx/smx.cuh>

#if defined(WRONG)
using kernel = smx::packed<smx::warp_group<8>, 4, 4>;
#else
using kernel = smx::resident<smx::warp_group<8>, 4, 4>;
#endif

smx::status use(cudaStream_t stream, float const* y, float const* dy, float* dx) {
    return smx::launch_backward<kernel>(stream, smx::saved_probabilities(y, {2, 8}), smx::incoming_gradients(dy), smx::fixed_scale(1), smx::no_mask{},
                                        smx::gradients(dx));
}
