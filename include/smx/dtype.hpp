// Storage types: how a stored number becomes a float or a double, and how it is rounded back, once.
#pragma once
#include "math.hpp"
#include "traits.hpp"

SMX_BEGIN

// 16-bit storage without the toolkit's headers, same layout as __half and __nv_bfloat16 (dtype_half.hpp takes those too).
struct half {
    unsigned short bits;
};
struct bfloat16 {
    unsigned short bits;
};

// Specialise for a type of your own:
//   using compute = float;                     the type its arithmetic is done in: float or double
//   static compute widen(Element);                   exact
//   static Element narrow(float), narrow(double);    rounded to nearest even
// and, if it has one:                        static Element neg_inf();
// and, if two of them fill a 32-bit word:  static unsigned narrow_pair(float low, float high);
//                                          static float widen_low(unsigned pair), widen_high(unsigned pair);
//                                          static unsigned larger_pair(unsigned tops, unsigned next), each the other where that is NaN,
//                                          product_pair(unsigned, unsigned);
// and, if so many are converted together:  static constexpr int at_once;
//                                          static void widen_some(Element const*, float*), narrow_some(float const*, Element*).
template <class Element>
struct dtype {
    static_assert(always_false<Element>, "smx does not know this element type: specialise smx::dtype<Element> with compute, widen and narrow");
};

template <>
struct dtype<float> {
    using compute = float;
    static SMX_HD float widen(float value) { return value; }
    static SMX_HD float narrow(float value) { return value; }
    static SMX_HD float narrow(double value) { return static_cast<float>(value); }
    static SMX_HD float neg_inf() { return smx::neg_inf<float>(); }
};

template <>
struct dtype<double> {
    using compute = double;
    static SMX_HD double widen(double value) { return value; }
    static SMX_HD double narrow(double value) { return value; }
    static SMX_HD double narrow(float value) { return static_cast<double>(value); }
    static SMX_HD double neg_inf() { return smx::neg_inf<double>(); }
};

