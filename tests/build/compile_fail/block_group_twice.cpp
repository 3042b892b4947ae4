// A block_group is all threads of its block: two of them would share their ranks, their memory and their barrier.
// expect: a block_group is the whole block: leave the threads out
#include <smx/kernel_types.hpp>

#if defined(WRONG)
using kernel = smx::resident<smx::block_group<64>, 4, 2, 128>;
#else
using kernel = smx::resident<smx::block_group<64>, 4, 2>;
#endif

smx::policy const named = kernel::value;
