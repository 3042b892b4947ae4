// The dropout of the forward pass lies before the gradient that comes in, not behind the one that goes out.
// expect: what is dropped in a backward pass is the gradient that comes in
#include <smx/smx.hpp>

smx::status use(float const* y, float const* dy, float* dx) {
    auto const drops = smx::dropout(0.1, 1, 2);
    auto const saved = smx::saved_probabilities(y, {2, 8});
#if defined(WRONG)
    return smx::softmax_backward_on_host(saved, smx::incoming_gradients(dy), smx::fixed_scale(1), smx::no_mask{},
                                         smx::dropped(smx::gradients(dx), drops));
#else
    return smx::softmax_backward_on_host(saved, smx::dropped(smx::incoming_gradients(dy), drops), smx::fixed_scale(1), smx::no_mask{},
                                         smx::gradients(dx));
#endif
}
