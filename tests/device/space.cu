// The host's memory and the current GPU's.
#include <cuda_runtime.h>

#include <cstdlib>
#include <cstring>
#include <map>
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
    // Released memory waits here for the next tensor of just its size: most of a small problem's time would be the
    // driver's, for memory that it maps and unmaps while other processes wait to do the same.
    void* allocate(std::size_t bytes) override {
        {
            std::lock_guard<std::mutex> const lock(mutex_);
            auto const found = waiting_.find(bytes);
            if (found != waiting_.end()) {
                void* const memory = found->second;
                waiting_.erase(found);
                waiting_bytes_ -= bytes;
                in_use_.emplace(memory, bytes);
                return memory;
            }
        }
        void* memory = nullptr;
        note(cudaMalloc(&memory, bytes), "cudaMalloc");
        std::lock_guard<std::mutex> const lock(mutex_);
        in_use_.emplace(memory, bytes);
        return memory;
    }
    void release(void* memory) override {
        note(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // as cudaFree does
        std::lock_guard<std::mutex> const lock(mutex_);
        auto const found = in_use_.find(memory);
        if (waiting_bytes_ + found->second > most_waiting_bytes) {
            for (auto const& block : waiting_) give_back(block.second);
            waiting_.clear();
            waiting_bytes_ = 0;
        }
        if (found->second > most_waiting_bytes) {
            give_back(memory);
        } else {
            waiting_.emplace(found->second, memory);
            waiting_bytes_ += found->second;
        }
        in_use_.erase(found);
    }
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
    void give_back(void* memory) { note_locked(cudaFree(memory), "cudaFree"); }
    void note(cudaError_t error, char const* call) {
        std::lock_guard<std::mutex> const lock(mutex_);
        note_locked(error, call);
    }
    void note_locked(cudaError_t error, char const* call) {
        if (error != cudaSuccess && first_.empty()) first_ = std::string(call) + ": " + cudaGetErrorString(error);
    }

    static constexpr std::size_t most_waiting_bytes = std::size_t{256} << 20;

    std::mutex mutex_;
    std::string first_;
    std::map<void*, std::size_t> in_use_;
    std::multimap<std::size_t, void*> waiting_;
    std::size_t waiting_bytes_ = 0;
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
