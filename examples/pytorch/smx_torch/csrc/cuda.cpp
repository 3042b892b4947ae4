// The operators on a GPU: on the current stream of the scores' device.
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "cuda.hpp"
#include "kernels.hpp"

namespace smx_torch {
namespace {

class on_gpu {
public:
    explicit on_gpu(at::Tensor const& where) : guard_(where.device()) {}

    void forward(forward_call const& c) const {
        cudaStream_t const stream = c10::cuda::getCurrentCUDAStream();
        switch (c.scores.type) {
            case element::half: return require(forward_on_gpu<smx::half>(stream, c));
            case element::bfloat16: return require(forward_on_gpu<smx::bfloat16>(stream, c));
            case element::single: return require(forward_on_gpu<float>(stream, c));
            case element::wide: return require(forward_on_gpu<double>(stream, c));
        }
    }
    void backward(backward_call const& c) const {
        cudaStream_t const stream = c10::cuda::getCurrentCUDAStream();
        switch (c.probabilities.type) {
            case element::half: return require(backward_on_gpu<smx::half>(stream, c));
            case element::bfloat16: return require(backward_on_gpu<smx::bfloat16>(stream, c));
            case element::single: return require(backward_on_gpu<float>(stream, c));
            case element::wide: return require(backward_on_gpu<double>(stream, c));
        }
    }

private:
    c10::cuda::CUDAGuard guard_;
};

}  // namespace
}  // namespace smx_torch

TORCH_LIBRARY_IMPL(smx, CUDA, m) { smx_torch::register_kernels<smx_torch::on_gpu>(m); }
