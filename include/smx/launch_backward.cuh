// Launching the backward pass on a stream: a kernel by name, or the one that suits the shape.
#pragma once
#include "automatic_backward.hpp"
#include "launch.cuh"

SMX_BEGIN_KERNELS

// The gradient of the scores of scaled mask softmax, dx = scale * y * (dy - sum(dy * y)) in visible columns and 0 in all others, by the kernel you
// name: resident or chunked_online. Scale and mask are those of the forward pass.
// Shape     y: saved_probabilities(pointer, shape, strides); dy: incoming_gradients(pointer, strides); dx: gradients(pointer, strides); masks and
//           factors as they say; all in device memory. no_output{} in the place of dx: not wanted. What is added up follows dx, if anything is:
//           bias_gradients(db, strides), scale_gradients(per_row)
// Errors    as check_backward(); too_large or device_limit when the kernel cannot run these rows; cuda_failed with CUDA's own error. Nothing is
//           launched or written then, and the error CUDA remembers for the thread is as it was.
// Cost      one kernel launch; no allocation, no synchronisation; may be the first call in a stream capture
template <class Kernel, class Input, class Gradient, class Factor, class Mask, class Output, class... Sums>
static status launch_backward(launch_place place, shaped_input<Input> const& y, Gradient const& dy, Factor const& factor, Mask const& masks,
                              Output const& dx, Sums const&... sums) {
    static_assert(Kernel::value.body == body_kind::resident || Kernel::value.body == body_kind::compact || Kernel::value.body == body_kind::online,
                  "a backward pass waits in registers or is read twice: write resident, compact or chunked_online");
    auto const o = smx::make_backward_operands(y, dy, factor, masks, dx, sums...);
    if (status const s = smx::check(o); !s) return s;
    return launching::launch_named<Kernel>(place, o);
}

// The same by the kernel that suits the rows and the mask. A Choice limits what is compiled or chosen, as for launch_auto.
// Shape, errors and cost as launch_backward(); also bad_shape or too_large for columns outside the Choice
template <class Choice = every_kernel, class Input, class Gradient, class Factor, class Mask, class Output, class... Sums>
static status launch_auto_backward(launch_place place, shaped_input<Input> const& y, Gradient const& dy, Factor const& factor, Mask const& masks,
                                   Output const& dx, Sums const&... sums) {
    auto o = smx::make_backward_operands(y, dy, factor, masks, dx, sums...);
    if (status const s = detail::check_choice<Choice>(o); !s) return s;
    return launching::launch_first<detail::automatic_backward_kernels<decltype(o), Choice>>(place, o);
}

SMX_END_KERNELS
