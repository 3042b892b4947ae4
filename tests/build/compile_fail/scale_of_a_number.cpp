// A scale is a type that says where the number comes from, not a bare number.
// expect: a scale is fixed_scale(number)
#include <smx/smx.hpp>

smx::status use(float const* x, float* y) {
#if defined(WRONG)
    return smx::softmax_on_host(smx::scores(x, {2, 8}), 0.125, smx::no_mask{}, smx::probabilities(y));
#else
    return smx::softmax_on_host(smx::scores(x, {2, 8}), smx::fixed_scale(0.125), smx::no_mask{}, smx::probabilities(y));
#endif
}
