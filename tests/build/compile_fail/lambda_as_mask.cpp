// A condition where a mask belongs.
// expect: a condition is written visible_where(f)
#include <smx/smx.hpp>

smx::status softmax(float const* x, float* y) {
    auto const even = [](smx::row_id, int col) { return col % 2 == 0; };
    return smx::softmax_on_host(smx::scores(x, {2, 8}), smx::fixed_scale(1), even, smx::probabilities(y));
}
