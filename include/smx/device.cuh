// The device that a call is for: what it has, what it says, and what is remembered of it.
#pragma once
#include <cuda_runtime_api.h>

#include "plan.hpp"

SMX_BEGIN_KERNELS

namespace launching {

inline status cuda_status(cudaError_t error, char const* call) {
    if (error == cudaSuccess) return {};
    return {errc::cuda_failed, call, cudaGetErrorString(error), 0, static_cast<int>(error)};
}

// The error CUDA remembers for this thread: a failure of ours is in the status and is cleared. One that was there before is not.
class untouched_error {
public:
    untouched_error() : before_(cudaPeekAtLastError()) {}
    ~untouched_error() {
        if (before_ == cudaSuccess) (void)cudaGetLastError();
    }
    untouched_error(untouched_error const&) = delete;
    untouched_error& operator=(untouched_error const&) = delete;

private:
    cudaError_t before_;
};

inline constexpr int most_devices = 64;

// A number for each device, which many threads may find out at once, each of them the same; 0 until then, and always for devices beyond.
// (<atomic> would add a third of a second to every file.)
class number_of_device {
public:
    int get(int device) const { return device < most_devices ? __atomic_load_n(&values_[device], __ATOMIC_ACQUIRE) : 0; }
    void set(int device, int value) {
        if (device < most_devices) __atomic_store_n(&values_[device], value, __ATOMIC_RELEASE);
    }

private:
    int values_[most_devices] = {};
};

// The device the call is for, and what it has: asked of the driver once a device.
inline status current_device(int& device, device_limits& limits) {
    if (cudaError_t const error = cudaGetDevice(&device); error != cudaSuccess) return cuda_status(error, "cudaGetDevice");
    static number_of_device capabilities, multiprocessors, shared_bytes;
    int bytes = shared_bytes.get(device);
    int major = capabilities.get(device);
    int count = multiprocessors.get(device);
    if (bytes == 0) {
        cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
        if (error == cudaSuccess) error = cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
        if (error == cudaSuccess) error = cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
        if (error != cudaSuccess) return cuda_status(error, "cudaDeviceGetAttribute");
        capabilities.set(device, major);  // first: who finds the bytes takes the others for known
        multiprocessors.set(device, count);
        shared_bytes.set(device, bytes);
    }
    limits = {bytes, SMX_HAS_CLUSTERS && major >= 9, SMX_HAS_CLUSTERS ? cluster_blocks_of(major) : 1, count};
    return {};
}

}  // namespace launching

SMX_END_KERNELS
