// What follows the gradient of the scores says what it is the gradient of, and along which axes that repeats.
// expect: what follows the gradient of the scores is bias_gradients(db, strides)
#include <smx/smx.hpp>

smx::status use(float const* y, float const* dy, float* dx, float* db) {
    auto const saved = smx::saved_probabilities(y, {2, 8});
#if defined(WRONG)
    return smx::softmax_backward_on_host(saved, smx::incoming_gradients(dy), smx::fixed_scale(1), smx::no_mask{}, smx::gradients(dx), db);
#else
    return smx::softmax_backward_on_host(saved, smx::incoming_gradients(dy), smx::fixed_scale(1), smx::no_mask{}, smx::gradients(dx),
                                         smx::bias_gradients(db, {0, 0, 0, 1}));
#endif
}
