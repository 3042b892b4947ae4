// Mover: the rows of a backward pass as rows of whole packs, for a CPU.
#pragma once
#include "summed_backward.hpp"
#include "whole_packs.hpp"

SMX_BEGIN

#if SMX_HAS_HOST
namespace detail {

template <class Input>
filled_input<Input> filled(host_group& g, Input const& input) {
    return {input, &g};
}
template <class Input, class Sum, normalized To>
recomputed_input<filled_input<Input>, Sum, To> filled(host_group& g, recomputed_input<Input, Sum, To> const& y) {
    return {{y.scores, &g}, y.sums};
}
template <class Input>
recomputed_input<filled_input<Input>, void, normalized::logarithms> filled(host_group& g, recomputed_input<Input, void, normalized::logarithms> const& y) {
    return {{y.scores, &g}};
}

template <class Input, class Dropout>
dropped_input<filled_input<Input>, Dropout> filled(host_group& g, dropped_input<Input, Dropout> const& dy) {
    return {{dy.input, &g}, dy.dropout};
}

template <class Element, class Input, class Output>
auto filled(host_group& g, bias_sums<Element, Input, Output> const& sums) {
    return bias_sums<Element, filled_input<Input>, filled_output<Output>>{{sums.input, &g}, {sums.output, &g}, sums.over_columns};
}
inline no_bias_sums filled(host_group&, no_bias_sums const&) { return {}; }

}  // namespace detail

// A backward call whose rows g can take.
template <class Input, class Gradient, class Factor, class Mask, class Output>
auto in_whole_packs(host_group& g, backward_operands<Input, Gradient, Factor, Mask, Output> const& o) {
    using input = decltype(detail::filled(g, o.input));
    using gradient = decltype(detail::filled(g, o.gradient));
    using output = detail::filled_output<Output>;
    return backward_operands<input, gradient, Factor, detail::filled_mask<Mask>, output>{
        o.rows, detail::filled(g, o.input), detail::filled(g, o.gradient), o.factor, {o.output, &g}, {o.masks}, o.shape, o.axes};
}
template <class Each, class Bias, class Scale>
auto in_whole_packs(host_group& g, summed_operands<Each, Bias, Scale> const& o) {
    Each const& each = o;
    auto const rows = in_whole_packs(g, each);
    auto const bias = detail::filled(g, o.bias);
    return summed_operands<decltype(in_whole_packs(g, each)), decltype(detail::filled(g, o.bias)), Scale>{rows, bias, o.scale, o.shared};
}
#endif

SMX_END
