// Putting a backward call together on the host, and checking every argument of it.
#pragma once
#include "check.hpp"

SMX_BEGIN

// The probabilities that a forward pass gave.
// Shape     y: `shape`, `step` elements apart (any outer strides, zero and negative too), key stride 1; packed when left out
template <class Element>
shaped_input<dense_input<Element>> saved_probabilities(Element const* y, extents shape, strides step = contiguous) {
    return smx::scores(y, shape, step);
}

// Probabilities that your own input reads.
template <class Input>
shaped_input<Input> saved_probabilities_from(Input const& input, extents shape) {
    return {input, shape};
}

// Probabilities that were not kept, made again from the scores of the forward pass and their log-sum-exp.
// Shape     sums: batch x heads x queries, packed; what log_sum_exp(sums) was given
template <class Input, class Sum>
shaped_input<recomputed_input<Input, Sum>> recomputed_probabilities(shaped_input<Input> const& x, Sum const* sums) {
    return {{x.input, sums}, x.shape};
}

// The same where log-probabilities left the forward pass: the logarithms that it gave, or the scores and their log-sum-exp.
template <class Element>
shaped_input<recomputed_input<dense_input<Element>, void, normalized::logarithms>> saved_log_probabilities(Element const* y, extents shape, strides step = contiguous) {
    return {{smx::scores(y, shape, step).input}, shape};
}
template <class Input, class Sum>
shaped_input<recomputed_input<Input, Sum, normalized::logarithms>> recomputed_log_probabilities(shaped_input<Input> const& x, Sum const* sums) {
    return {{x.input, sums}, x.shape};
}

// The gradient of the probabilities, or of their logarithms.
// Shape     dy: the shape of the probabilities, its own strides as theirs; packed when left out. An input of your own takes its place as it is.
template <class Element>
dense_input<Element> incoming_gradients(Element const* dy, strides step = contiguous) {
    return {dy, step};
}

// The gradient of the scores.
// Shape     dx: the shape of the probabilities, its own strides; packed when left out. dx == dy is allowed: same pointer, element size and strides.
template <hidden Hidden = hidden::zeros, class Element>
dense_output<Element, Hidden> gradients(Element* dx, strides step = contiguous) {
    return {dx, step};
}

namespace detail {
template <class Input, class Sum, normalized To>
void complete(recomputed_input<Input, Sum, To>& y, extents shape) {
    detail::complete(y.scores, shape);
}

// Saved probabilities are y in a status, the scores of others x.
template <class Input>
status check_probabilities(Input const& y, extents shape) {
    return check_named(y, shape, y_names);
}
template <class Input>
status check_probabilities(recomputed_input<Input, void, normalized::logarithms> const& y, extents shape) {
    return check_named(y.scores, shape, y_names);
}
template <class Input, class Sum, normalized To>
status check_probabilities(recomputed_input<Input, Sum, To> const& y, extents shape) {
    if (status const s = check_pointer(y.sums, "log_sum_exp"); !s) return s;
    return check_named(y.scores, shape, x_names);
}
template <class Input, class Sum, normalized To, class Output>
placement place_of(recomputed_input<Input, Sum, To> const& y, Output const& dx, extents shape) {
    return detail::place_of(y.scores, dx, shape);
}
template <class Input, class Dropout, class Output>
placement place_of(dropped_input<Input, Dropout> const& dy, Output const& dx, extents shape) {
    return detail::place_of(dy.input, dx, shape);
}

template <class Input>
inline constexpr bool is_made_of_scores = false;
template <class Input, class Sum, normalized To>
inline constexpr bool is_made_of_scores<recomputed_input<Input, Sum, To>> = !same_type<Sum, void>;

inline constexpr tensor_names dy_names{"dy", "dy key stride", "dy strides"}, dx_names{"dx", "dx key stride", "dx strides"};
}  // namespace detail

// A backward call by value: what every body and kernel is given.
template <class Input, class Gradient, class Factor, class Mask, class Output>
auto make_backward_operands(shaped_input<Input> const& y, Gradient const& dy, Factor const& factor, Mask const& asked, Output const& dx) {
    static_assert(detail::has_compute<Gradient>, "the gradient that comes in is incoming_gradients(dy) or an input of your own; the one that goes out, "
                                                 "gradients(dx), comes last");
    static_assert(!is_dropped<Input> && !is_dropped<Output>, "what is dropped in a backward pass is the gradient that comes in: write "
                                                             "dropped(incoming_gradients(dy), dropout(...))");
    static_assert(!is_dropped<Gradient> || !is_of_logarithms<Input>, "a dropout makes probabilities 0, which no logarithm of theirs is");
    detail::are_parts<Factor, Mask>();
    Input input = y.input;
    Gradient gradient = dy;
    Output output = dx;
    auto masks = detail::prepared_for(asked, y.shape);
    detail::complete(input, y.shape);
    detail::complete(gradient, y.shape);
    detail::complete(output, y.shape);
    row_range const rows = detail::rows_of(y.shape, input, gradient, factor, masks, output);
    return backward_operands<Input, Gradient, Factor, decltype(masks), Output>{rows, input, gradient, factor, output, masks, y.shape, rows.axes()};
}

namespace detail {
// Nothing would be written.
template <class Input, class Gradient, class Factor, class Mask, class Output>
bool is_done(backward_operands<Input, Gradient, Factor, Mask, Output> const& o) {
    return o.rows.count() == 0 || o.shape.keys == 0;
}
}  // namespace detail

// Whether a backward call is right, without running it.
// Errors    null_pointer, misaligned, bad_shape, bad_stride, overlap, too_large; tensors without elements are right whatever their pointers
template <class Input, class Gradient, class Factor, class Mask, class Output>
status check(backward_operands<Input, Gradient, Factor, Mask, Output> const& o) {
    if (status const s = detail::check_shape(o.shape); !s) return s;
    if (detail::is_done(o)) return {};
    if (status const s = detail::check_part(o.factor, o.shape); !s) return s;
    if (status const s = detail::check_part(o.masks, o.shape); !s) return s;
    if (status const s = detail::check_probabilities(o.input, o.shape); !s) return s;
    if (status const s = detail::check_named(o.gradient, o.shape, detail::dy_names); !s) return s;
    if (status const s = detail::check_named(o.output, o.shape, detail::dx_names); !s) return s;
    detail::placement const from_dy = detail::place_of(o.gradient, o.output, o.shape), from_y = detail::place_of(o.input, o.output, o.shape);
    if (!from_dy.same && !from_dy.apart)
        return detail::wrong(errc::overlap, "dx", "dy itself (same pointer, element size and strides) or apart from it; distance in bytes", from_dy.distance);
    if (!from_y.apart)
        return detail::wrong(errc::overlap, "dx", detail::is_made_of_scores<Input> ? "apart from x; distance in bytes" : "apart from y; distance in bytes", from_y.distance);
    return {};
}

template <class Input, class Gradient, class Factor, class Mask, class Output>
status check_backward(shaped_input<Input> const& y, Gradient const& dy, Factor const& factor, Mask const& masks, Output const& dx) {
    return smx::check(smx::make_backward_operands(y, dy, factor, masks, dx));
}

SMX_END
