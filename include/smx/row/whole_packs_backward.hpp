// Mover: the rows of a backward pass as rows of whole packs, for a CPU.
#pragma once
#include "whole_packs.hpp"

SMX_BEGIN

#if SMX_HAS_HOST
namespace detail {

template <class Input>
filled_input<Input> filled(host_group& g, Input const& input) {
    return {input, &g};
}
template <class Input, class Sum>
recomputed_input<filled_input<Input>, Sum> filled(host_group& g, recomputed_input<Input, Sum> const& y) {
    return {{y.scores, &g}, y.sums};
}

}  // namespace detail

// A backward call whose rows g can take.
template <class Input, class Gradient, class Factor, class Mask, class Output>
auto in_whole_packs(host_group& g, backward_operands<Input, Gradient, Factor, Mask, Output> const& o) {
    using input = decltype(detail::filled(g, o.input));
    using output = detail::filled_output<Output>;
    return backward_operands<input, detail::filled_input<Gradient>, Factor, detail::filled_mask<Mask>, output>{
        o.rows, detail::filled(g, o.input), {o.gradient, &g}, o.factor, {o.output, &g}, {o.masks}, o.shape, o.axes};
}
#endif

SMX_END
