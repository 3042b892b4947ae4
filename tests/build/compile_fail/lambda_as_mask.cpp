// A condition becomes a mask by visible_where.
// expect: a condition is written visible_where(f)
#include <smx/smx.hpp>

smx::status use(float const* x, float* y) {
#if defined(WRONG)
    auto const even = [](smx::row_id, int col) { return col % 2 == 0; };
    return smx::softmax_on_host(smx::scores(x, {2, 8}), smx::fixed_scale(1), even, smx::probabilities(y));
#else
    auto const even = [](smx::row_id, int col) { return col % 2 == 0; };
    return smx::softmax_on_host(smx::scores(x, {2, 8}), smx::fixed_scale(1), smx::visible_where(even), smx::probabilities(y));
#endif
}
