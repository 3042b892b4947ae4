// Calls on the CPU, for the flags that other projects compile with.
#include <smx/smx.hpp>

template <class T>
smx::status forward(T const* x, T* y, int const* lengths, float* sums, smx::extents shape) {
    return smx::softmax_on_host(smx::scores(x, shape), smx::inv_sqrt(64),
                                smx::both(smx::causal_mask::bottom_right(), smx::key_lengths(lengths)), smx::probabilities(y),
                                smx::log_sum_exp(sums));
}
template smx::status forward(float const*, float*, int const*, float*, smx::extents);
template smx::status forward(double const*, double*, int const*, float*, smx::extents);
template smx::status forward(smx::half const*, smx::half*, int const*, float*, smx::extents);
template smx::status forward(smx::bfloat16 const*, smx::bfloat16*, int const*, float*, smx::extents);

smx::status backward(float const* y, float const* dy, float* dx, unsigned char const* mask, smx::extents shape) {
    return smx::softmax_backward_on_host(smx::saved_probabilities(y, shape), smx::incoming_gradients(dy), smx::inv_sqrt(64),
                                         smx::mask_tensor(mask, smx::packed_strides(shape)), smx::gradients(dx));
}
