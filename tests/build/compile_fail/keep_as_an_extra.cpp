// The store policy belongs to the output, not behind it.
// expect: hidden::keep is written
#include <smx/smx.hpp>

smx::status use(float const* x, float* y) {
#if defined(WRONG)
    return smx::softmax_on_host(smx::scores(x, {2, 8}), smx::fixed_scale(1), smx::no_mask{}, smx::probabilities(y), smx::hidden::keep);
#else
    return smx::softmax_on_host(smx::scores(x, {2, 8}), smx::fixed_scale(1), smx::no_mask{}, smx::probabilities<smx::hidden::keep>(y));
#endif
}
