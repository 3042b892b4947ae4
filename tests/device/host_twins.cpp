// The host path with the types of every kernel, so that what a test expects can be tried without a GPU.
#include <cstdlib>

#include "device/runner.hpp"

namespace device {

namespace {

template <class X, class Y, family Family, factor_type Factor, smx::hidden Hidden, sums Sums>
smx::status run_on_host(void*, call const& c) {
    auto const x = smx::scores(static_cast<X const*>(c.x), c.shape, c.x_step);
    auto const y = smx::probabilities<Hidden>(static_cast<Y*>(c.y), c.y_step);
    if constexpr (Sums == sums::none) {
        return smx::softmax_on_host(x, factor_of<Factor>(c), mask_of<Family>(c), y, c.when_empty);
    } else if constexpr (Sums == sums::in_float) {
        return smx::softmax_on_host(x, factor_of<Factor>(c), mask_of<Family>(c), y, c.when_empty,
                                    smx::log_sum_exp(static_cast<float*>(c.log_sum_exp)));
    } else {
        return smx::softmax_on_host(x, factor_of<Factor>(c), mask_of<Family>(c), y,
                                    smx::log_sum_exp(static_cast<double*>(c.log_sum_exp)), c.when_empty);
    }
}

template <class X, class Y, family Family, factor_type Factor = factor_type::any,
          smx::hidden Hidden = smx::hidden::zeros, sums Sums = sums::in_double>
runner twin() {
    runner r{};
    r.kind = runner::host;
    r.x = storage_of<X>;
    r.y = storage_of<Y>;
    r.masks = Family;
    r.factor = Factor;
    r.hidden = Hidden;
    r.log_sum_exp = Sums;
    r.run = run_on_host<X, Y, Family, Factor, Hidden, Sums>;
    return r;
}

template <class X, family... Families>
runner_list twins() {
    return {twin<X, X, Families>()...};
}

runner_list all_twins() {
    using smx::bfloat16;
    using smx::half;
    runner_list all{
        twin<half, half, family::composed>(),
        twin<bfloat16, bfloat16, family::structured>(),
        twin<bfloat16, bfloat16, family::flags>(),
        twin<float, float, family::composed>(),
        twin<double, double, family::structured>(),
        twin<half, half, family::none, factor_type::fixed, smx::hidden::zeros, sums::none>(),
        twin<float, float, family::none, factor_type::fixed, smx::hidden::zeros, sums::none>(),
        twin<half, half, family::structured>(),
        twin<half, float, family::structured>(),
        twin<half, bfloat16, family::structured>(),
        twin<bfloat16, half, family::structured>(),
        twin<bfloat16, float, family::structured>(),
        twin<float, half, family::structured>(),
        twin<float, bfloat16, family::structured>(),
        twin<float, double, family::structured>(),
        twin<double, float, family::structured>(),
        twin<double, half, family::structured>(),
        twin<half, float, family::composed, factor_type::any, smx::hidden::keep, sums::in_float>(),
        twin<float, half, family::none, factor_type::device, smx::hidden::zeros, sums::in_float>(),
        twin<double, double, family::none, factor_type::head, smx::hidden::zeros, sums::in_float>(),
    };
    all = joined(all, twins<half, family::causal, family::lengths, family::flags, family::hidden_flags, family::bits,
                            family::bias, family::half_bias, family::structured_bits, family::either_of,
                            family::either_bits, family::two_ends, family::written, family::predicate>());
    return joined(all, twins<float, family::causal, family::lengths, family::flags, family::hidden_flags, family::bits,
                             family::bias, family::half_bias, family::structured_bits, family::either_of,
                             family::either_bits, family::two_ends, family::written, family::predicate>());
}

}  // namespace

runner host_twin(runner const& kernel) {
    static runner_list const list = all_twins();
    for (runner const& r : list) {
        if (r.x == kernel.x && r.y == kernel.y && r.masks == kernel.masks && r.factor == kernel.factor &&
            r.hidden == kernel.hidden && r.log_sum_exp == kernel.log_sum_exp) {
            return r;
        }
    }
    std::abort();  // a list of kernels grew and this one did not
}

}  // namespace device
