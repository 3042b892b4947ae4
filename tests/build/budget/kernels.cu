// KERNELS kernels by name: what one more costs.
#include <smx/smx.cuh>

template <int Lanes>
smx::status launch_one(float const* x, float* y) {
    return smx::launch<smx::resident<smx::warp_group<Lanes>, 4, 2>>(nullptr, smx::scores(x, {1, 8}), smx::fixed_scale(1),
                                                                    smx::causal_mask::top_left(), smx::probabilities(y));
}

#if KERNELS > 0
template smx::status launch_one<2>(float const*, float*);
#endif
#if KERNELS > 1
template smx::status launch_one<4>(float const*, float*);
template smx::status launch_one<8>(float const*, float*);
template smx::status launch_one<16>(float const*, float*);
template smx::status launch_one<32>(float const*, float*);
#endif
