// The operators on a GPU: on the current stream of the scores' device.
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "cuda.hpp"
#include "kernels.hpp"

namespace smx_torch {
namespace {

class on_gpu {
public:
    explicit on_gpu(at::Tensor const& where) : guard_(gpu_of(where)), stream_(c10::cuda::getCurrentCUDAStream()) {}

    void forward(forward_call const& c) const {
        require(with_type(c.scores.type, [&](auto number) { return forward_on_gpu<decltype(number)>(stream_, c); }));
    }
    void backward(backward_call const& c) const {
        require(with_type(c.probabilities.type, [&](auto number) { return backward_on_gpu<decltype(number)>(stream_, c); }));
    }
    void dropout(forward_call const& c) const {
        require(with_type(c.scores.type, [&](auto number) { return dropout_on_gpu<decltype(number)>(stream_, c); }));
    }
    void dropout_backward(dropout_backward_call const& c) const {
        require(with_type(c.scores.type, [&](auto number) { return dropout_backward_on_gpu<decltype(number)>(stream_, c); }));
    }

private:
    // PyTorch calls this also where only a mask is on a GPU.
    static c10::Device gpu_of(at::Tensor const& where) {
        TORCH_CHECK_VALUE(where.is_cuda(), "smx: all tensors must be on ", where.device(), " as scores are, one was on a GPU");
        return where.device();
    }

    c10::cuda::CUDAGuard guard_;
    cudaStream_t stream_;
};

}  // namespace
}  // namespace smx_torch

TORCH_LIBRARY_IMPL(smx, CUDA, m) { smx_torch::register_kernels<smx_torch::on_gpu>(m); }
