// Several rows of a block would share what is behind the registers of one.
// expect: packs behind the registers are of the one row of a block: write block_group or cluster_group
#include <smx/kernel_types.hpp>

#if defined(WRONG)
using kernel = smx::deep<smx::warp_group<32>, 8, 4, 2>;
#else
using kernel = smx::deep<smx::block_group<64>, 8, 4, 2>;
#endif

smx::policy const named = kernel::value;
