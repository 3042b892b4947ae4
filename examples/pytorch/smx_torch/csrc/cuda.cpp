// The operators on a GPU: on the current stream of the scores' device.
#include <c10/cuda/CUDAException.h>
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
    void backward_with_bias(backward_call const& c) const {
        require(with_narrow_type(c.probabilities.type, [&](auto number) { return backward_with_bias_on_gpu<decltype(number)>(stream_, c); }));
    }
    // A multiprocessor that waits for no memory has 32 KiB of rows on their way; a group of lanes has one row at a time.
    bool is_filled_by(smx::int64 rows, smx::int64 row_bytes) const {
        int count = 0;
        C10_CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, guard_.current_device().index()));
        return rows * row_bytes >= count * smx::int64{32 * 1024};
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
