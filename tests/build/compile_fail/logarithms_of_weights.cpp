// A weight that is 0 has lost the score it was made of.
// expect: weights have no logarithms where they are 0: write kept::scores
#include <smx/normalize.hpp>

#if defined(WRONG)
using tile = smx::tile<1, 4, 1, float, smx::kept::weights>;
#else
using tile = smx::tile<1, 4, 1, float, smx::kept::scores>;
#endif

void use(tile& t, smx::statistics<float> stats) { smx::normalize_to_logarithms(t, stats, smx::empty_row::zeros, 4); }
