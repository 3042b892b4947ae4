// A tensor of numbers is added; only integers and bools say what is visible.
// expect: for numbers that are added write bias_tensor
#include <smx/smx.hpp>

smx::status use(float const* x, float const* bias, float* y) {
#if defined(WRONG)
    return smx::softmax_on_host(smx::scores(x, {2, 8}), smx::fixed_scale(1), smx::mask_tensor(bias, {0, 0, 8, 1}), smx::probabilities(y));
#else
    return smx::softmax_on_host(smx::scores(x, {2, 8}), smx::fixed_scale(1), smx::bias_tensor(bias, {0, 0, 8, 1}), smx::probabilities(y));
#endif
}
