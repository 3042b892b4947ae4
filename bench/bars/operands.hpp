// A call of calls.hpp as smx's own arguments.
#pragma once
#include "calls.hpp"
#include "smx/smx.hpp"

namespace bench {

template <class T>
auto scores_of(call const& c) {
    return smx::scores(static_cast<T const*>(c.x), c.shape);
}
template <class T>
auto probabilities_of(call const& c) {
    return smx::probabilities(static_cast<T*>(c.y));
}
inline smx::fixed_scale factor_of(call const& c) { return smx::fixed_scale(c.factor); }

inline auto causal_of(call const&) { return smx::causal_mask::top_left(); }
inline auto lengths_of(call const& c) { return smx::key_lengths(c.lengths); }
inline auto flags_of(call const& c) { return smx::mask_tensor(c.flags, c.flags_step); }
inline auto bits_of(call const& c) { return smx::mask_bits(c.bits, c.bits_step); }
template <class T>
auto bias_of(call const& c) {
    return smx::bias_tensor(static_cast<T const*>(c.bias), c.bias_step);
}

// Calls visit(mask) with the mask of a call.
template <class T, class Visit>
auto with_mask(mask_kind masks, call const& c, Visit const& visit) {
    switch (masks) {
        case mask_kind::none:
            break;
        case mask_kind::causal:
            return visit(causal_of(c));
        case mask_kind::flags:
            return visit(flags_of(c));
        case mask_kind::bits:
            return visit(bits_of(c));
        case mask_kind::bias:
            return visit(bias_of<T>(c));
        case mask_kind::causal_lengths_flags:
            return visit(smx::both(causal_of(c), lengths_of(c), flags_of(c)));
        case mask_kind::causal_bits:
            return visit(smx::both(causal_of(c), bits_of(c)));
        case mask_kind::causal_bias:
            return visit(smx::both(causal_of(c), bias_of<T>(c)));
        case mask_kind::bias_flags:
            return visit(smx::both(bias_of<T>(c), flags_of(c)));
        case mask_kind::all_four:
            return visit(smx::both(causal_of(c), lengths_of(c), flags_of(c), bias_of<T>(c)));
    }
    return visit(smx::no_mask());
}

}  // namespace bench
