// A dropped probability is 0; a logarithm of 0 would say that it is 1.
// expect: a dropout makes probabilities 0, which no logarithm of theirs is
#include <smx/smx.hpp>

smx::status use(float const* x, float* y) {
    auto const drops = smx::dropout(0.1, 1, 2);
#if defined(WRONG)
    return smx::softmax_on_host(smx::scores(x, {2, 8}), smx::fixed_scale(1), smx::no_mask{}, smx::dropped(smx::log_probabilities(y), drops));
#else
    return smx::softmax_on_host(smx::scores(x, {2, 8}), smx::fixed_scale(1), smx::no_mask{}, smx::dropped(smx::probabilities(y), drops));
#endif
}
