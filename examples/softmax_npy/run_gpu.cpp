// The GPU path of the tool: copies to the device, times smx::launch_auto with events, copies back.
#include <cuda_runtime_api.h>

#include <memory>
#include <stdexcept>

#include "run.hpp"

// In gpu_launch.cuh, one dtype a translation unit.
template <class In>
smx::status launch_on_gpu(call const& c, cudaStream_t stream);

namespace {

void require(cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

// Device memory with the host's content, freed with its last copy.
std::shared_ptr<void> device_memory(std::size_t bytes, void const* content = nullptr) {
    void* pointer = nullptr;
    require(cudaMalloc(&pointer, bytes > 0 ? bytes : 1));
    std::shared_ptr<void> owner(pointer, cudaFree);
    if (content) require(cudaMemcpy(pointer, content, bytes, cudaMemcpyHostToDevice));
    return owner;
}

std::shared_ptr<void> device_copy(memory& of) {
    auto copy = device_memory(of.bytes, of.data);
    of.data = copy.get();
    return copy;
}

std::shared_ptr<CUevent_st> event() {
    cudaEvent_t handle = nullptr;
    require(cudaEventCreate(&handle));
    return {handle, cudaEventDestroy};
}

}  // namespace

std::string gpu_absence() {
    int devices = 0;
    cudaError_t const error = cudaGetDeviceCount(&devices);
    if (error == cudaErrorInsufficientDriver)
        return "there is no NVIDIA driver, or one older than this program's CUDA runtime";
    if (error != cudaSuccess) return cudaGetErrorString(error);
    return devices > 0 ? "" : "no CUDA device";
}

timing run_on_gpu(call const& host) {
    call c = host;
    auto const scores = device_copy(c.scores), lengths = device_copy(c.lengths), flags = device_copy(c.flags),
               bias = device_copy(c.bias);
    std::size_t const out_bytes = c.elements() * bytes_of(c.out), lse_bytes = c.rows() * bytes_of(compute_of(c.in));
    auto const probabilities = device_memory(out_bytes), log_sum_exp = device_memory(lse_bytes);
    c.probabilities = probabilities.get();
    c.log_sum_exp = log_sum_exp.get();

    cudaStream_t const stream = nullptr;
    auto const start = event(), stop = event();
    std::vector<double> seconds;
    for (int run = 0; run < 11; ++run) {
        require(cudaEventRecord(start.get(), stream));
        require(with_scores_type(c.in, [&](auto in) { return launch_on_gpu<decltype(in)>(c, stream); }));
        require(cudaEventRecord(stop.get(), stream));
        require(cudaEventSynchronize(stop.get()));
        float milliseconds = 0;
        require(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()));
        if (run > 0) seconds.push_back(milliseconds * 1e-3);  // the first run loads the kernel
    }

    require(cudaMemcpy(host.probabilities, c.probabilities, out_bytes, cudaMemcpyDeviceToHost));
    require(cudaMemcpy(host.log_sum_exp, c.log_sum_exp, lse_bytes, cudaMemcpyDeviceToHost));
    int device = 0;
    cudaDeviceProp properties{};
    require(cudaGetDevice(&device));
    require(cudaGetDeviceProperties(&properties, device));
    return {properties.name, median(seconds)};
}
