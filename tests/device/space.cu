// The host's memory and the current GPU's.
#include <cuda_runtime.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "device/space.hpp"
#include "device/support.cuh"
#include "smx/launch.cuh"

namespace device {

namespace {

class host_memory final : public space {
public:
    bool is_gpu() const override { return false; }
    void* allocate(std::size_t bytes) override { return std::aligned_alloc(256, (bytes + 255) / 256 * 256); }
    void release(void* memory) override { std::free(memory); }
    void upload(void* to, void const* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
    void download(void* to, void const* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
    smx::device_limits limits() override {
        smx::device_limits any;  // the host path has none
        any.shared_bytes_per_block = 227 * 1024;
        any.bulk_copies = true;
        any.cluster_blocks = 16;
        return any;
    }
    void* stream() override { return nullptr; }
    int pending_error() override { return 0; }
    std::string finish() override { return {}; }
};

class gpu_memory final : public space {
public:
    bool is_gpu() const override { return true; }
    void* allocate(std::size_t bytes) override {
        void* memory = nullptr;
        note(cudaMalloc(&memory, bytes), "cudaMalloc");
        return memory;
    }
    void release(void* memory) override { note(cudaFree(memory), "cudaFree"); }
    // Synchronous for the host does not mean that a stream of its own may read it already: finish() does.
    void upload(void* to, void const* from, std::size_t bytes) override {
        note(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy to the GPU");
    }
    void download(void* to, void const* from, std::size_t bytes) override {
        note(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy from the GPU");
    }
    smx::device_limits limits() override {
        smx::device_limits found;
        smx::status const s = smx::find_limits(found);
        note(static_cast<cudaError_t>(s.cuda_error), s.argument);
        return found;
    }
    // One a thread, which does not wait for the default stream.
    void* stream() override {
        thread_local cudaStream_t const mine = [this] {
            cudaStream_t created = nullptr;
            note(cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
            return created;
        }();
        return mine;
    }
    int pending_error() override { return static_cast<int>(cudaPeekAtLastError()); }
    std::string finish() override {
        note(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        std::lock_guard<std::mutex> const lock(mutex_);
        std::string const sentence = first_;
        first_.clear();
        return sentence;
    }

private:
    void note(cudaError_t error, char const* call) {
        if (error == cudaSuccess) return;
        std::lock_guard<std::mutex> const lock(mutex_);
        if (first_.empty()) first_ = std::string(call) + ": " + cudaGetErrorString(error);
    }

    std::mutex mutex_;
    std::string first_;
};

}  // namespace

space& host_space() {
    static host_memory memory;
    return memory;
}

space* gpu_space(std::string* why) {
    static std::string const reason = why_no_gpu();
    if (why != nullptr) *why = reason;
    static gpu_memory memory;
    return reason.empty() ? &memory : nullptr;
}

}  // namespace device
