// What a dropout drops is probabilities, as they are stored.
// expect: scores are not dropped: write dropped(probabilities(y), dropout(...))
#include <smx/smx.hpp>

smx::status use(float const* x, float* y) {
    auto const drops = smx::dropout(0.1, 1, 2);
#if defined(WRONG)
    return smx::softmax_on_host(smx::scores_from(smx::dropped(smx::scores(x, {2, 8}).input, drops), {2, 8}), smx::fixed_scale(1), smx::no_mask{},
                                smx::probabilities(y));
#else
    return smx::softmax_on_host(smx::scores(x, {2, 8}), smx::fixed_scale(1), smx::no_mask{}, smx::dropped(smx::probabilities(y), drops));
#endif
}
