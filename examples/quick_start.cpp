// The shortest program on the CPU: causal softmax of a 3 x 4 matrix.

// [program]
#include <smx/smx.hpp>

#include <cstdio>

int main() {
    float const x[3 * 4] = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4};
    float y[3 * 4] = {};
    smx::status const s = smx::softmax_on_host(smx::scores(x, {3, 4}), smx::inv_sqrt(64),
                                               smx::causal_mask::bottom_right(), smx::probabilities(y));
    if (!s) {
        std::puts(smx::sentence(s).text);
        return 1;
    }
    for (int row = 0; row < 3; ++row) {
        std::printf("%.3f %.3f %.3f %.3f\n", y[4 * row], y[4 * row + 1], y[4 * row + 2], y[4 * row + 3]);
    }
    return y[3] == 0 && y[11] > 0.25f ? 0 : 1;  // the first query does not see the last key, the last one does
}
// [/program]
