// One row a warp, compiled at run time by NVRTC.
#include "smx/group/warp.cuh"
#include "smx/mask/causal.hpp"
#include "smx/row/resident.hpp"

extern "C" __global__ void program(float const* x, float* y, int rows, int cols) {
    smx::warp_group<32>::storage storage;
    smx::warp_group<32> g(storage);
    smx::strides const step = smx::packed_strides({rows, cols});
    long long const row = blockIdx.x;
    smx::softmax_row<smx::tile<32, 4, 8>>(g, smx::dense_input<float>{x, step}, 0.125f, smx::causal_mask::top_left(),
                                          smx::dense_output<float>{y, step}, smx::row_id{0, 0, row, row, cols},
                                          smx::extents(rows, cols));
}
