// The gradient that comes in is an input, before the scale; the one that goes out is an output, at the end.
// expect: the gradient that comes in is incoming_gradients(dy)
#include <smx/smx.hpp>

smx::status use(float const* y, float* dy, float* dx) {
#if defined(WRONG)
    return smx::softmax_backward_on_host(smx::saved_probabilities(y, {2, 8}), smx::gradients(dx), smx::fixed_scale(1), smx::no_mask{},
                                         smx::incoming_gradients(dy));
#else
    return smx::softmax_backward_on_host(smx::saved_probabilities(y, {2, 8}), smx::incoming_gradients(dy), smx::fixed_scale(1), smx::no_mask{},
                                         smx::gradients(dx));
#endif
}
