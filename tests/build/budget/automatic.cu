// launch_auto for one dtype and one mask, or four, and launch_auto_backward: how many kernels, how large.
#include <cuda_fp16.h>

#include <smx/smx.cuh>

#if defined(FOUR_MASKS)
smx::status call(cudaStream_t stream, smx::bfloat16 const* x, smx::bfloat16* y, int const* lengths, bool const* flags,
                 smx::bfloat16 const* bias, smx::extents shape) {
    auto const step = smx::broadcast(shape);
    return smx::launch_auto(stream, smx::scores(x, shape), smx::inv_sqrt(64),
                            smx::both(smx::causal_mask::bottom_right(), smx::key_lengths(lengths), smx::mask_tensor(flags, step),
                                      smx::bias_tensor(bias, step)),
                            smx::probabilities(y));
}
#elif defined(BITS)
smx::status call(cudaStream_t stream, __half const* x, __half* y, unsigned const* bits, smx::extents shape) {
    auto const step = smx::broadcast({shape.batch, 1, shape.queries, smx::words_for<unsigned>(shape.keys)});
    return smx::launch_auto(stream, smx::scores(x, shape), smx::inv_sqrt(64), smx::mask_bits(bits, step), smx::probabilities(y));
}
#elif defined(BACKWARD)
smx::status call(cudaStream_t stream, __half const* y, __half const* dy, __half* dx, smx::extents shape) {
    return smx::launch_auto_backward(stream, smx::saved_probabilities(y, shape), smx::incoming_gradients(dy), smx::inv_sqrt(64), smx::no_mask{},
                                     smx::gradients(dx));
}
#else
smx::status call(cudaStream_t stream, __half const* x, __half* y, smx::extents shape) {
    return smx::launch_auto(stream, smx::scores(x, shape), smx::inv_sqrt(64), smx::no_mask{}, smx::probabilities(y));
}
#endif