namespace detail {

// Rounds to float so that a second rounding to 16 bits gives what one rounding of the double would (round to odd).
// Source    S. Boldo, G. Melquiond, "When double rounding is odd", 2005.
SMX_HD float float_rounded_to_odd(double value) {
    float const nearest = static_cast<float>(value);
    double const back = static_cast<double>(nearest);
    if (back == value || value != value) return nearest;
    unsigned const bits = bit_cast<unsigned>(nearest);
    bool const away = (value < 0 ? -back : back) > (value < 0 ? -value : value);
    return bit_cast<float>((away ? bits - 1u : bits) | 1u);
}

// All ones where a < b, both below 2^31. Choices between halves go by such masks: one that says ?: becomes a branch in GCC where a side is a
// product or sum of floats, and a loop with a branch is not vectorised.
SMX_HD constexpr unsigned ones_where_below(unsigned a, unsigned b) { return static_cast<unsigned>(static_cast<int>(a - b) >> 31); }
SMX_HD constexpr unsigned chosen(unsigned ones, unsigned yes, unsigned no) { return (yes & ones) | (no & ~ones); }

SMX_HD float widen_half(unsigned short bits) {
#if SMX_DEVICE_CODE
    return ptx::half_to_float(bits);
#else
    // Exponent and mantissa move up to float's places; a product by 2^112 then corrects the bias, subnormals included.
    unsigned const magnitude = (bits & 0x7fffu) << 13;
    unsigned const sign = (bits & 0x8000u) << 16;
    float const scaled = bit_cast<float>(magnitude) * 5.192296858534828e33f;
    unsigned const finite = bit_cast<unsigned>(scaled);
    unsigned const special = magnitude | 0x7f800000u;  // infinity and NaN
    return bit_cast<float>(chosen(ones_where_below(bits & 0x7c00u, 0x7c00u), finite, special) | sign);
#endif
}

SMX_HD unsigned short narrow_half(float value) {
#if SMX_DEVICE_CODE
    return ptx::float_to_half(value);
#else
    unsigned const word = bit_cast<unsigned>(value);
    unsigned const sign = word & 0x80000000u;
    unsigned const magnitude = word ^ sign;
    // Subnormal halves: adding 0.5 leaves the rounded result in the low bits of the sum.
    unsigned const subnormal = bit_cast<unsigned>(bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    unsigned const normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    unsigned const finite = chosen(ones_where_below(magnitude, 0x38800000u), subnormal, normal);
    unsigned const special = chosen(ones_where_below(0x7f800000u, magnitude), 0x7e00u, 0x7c00u);
    return static_cast<unsigned short>(chosen(ones_where_below(magnitude, 0x47800000u), finite, special) | (sign >> 16));
#endif
}

#if SMX_HALVES_AT_ONCE
// As wide as the loops that follow, which would wait for what is stored in halves of their registers.
inline constexpr int halves_at_once = SMX_HALVES_AT_ONCE;
using float_register = float __attribute__((vector_size(4 * halves_at_once)));
using half_register = short __attribute__((vector_size(2 * halves_at_once)));

SMX_HD void widen_halves(void const* from, float* into) {
    half_register stored;
    __builtin_memcpy(&stored, from, sizeof(stored));
#if SMX_HALVES_AT_ONCE == 16
    constexpr int current_rounding = 4;
    float_register const wide = __builtin_ia32_vcvtph2ps512_mask(stored, float_register{}, static_cast<unsigned short>(~0u), current_rounding);
#else
    float_register const wide = __builtin_ia32_vcvtph2ps256(stored);
#endif
    __builtin_memcpy(into, &wide, sizeof(wide));
}

SMX_HD void narrow_halves(float const* from, void* into) {
    constexpr int to_nearest_even = 0;
    float_register wide;
    __builtin_memcpy(&wide, from, sizeof(wide));
#if SMX_HALVES_AT_ONCE == 16
    half_register const stored = __builtin_ia32_vcvtps2ph512_mask(wide, to_nearest_even, half_register{}, static_cast<unsigned short>(~0u));
#else
    half_register const stored = __builtin_ia32_vcvtps2ph256(wide, to_nearest_even);
#endif
    __builtin_memcpy(into, &stored, sizeof(stored));
}
#endif

SMX_HD unsigned short narrow_bfloat16(float value) {
#if SMX_ARCH >= 800
    return static_cast<unsigned short>(ptx::floats_to_bfloat16s(value, 0.0f));
#else
    unsigned const word = bit_cast<unsigned>(value);
    unsigned const rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
    unsigned const quiet = (word >> 16) | 0x40u;
    return static_cast<unsigned short>(value != value ? quiet : rounded);
#endif
}

}  // namespace detail

template <>
struct dtype<half> {
    using compute = float;
    static SMX_HD float widen(half value) { return detail::widen_half(value.bits); }
    static SMX_HD half narrow(float value) { return {detail::narrow_half(value)}; }
    static SMX_HD half narrow(double value) { return {detail::narrow_half(detail::float_rounded_to_odd(value))}; }
    static SMX_HD half neg_inf() { return {0xfc00}; }
#if SMX_ARCH >= 800
    static SMX_DEVICE unsigned larger_pair(unsigned tops, unsigned next) { return ptx::larger_halves(tops, next); }
    static SMX_DEVICE unsigned product_pair(unsigned a, unsigned b) { return ptx::product_of_halves(a, b); }
#endif
    static SMX_HD float widen_low(unsigned pair) { return detail::widen_half(static_cast<unsigned short>(pair)); }
    static SMX_HD float widen_high(unsigned pair) { return detail::widen_half(static_cast<unsigned short>(pair >> 16)); }
    static SMX_HD unsigned narrow_pair(float low, float high) {
#if SMX_ARCH >= 800
        return ptx::floats_to_halves(low, high);
#else
        return detail::narrow_half(low) | static_cast<unsigned>(detail::narrow_half(high)) << 16;
#endif
    }
#if SMX_HALVES_AT_ONCE
    static constexpr int at_once = detail::halves_at_once;
    static SMX_HD void widen_some(half const* from, float* into) { detail::widen_halves(from, into); }
    static SMX_HD void narrow_some(float const* from, half* into) { detail::narrow_halves(from, into); }
#endif
};

template <>
struct dtype<bfloat16> {
    using compute = float;
#if SMX_ARCH >= 800
    static SMX_DEVICE unsigned larger_pair(unsigned tops, unsigned next) { return ptx::larger_bfloat16s(tops, next); }
    static SMX_DEVICE unsigned product_pair(unsigned a, unsigned b) { return ptx::product_of_bfloat16s(a, b); }
#endif
    static SMX_HD float widen_low(unsigned pair) { return bit_cast<float>(pair << 16); }
    static SMX_HD float widen_high(unsigned pair) { return bit_cast<float>(pair & 0xffff0000u); }
    static SMX_HD float widen(bfloat16 value) { return bit_cast<float>(static_cast<unsigned>(value.bits) << 16); }
    static SMX_HD bfloat16 narrow(float value) { return {detail::narrow_bfloat16(value)}; }
    static SMX_HD bfloat16 narrow(double value) { return {detail::narrow_bfloat16(detail::float_rounded_to_odd(value))}; }
    static SMX_HD bfloat16 neg_inf() { return {0xff80}; }
    static SMX_HD unsigned narrow_pair(float low, float high) {
#if SMX_ARCH >= 800
        return ptx::floats_to_bfloat16s(low, high);
#else
        return detail::narrow_bfloat16(low) | static_cast<unsigned>(detail::narrow_bfloat16(high)) << 16;
#endif
    }
};

template <class Element>
using compute_of = typename dtype<Element>::compute;

// Two elements fill a word and can be converted together.
template <class Element, class = void>
inline constexpr bool converts_pairs = false;
template <class Element>
inline constexpr bool converts_pairs<Element, always_void<decltype(dtype<Element>::narrow_pair(0.0f, 0.0f)), decltype(dtype<Element>::widen_low(0u))>> =
    sizeof(Element) == 2;
template <class Element, class = void>
inline constexpr bool compares_pairs = false;
template <class Element>
inline constexpr bool compares_pairs<Element, always_void<decltype(dtype<Element>::larger_pair(0u, 0u))>> = converts_pairs<Element>;
template <class Element, class = void>
inline constexpr bool multiplies_pairs = false;
template <class Element>
inline constexpr bool multiplies_pairs<Element, always_void<decltype(dtype<Element>::product_pair(0u, 0u))>> = converts_pairs<Element>;

// So many can be made of whole steps of those that are converted together.
template <class Element, class Compute, int Count, class = void>
inline constexpr bool converts_at_once = false;
template <class Element, int Count>
inline constexpr bool converts_at_once<Element, float, Count, always_void<decltype(dtype<Element>::at_once)>> = Count % dtype<Element>::at_once == 0;

namespace detail {

// Elements side by side in memory to numbers and back, on the CPU: loops that compilers vectorise, and instructions for several at once.
template <int Count, class Element, class Compute>
SMX_HD void widen_all(Element const* __restrict__ from, Compute* __restrict__ into) {
    if constexpr (same_type<Element, Compute> && Count * sizeof(Element) > 64) {  // GCC calls memcpy for a longer move, and for a loop of moves
        widen_all<Count / 2>(from, into);
        widen_all<Count - Count / 2>(from + Count / 2, into + Count / 2);
    } else if constexpr (same_type<Element, Compute>) {
        __builtin_memcpy(into, from, Count * sizeof(Element));
    } else if constexpr (converts_at_once<Element, Compute, Count>) {
        SMX_UNROLL
        for (int i = 0; i < Count; i += dtype<Element>::at_once) dtype<Element>::widen_some(from + i, into + i);
    } else {
        SMX_UNROLL
        for (int i = 0; i < Count; ++i) into[i] = static_cast<Compute>(dtype<Element>::widen(from[i]));
    }
}
template <int Count, class Element, class Compute>
SMX_HD void narrow_all(Compute const* __restrict__ from, Element* __restrict__ into) {
    if constexpr (same_type<Element, Compute>) {
        widen_all<Count>(from, into);
    } else if constexpr (converts_at_once<Element, Compute, Count>) {
        SMX_UNROLL
        for (int i = 0; i < Count; i += dtype<Element>::at_once) dtype<Element>::narrow_some(from + i, into + i);
    } else {
        SMX_UNROLL
        for (int i = 0; i < Count; ++i) into[i] = dtype<Element>::narrow(from[i]);
    }
}

}  // namespace detail

SMX_END
