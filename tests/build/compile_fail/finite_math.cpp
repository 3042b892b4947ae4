// Finite-math flags remove the infinities and NaN that the operator is made of.
// expect: compile without -ffast-math
#if defined(WRONG)
#undef __FINITE_MATH_ONLY__
#define __FINITE_MATH_ONLY__ 1
#endif
#include <smx/config.hpp>
