// A kernel of every family and storage type, and a backward pass, for the flags that other projects compile with.
#if LIBCUDACXX == 1
#include <cuda/std/limits>
#include <cuda/std/type_traits>
#endif
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <smx/smx.cuh>
#if LIBCUDACXX == 2
#include <cuda/std/limits>
#include <cuda/std/type_traits>
#endif

template <class Kernel, class T>
smx::status forward(cudaStream_t stream, T const* x, T* y, int const* lengths, float* sums, smx::extents shape) {
    return smx::launch<Kernel>(stream, smx::scores(x, shape), smx::inv_sqrt(64),
                               smx::both(smx::causal_mask::bottom_right(), smx::key_lengths(lengths)), smx::probabilities(y),
                               smx::log_sum_exp(sums));
}
#define FORWARD(T, ...) template smx::status forward<__VA_ARGS__, T>(cudaStream_t, T const*, T*, int const*, float*, smx::extents);
FORWARD(float, smx::resident<smx::thread_group, 4, 2>)
FORWARD(__half, smx::resident<smx::warp_group<32>, 8, 2>)
FORWARD(__nv_bfloat16, smx::compact<smx::block_group<1024>, 8, 2>)
FORWARD(double, smx::resident<smx::block_group<1024>, 2, 2>)
FORWARD(float, smx::chunked_staged<smx::block_group<1024>, 4, 2>)
FORWARD(__half, smx::chunked_online<smx::block_group<1024>, 8, 2>)

smx::status backward(cudaStream_t stream, __half const* y, __half const* dy, __half* dx, unsigned char const* mask, smx::extents shape) {
    return smx::launch_backward<smx::resident<smx::warp_group<32>, 8, 2>>(
        stream, smx::saved_probabilities(y, shape), smx::incoming_gradients(dy), smx::inv_sqrt(64),
        smx::mask_tensor(mask, smx::packed_strides(shape)), smx::gradients(dx));
}
