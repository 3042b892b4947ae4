// A plain C++ program whose masks and statuses cross into the CUDA translation units.
#include "system.h"
#include "hostile.h"
#include "forward.h"

smx::status first(smx::causal_mask mask, float const* x, float* y);
smx::status second(smx::causal_mask mask, float const* x, float* y);

int main() {
    float x[200] = {}, y[200] = {};
    auto const mask = smx::causal_mask::top_left();
    if (!smx::softmax_on_host(smx::scores(x, {2, 100}), smx::fixed_scale(2.0), mask, smx::probabilities(y))) return 1;
    if (y[0] != 1 || y[1] != 0 || y[100] != 0.5f) return 2;
    // Both refuse a missing tensor before they ask for a GPU.
    return first(mask, nullptr, y).code == smx::errc::null_pointer && second(mask, nullptr, y).code == smx::errc::null_pointer ? 0 : 3;
}
