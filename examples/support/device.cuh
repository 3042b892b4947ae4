// What every CUDA example needs beside smx: whether there is a GPU, and memory where the rows will run.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdlib>

#include "check.hpp"

namespace example {

inline void require(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::printf("CUDA: %s\n", cudaGetErrorString(error));
    std::exit(1);
}

// Says so where there is none: the example then runs the same rows on the CPU.
inline bool gpu_found() {
    int devices = 0;
    cudaError_t const error = cudaGetDeviceCount(&devices);
    if (error == cudaSuccess && devices > 0) {
        cudaDeviceProp properties;
        require(cudaGetDeviceProperties(&properties, 0));
        std::printf("GPU: %s\n", properties.name);
        return true;
    }
    std::printf("no GPU: %s; the rows run on the CPU instead\n",
                error == cudaSuccess ? "no device" : cudaGetErrorString(error));
    return false;
}

// Memory on the GPU, or on the host if that is where the rows run.
template <class Element>
class array {
public:
    array(bool gpu, std::vector<Element> const& content) : gpu_(gpu), host_(content) {
        if (!gpu_) return;
        require(cudaMalloc(reinterpret_cast<void**>(&device_), bytes()));
        require(cudaMemcpy(device_, host_.data(), bytes(), cudaMemcpyHostToDevice));
    }
    array(bool gpu, std::size_t count) : array(gpu, std::vector<Element>(count)) {}
    ~array() { cudaFree(device_); }
    array(array const&) = delete;
    array& operator=(array const&) = delete;

    Element* get() { return gpu_ ? device_ : host_.data(); }

    // The content, once everything launched before has run.
    std::vector<Element> content() {
        if (gpu_) {
            require(cudaDeviceSynchronize());
            require(cudaMemcpy(host_.data(), device_, bytes(), cudaMemcpyDeviceToHost));
        }
        return host_;
    }

private:
    std::size_t bytes() const { return host_.size() * sizeof(Element); }

    bool gpu_;
    std::vector<Element> host_;
    Element* device_ = nullptr;
};

// 16-bit numbers and back.
inline std::vector<__half> as_halves(std::vector<float> const& numbers) {
    std::vector<__half> result;
    for (float const number : numbers) result.push_back(__float2half(number));
    return result;
}
inline std::vector<float> as_floats(std::vector<__half> const& numbers) {
    std::vector<float> result;
    for (__half const number : numbers) result.push_back(__half2float(number));
    return result;
}

}  // namespace example
