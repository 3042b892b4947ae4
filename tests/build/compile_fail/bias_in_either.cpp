// A bias is added to visible scores; it cannot be one of two ways to be visible.
// expect: write both(bias, either(a, b))
#include <smx/smx.hpp>

void use(float const* x, float const* bias, float* y, smx::extents shape) {
#if defined(WRONG)
    auto const mask = smx::either(smx::causal_mask::top_left(), smx::bias_tensor(bias, smx::broadcast(shape)));
#else
    auto const mask = smx::both(smx::causal_mask::top_left(), smx::bias_tensor(bias, smx::broadcast(shape)));
#endif
    (void)smx::softmax_on_host(smx::scores(x, shape), smx::fixed_scale(1), mask, smx::probabilities(y));
}
