// The operators on the CPU: smx/host.hpp on PyTorch's own threads.
#include <ATen/Parallel.h>

#include "kernels.hpp"
#include "run.hpp"

namespace smx_torch {
namespace {

struct on_rows {
    smx::rows range;
    template <class... Parts>
    smx::status forward(Parts const&... parts) const {
        return smx::softmax_on_host(range, parts...);
    }
    template <class... Parts>
    smx::status backward(Parts const&... parts) const {
        return smx::softmax_backward_on_host(range, parts...);
    }
};

// work(rows, a number of the type) on all of a call, in parts.
template <class Call, class Work>
void for_rows(Call const& c, element type, Work const& work) {
    constexpr int64_t elements_worth_a_thread = 64 * 1024;
    int64_t const grain = std::max<int64_t>(1, elements_worth_a_thread / c.shape.keys);
    at::parallel_for(0, c.shape.batch * c.shape.heads * c.shape.queries, grain, [&](int64_t first, int64_t last) {
        require(with_type(type, [&](auto number) { return work(on_rows{{first, last}}, number); }));
    });
}

struct on_cpu {
    explicit on_cpu(at::Tensor const&) {}

    void forward(forward_call const& c) const {
        for_rows(c, c.scores.type, [&](on_rows const& rows, auto number) { return run_forward<decltype(number)>(rows, c); });
    }
    void backward(backward_call const& c) const {
        for_rows(c, c.probabilities.type, [&](on_rows const& rows, auto number) { return run_backward<decltype(number)>(rows, c); });
    }
    void dropout(forward_call const& c) const {
        for_rows(c, c.scores.type, [&](on_rows const& rows, auto number) { return run_dropout<decltype(number)>(rows, c); });
    }
    void dropout_backward(dropout_backward_call const& c) const {
        for_rows(c, c.scores.type, [&](on_rows const& rows, auto number) { return run_dropout_backward<decltype(number)>(rows, c); });
    }
};

}  // namespace
}  // namespace smx_torch

TORCH_LIBRARY_IMPL(smx, CPU, m) { smx_torch::register_kernels<smx_torch::on_cpu>(m); }
