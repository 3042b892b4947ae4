// A program that calls smx on the CPU, and on the GPU if it was built for one.
#include <smx/smx.hpp>

#include <cstdio>

#ifdef WITH_CUDA
smx::status on_device(float const* x, float* y);
#endif

int main() {
    float const x[6] = {1, 2, 3, 1, 2, 3};
    float y[6];
    smx::status const done = smx::softmax_on_host(smx::scores(x, {2, 3}), smx::fixed_scale(1), smx::causal_mask::top_left(),
                                                  smx::probabilities(y));
    if (!done || y[0] != 1 || y[1] != 0 || y[5] != 0) return 1;
#ifdef WITH_CUDA
    if (on_device(nullptr, nullptr).code != smx::errc::null_pointer) return 2;
    std::puts("smx on the CPU, and compiled for the GPU");
#else
    std::puts("smx on the CPU");
#endif
}
