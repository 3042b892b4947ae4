// Kernels by their types, as runners.
#pragma once

#include "device/limits.cuh"
#include "device/runner.hpp"
#include "smx/smx.cuh"

namespace device {

// In place of a kernel: let the library choose.
struct automatic_choice {};

template <class Kernel, class... Arguments>
smx::status launch_as(void* stream, smx::device_limits const* most, Arguments const&... arguments) {
    auto const on = static_cast<cudaStream_t>(stream);
    if constexpr (smx::same_type<Kernel, automatic_choice>) {
        if (most != nullptr) return launch_auto_within<smx::every_kernel>(*most, on, arguments...);
        return smx::launch_auto(on, arguments...);
    } else {
        if (most != nullptr) return launch_within<Kernel>(*most, on, arguments...);
        return smx::launch<Kernel>(on, arguments...);
    }
}

template <class Kernel, class X, class Y, family Family, factor_type Factor, smx::hidden Hidden, sums Sums>
smx::status run_kernel(void* stream, call const& c) {
    auto const x = smx::scores(static_cast<X const*>(c.x), c.shape, c.x_step);
    auto const y = smx::probabilities<Hidden>(static_cast<Y*>(c.y), c.y_step);
    if constexpr (Sums == sums::none) {
        return launch_as<Kernel>(stream, c.at_most, x, factor_of<Factor>(c), mask_of<Family>(c), y, c.when_empty);
    } else if constexpr (Sums == sums::in_float) {
        return launch_as<Kernel>(stream, c.at_most, x, factor_of<Factor>(c), mask_of<Family>(c), y, c.when_empty,
                                 smx::log_sum_exp(static_cast<float*>(c.log_sum_exp)));
    } else {
        return launch_as<Kernel>(stream, c.at_most, x, factor_of<Factor>(c), mask_of<Family>(c), y,
                                 smx::log_sum_exp(static_cast<double*>(c.log_sum_exp)), c.when_empty);
    }
}

template <class Kernel, class X, class Y, family Family, factor_type Factor = factor_type::any,
          smx::hidden Hidden = smx::hidden::zeros, sums Sums = sums::in_double>
runner kernel() {
    runner r{};
    r.x = storage_of<X>;
    r.y = storage_of<Y>;
    r.masks = Family;
    r.factor = Factor;
    r.hidden = Hidden;
    r.log_sum_exp = Sums;
    r.run = run_kernel<Kernel, X, Y, Family, Factor, Hidden, Sums>;
    if constexpr (smx::same_type<Kernel, automatic_choice>) {
        r.kind = runner::automatic;
    } else {
        r.kind = runner::named;
        r.policy = Kernel::value;
        r.can_run = Kernel::can_run;
    }
    return r;
}

// A kernel of launch_auto's list by itself, for rows that launch_auto has better ones for too.
template <class Kernel>
struct by_itself {
    using type = Kernel;
};
template <class Kernel>
struct by_itself<smx::detail::uneven<Kernel>> : by_itself<Kernel> {};
template <class Kernel>
struct by_itself<smx::detail::even<Kernel>> : by_itself<Kernel> {};
template <class Kernel>
struct by_itself<smx::detail::few<Kernel>> : by_itself<smx::detail::with_whole_rows<Kernel>> {};

// All kernels of a list with the same types.
template <class X, class Y, family Family, factor_type Factor = factor_type::any,
          smx::hidden Hidden = smx::hidden::zeros, sums Sums = sums::in_double, class... Kernels>
runner_list kernels(smx::kernel_list<Kernels...>) {
    return {kernel<typename by_itself<Kernels>::type, X, Y, Family, Factor, Hidden, Sums>()...};
}

// launch_auto's list for elements of type X, and launch_auto.
template <class X, family Family, factor_type Factor = factor_type::any, sums Sums = sums::in_double>
runner_list automatic_kernels() {
    constexpr int vec = smx::pack_columns_of<smx::dense_input<X>>;
    using list = smx::detail::automatic_kernels<smx::dense_input<X>, smx::no_mask::row>;
    runner_list named = kernels<X, X, Family, Factor, smx::hidden::zeros, Sums>(list());
    if constexpr (Family != family::none) {  // what only rows with a mask are given
        using masked = typename smx::detail::automatic_list<vec, smx::detail::rows_seen::asked>::long_rows;
        named = joined(named, kernels<X, X, Family, Factor, smx::hidden::zeros, Sums>(masked()));
    }
    return joined(named, {kernel<automatic_choice, X, X, Family, Factor, smx::hidden::zeros, Sums>()});
}

}  // namespace device
