// What a program calls, with the kernels of every length: half under a causal mask and one that is a tensor, its gradient, and a kernel by name. Where
// there is a GPU they run, and their answers are those of the CPU.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <smx/smx.cuh>

#include <cmath>
#include <cstdio>

namespace {

template <class T>
T* allocate(smx::int64 count) {
    T* memory = nullptr;
    return cudaMallocManaged(&memory, static_cast<std::size_t>(count) * sizeof(T)) == cudaSuccess ? memory : nullptr;
}

bool near(__half const* a, __half const* b, smx::int64 count) {
    for (smx::int64 i = 0; i < count; ++i) {
        float const x = smx::dtype<__half>::widen(a[i]), y = smx::dtype<__half>::widen(b[i]);
        if (!(std::fabs(x - y) <= 1e-6f + 2e-3f * std::fabs(y))) return false;
    }
    return true;
}

smx::status by_name(__nv_bfloat16 const* x, __nv_bfloat16* y, smx::extents shape) {
    return smx::launch<smx::resident<smx::block_group<128>, 8, 2>>(nullptr, smx::scores(x, shape), smx::inv_sqrt(64), smx::no_mask{},
                                                                   smx::probabilities(y));
}

bool agrees(smx::extents shape) {
    smx::int64 const count = shape.queries * shape.keys;
    auto* const x = allocate<__half>(count);
    auto* const y = allocate<__half>(count);
    auto* const dx = allocate<__half>(count);
    auto* const expected = allocate<__half>(count);
    auto* const visible = allocate<unsigned char>(count);
    if (x == nullptr || y == nullptr || dx == nullptr || expected == nullptr || visible == nullptr) return false;
    for (smx::int64 i = 0; i < count; ++i) {
        x[i] = smx::dtype<__half>::narrow(static_cast<float>(i * 37 % 101) / 10.0f - 5.0f);
        visible[i] = i % 7 != 0;
    }
    auto const mask = smx::both(smx::causal_mask::bottom_right(), smx::mask_tensor(visible, smx::packed_strides(shape)));
    auto const factor = smx::fixed_scale(0.5);
    bool done = smx::launch_auto(nullptr, smx::scores(x, shape), factor, mask, smx::probabilities(y)).ok() &&
                smx::launch_auto_backward(nullptr, smx::saved_probabilities(y, shape), smx::incoming_gradients(x), factor, mask, smx::gradients(dx)).ok() &&
                cudaDeviceSynchronize() == cudaSuccess;
    done = done && smx::softmax_on_host(smx::scores(x, shape), factor, mask, smx::probabilities(expected)).ok() && near(y, expected, count);
    done = done &&
           smx::softmax_backward_on_host(smx::saved_probabilities(y, shape), smx::incoming_gradients(x), factor, mask, smx::gradients(expected)).ok() &&
           near(dx, expected, count);
    for (void* const memory : {static_cast<void*>(x), static_cast<void*>(y), static_cast<void*>(dx), static_cast<void*>(expected), static_cast<void*>(visible)})
        (void)cudaFree(memory);
    return done;
}

}  // namespace

int main() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("no GPU");
        return by_name(nullptr, nullptr, {1, 8}).code == smx::errc::null_pointer ? 0 : 1;
    }
    for (int const keys : {7, 100, 1000, 5000, 20001, 300000}) {
        if (agrees({3, keys})) continue;
        std::printf("%d columns: other answers than the CPU's, or %s\n", keys, cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    std::puts("agrees");
    return 0;
}
