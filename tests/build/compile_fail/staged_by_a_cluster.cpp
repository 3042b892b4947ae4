// The shared memory of a block holds nothing of another's.
// expect: a staged row waits in the shared memory of one block: write resident or chunked_online
#include <smx/kernel_types.hpp>

#if defined(WRONG)
using kernel = smx::chunked_staged<smx::cluster_group<256, 4>, 8, 4>;
#else
using kernel = smx::chunked_online<smx::cluster_group<256, 4>, 8, 4>;
#endif

smx::policy const named = kernel::value;
