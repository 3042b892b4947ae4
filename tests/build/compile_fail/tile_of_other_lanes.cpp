// A tile made for another group would leave columns out.
// expect: write tile<Group::size, vec, packs>
#include <smx/smx.hpp>

#if defined(WRONG)
using tile = smx::tile<32, 4, 4>;
#else
using tile = smx::tile<smx::thread_group::size, 4, 4>;
#endif

void use(smx::thread_group& g, smx::dense_input<float> input, smx::row_id row) {
    tile t;
    smx::load(g, t, input, row, {0, row.cols});
}
