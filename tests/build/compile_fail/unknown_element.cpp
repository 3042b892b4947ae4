// An element type that smx has not been told about.
// expect: smx does not know this element type: specialise smx::dtype<
#include <smx/smx.hpp>

#if defined(WRONG)
using element = unsigned;
#else
using element = float;
#endif

void use(element const* x, element* y, smx::extents shape) {
    (void)smx::softmax_on_host(smx::scores(x, shape), smx::fixed_scale(1), smx::no_mask{}, smx::probabilities(y));
}
