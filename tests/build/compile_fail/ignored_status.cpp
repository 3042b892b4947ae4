// A status is not to be dropped.
// expect: nodiscard
// flags: -Werror
#include <smx/smx.hpp>

void use(float const* x, float* y, smx::extents shape) {
#if !defined(WRONG)
    auto const done =
#endif
        smx::softmax_on_host(smx::scores(x, shape), smx::fixed_scale(1), smx::no_mask{}, smx::probabilities(y));
#if !defined(WRONG)
    (void)done;
#endif
}
