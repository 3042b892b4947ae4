// A bool a score is no word of bits.
// expect: for a bool or an integer a score write mask_tensor
#include <smx/smx.hpp>

smx::status use(float const* x, bool const* visible, float* y) {
#if defined(WRONG)
    return smx::softmax_on_host(smx::scores(x, {2, 8}), smx::fixed_scale(1), smx::mask_bits(visible, {0, 0, 8, 1}), smx::probabilities(y));
#else
    return smx::softmax_on_host(smx::scores(x, {2, 8}), smx::fixed_scale(1), smx::mask_tensor(visible, {0, 0, 8, 1}), smx::probabilities(y));
#endif
}
