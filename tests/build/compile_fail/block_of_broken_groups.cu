// A kernel's block holds whole groups.
// expect: a block holds whole groups
#include <smx/smx.cuh>

#if defined(WRONG)
using kernel = smx::resident<smx::warp_group<32>, 4, 1, 48>;
#else
using kernel = smx::resident<smx::warp_group<32>, 4, 1, 64>;
#endif

smx::policy const named = kernel::value;
