// A call of calls.hpp as smx's own arguments.
#pragma once
#include <type_traits>

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

template <class T, mask_kind Masks>
auto mask_of(call const& c) {
    if constexpr (Masks == mask_kind::causal) {
        return causal_of(c);
    } else if constexpr (Masks == mask_kind::flags) {
        return flags_of(c);
    } else if constexpr (Masks == mask_kind::bits) {
        return bits_of(c);
    } else if constexpr (Masks == mask_kind::bias) {
        return bias_of<T>(c);
    } else if constexpr (Masks == mask_kind::causal_lengths_flags) {
        return smx::both(causal_of(c), lengths_of(c), flags_of(c));
    } else if constexpr (Masks == mask_kind::causal_bits) {
        return smx::both(causal_of(c), bits_of(c));
    } else if constexpr (Masks == mask_kind::causal_bias) {
        return smx::both(causal_of(c), bias_of<T>(c));
    } else if constexpr (Masks == mask_kind::bias_flags) {
        return smx::both(bias_of<T>(c), flags_of(c));
    } else if constexpr (Masks == mask_kind::all_four) {
        return smx::both(causal_of(c), lengths_of(c), flags_of(c), bias_of<T>(c));
    } else {
        return smx::no_mask();
    }
}

// Calls visit(constant) with a mask_kind as a std::integral_constant.
template <class Visit>
auto with_kind(mask_kind masks, Visit const& visit) {
    switch (masks) {
        case mask_kind::none:
            break;
        case mask_kind::causal:
            return visit(std::integral_constant<mask_kind, mask_kind::causal>());
        case mask_kind::flags:
            return visit(std::integral_constant<mask_kind, mask_kind::flags>());
        case mask_kind::bits:
            return visit(std::integral_constant<mask_kind, mask_kind::bits>());
        case mask_kind::bias:
            return visit(std::integral_constant<mask_kind, mask_kind::bias>());
        case mask_kind::causal_lengths_flags:
            return visit(std::integral_constant<mask_kind, mask_kind::causal_lengths_flags>());
        case mask_kind::causal_bits:
            return visit(std::integral_constant<mask_kind, mask_kind::causal_bits>());
        case mask_kind::causal_bias:
            return visit(std::integral_constant<mask_kind, mask_kind::causal_bias>());
        case mask_kind::bias_flags:
            return visit(std::integral_constant<mask_kind, mask_kind::bias_flags>());
        case mask_kind::all_four:
            return visit(std::integral_constant<mask_kind, mask_kind::all_four>());
    }
    return visit(std::integral_constant<mask_kind, mask_kind::none>());
}

// Calls visit(mask) with the mask of a call.
template <class T, class Visit>
auto with_mask(mask_kind masks, call const& c, Visit const& visit) {
    return with_kind(masks, [&](auto kind) { return visit(mask_of<T, decltype(kind)::value>(c)); });
}

}  // namespace bench
