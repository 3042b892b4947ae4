// The ends of a stretch are moved by hand, an element a thread.
// expect: too few threads for the ends of a stretch
#include <smx/smx.cuh>

#if defined(WRONG)
using kernel = smx::packed<smx::thread_group, 2, 8, 8>;
#else
using kernel = smx::packed<smx::thread_group, 2, 8, 32>;
#endif

smx::status run(smx::half const* x, smx::half* y) {
    return smx::launch<kernel>(nullptr, smx::scores(x, {4, 9}), smx::fixed_scale(1), smx::no_mask(), smx::probabilities(y));
}
