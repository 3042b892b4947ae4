// Packs are powers of two, so that an aligned one is one access.
// expect: a pack has 1, 2, 4, 8, 16 or 32 columns
#include <smx/smx.hpp>

#if defined(WRONG)
smx::tile<1, 3, 4> t;
#else
smx::tile<1, 4, 4> t;
#endif
