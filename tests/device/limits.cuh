// Calls on the GPU that there is as if it had less: what other GPUs have, and what none should say.
#pragma once

#include <type_traits>

#include "device/limits.hpp"
#include "smx/smx.cuh"

namespace device {

// The most that a call of this thread finds.
inline thread_local smx::device_limits most_found;

// In place of what the library finds: that, and no more.
inline smx::status find_lesser(int& device, smx::device_limits& limits) {
    smx::status const s = smx::launching::current_device(device, limits);
    smx::device_limits const& most = most_found;
    if (most.shared_bytes_per_block < limits.shared_bytes_per_block)
        limits.shared_bytes_per_block = most.shared_bytes_per_block;
    limits.bulk_copies = limits.bulk_copies && most.bulk_copies;
    if (most.cluster_blocks < limits.cluster_blocks) limits.cluster_blocks = most.cluster_blocks;
    return s;
}

// As launch_auto().
template <class Choice, class Input, class Factor, class Mask, class Output, class... Extras>
static smx::status launch_auto_within(smx::device_limits const& most, smx::launch_place place,
                                      smx::shaped_input<Input> const& x, Factor const& factor, Mask const& masks,
                                      Output const& output, Extras const&... extras) {
    auto const o = smx::make_operands(x, factor, masks, output, extras...);
    using kernels = smx::detail::automatic_kernels<Input, typename decltype(o)::seen_type, Choice, Output>;
    if (smx::status const s = smx::detail::check_choice<Choice>(o); !s) return s;
    most_found = most;
    return smx::launching::launch_first<kernels>(place, o, find_lesser);
}

// As launch().
template <class Kernel, class Input, class Factor, class Mask, class Output, class... Extras>
static smx::status launch_within(smx::device_limits const& most, smx::launch_place place,
                                 smx::shaped_input<Input> const& x, Factor const& factor, Mask const& masks,
                                 Output const& output, Extras const&... extras) {
    auto const o = smx::make_operands(x, factor, masks, output, extras...);
    if (smx::status const s = smx::check(o); !s) return s;
    most_found = most;
    return smx::launching::launch_named<Kernel>(place, o, find_lesser);
}

// As launch_auto_backward().
template <class Choice, class Input, class Gradient, class Factor, class Mask, class Output, class... Sums>
static smx::status launch_auto_backward_within(smx::device_limits const& most, smx::launch_place place,
                                               smx::shaped_input<Input> const& y, Gradient const& dy,
                                               Factor const& factor, Mask const& masks, Output const& dx,
                                               Sums const&... sums) {
    auto const o = smx::make_backward_operands(y, dy, factor, masks, dx, sums...);
    using kernels = smx::detail::automatic_backward_kernels<std::remove_const_t<decltype(o)>, Choice>;
    if (smx::status const s = smx::detail::check_choice<Choice>(o); !s) return s;
    most_found = most;
    return smx::launching::launch_first<kernels>(place, o, find_lesser);
}

// As launch_backward().
template <class Kernel, class Input, class Gradient, class Factor, class Mask, class Output, class... Sums>
static smx::status launch_backward_within(smx::device_limits const& most, smx::launch_place place,
                                          smx::shaped_input<Input> const& y, Gradient const& dy, Factor const& factor,
                                          Mask const& masks, Output const& dx, Sums const&... sums) {
    auto const o = smx::make_backward_operands(y, dy, factor, masks, dx, sums...);
    if (smx::status const s = smx::check(o); !s) return s;
    most_found = most;
    return smx::launching::launch_named<Kernel>(place, o, find_lesser);
}

}  // namespace device
