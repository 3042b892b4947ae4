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

// work(rows) on all of a call, in parts: of `count` sets of rows, which share a row of a bias.
template <class Call, class Work>
void for_sets(Call const& c, int64_t count, Work const& work) {
    constexpr int64_t elements_worth_a_thread = 64 * 1024;
    int64_t const rows = c.shape.batch * c.shape.heads * c.shape.queries, elements = rows / count * c.shape.keys;
    int64_t const grain = std::max<int64_t>(1, elements_worth_a_thread / elements);
    at::parallel_for(0, count, grain, [&](int64_t first, int64_t last) { require(work(on_rows{{first, last}})); });
}
// work(rows, a number of the type) on all of a call, in parts.
template <class Call, class Work>
void for_rows(Call const& c, element type, Work const& work) {
    for_sets(c, c.shape.batch * c.shape.heads * c.shape.queries,
             [&](on_rows const& rows) { return with_type(type, [&](auto number) { return work(rows, number); }); });
}

struct on_cpu {
    explicit on_cpu(at::Tensor const&) {}

    void forward(forward_call const& c) const {
        for_rows(c, c.scores.type, [&](on_rows const& rows, auto number) { return run_forward<decltype(number)>(rows, c); });
    }
    void backward(backward_call const& c) const {
        for_rows(c, c.probabilities.type, [&](on_rows const& rows, auto number) { return run_backward<decltype(number)>(rows, c); });
    }
    void backward_with_bias(backward_call const& c) const {
        for_sets(c, rows_of(c.shape, c.bias_gradients.step), [&](on_rows const& rows) {
            return with_narrow_type(c.probabilities.type, [&](auto number) { return run_backward_with_bias<decltype(number)>(rows, c); });
        });
    }
    bool is_filled_by(smx::int64 rows, smx::int64) const { return rows >= at::get_num_threads(); }
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
