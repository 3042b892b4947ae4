// CUDA objects that the device tests share.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace device {

// Why no kernel can run here, in a sentence; empty where one can.
inline std::string why_no_gpu() {
    int count = 0;
    cudaError_t const error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return std::string("no GPU: ") + cudaGetErrorString(error);
    }
    return count == 0 ? "no GPU: CUDA counts none" : "";
}

// A launch of somebody else's that fails, breaks nothing, and is remembered for this thread until somebody asks.
inline cudaError_t fail_a_launch() {
    (void)cudaLaunchKernel(static_cast<void const*>(nullptr), dim3(1), dim3(1), nullptr, 0, nullptr);
    return cudaPeekAtLastError();
}

// A stream that does not wait for the default one.
class stream {
public:
    stream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
    ~stream() { EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess); }
    stream(stream const&) = delete;
    stream& operator=(stream const&) = delete;
    cudaStream_t get() const { return stream_; }

private:
    cudaStream_t stream_ = nullptr;
};

// What launch() asks of a stream, recorded to be run again and again.
class graph {
public:
    template <class Launch>
    graph(cudaStream_t on, Launch const& launch) : on_(on) {
        EXPECT_EQ(cudaStreamBeginCapture(on, cudaStreamCaptureModeGlobal), cudaSuccess);
        launch();
        EXPECT_EQ(cudaStreamEndCapture(on, &graph_), cudaSuccess);
        EXPECT_EQ(cudaGraphInstantiate(&executable_, graph_, 0), cudaSuccess);
    }
    ~graph() {
        EXPECT_EQ(cudaGraphExecDestroy(executable_), cudaSuccess);
        EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
    }
    graph(graph const&) = delete;
    graph& operator=(graph const&) = delete;
    void replay() const { EXPECT_EQ(cudaGraphLaunch(executable_, on_), cudaSuccess); }

private:
    cudaStream_t on_;
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t executable_ = nullptr;
};

// Exactly `count` elements on the GPU, all bytes 0xff at first.
template <class T>
class device_array {
public:
    explicit device_array(std::size_t count) : count_(count) {
        EXPECT_EQ(cudaMalloc(&data_, count * sizeof(T)), cudaSuccess);
        poison();
    }
    ~device_array() { EXPECT_EQ(cudaFree(data_), cudaSuccess); }
    device_array(device_array const&) = delete;
    device_array& operator=(device_array const&) = delete;

    T* data() const { return static_cast<T*>(data_); }
    // Neither returns before every stream may read what is written, those too that do not wait for the default one.
    void poison() {
        EXPECT_EQ(cudaMemset(data_, 0xff, count_ * sizeof(T)), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
    void upload(std::vector<T> const& values) {
        EXPECT_EQ(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
    std::vector<T> download() const {
        std::vector<T> values(count_);
        EXPECT_EQ(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
        return values;
    }

private:
    std::size_t count_;
    void* data_ = nullptr;
};

}  // namespace device
