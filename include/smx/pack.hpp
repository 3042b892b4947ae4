// A pack: consecutive columns, moved by the widest instruction their address allows.
#pragma once
#include "raw_pack.hpp"

SMX_BEGIN

// A bit for each column of a pack.
template <int Width>
inline constexpr unsigned all_bits = Width >= 32 ? ~0u : (1u << (Width % 32)) - 1u;

template <class Element, int Count>
struct pack {
    Element data[Count];
    SMX_HD Element& operator[](int i) { return data[i]; }
    SMX_HD Element const& operator[](int i) const { return data[i]; }
};

template <int Count, class Element>
SMX_HD pack<Element, Count> filled_pack(Element value) {
    pack<Element, Count> result;
    SMX_UNROLL
    for (int i = 0; i < Count; ++i) result[i] = value;
    return result;
}

template <class Compute, class Element, int Count>
SMX_HD pack<Compute, Count> widen(detail::raw_pack<Element, Count> const& raw) {
    pack<Compute, Count> result;
    if constexpr (SMX_DEVICE_CODE && converts_pairs<Element> && Count % 2 == 0) {
        SMX_UNROLL
        for (int i = 0; i < Count / 2; ++i) {
            unsigned const pair = raw.units[i];
            result[2 * i] = static_cast<Compute>(dtype<Element>::widen_low(pair));
            result[2 * i + 1] = static_cast<Compute>(dtype<Element>::widen_high(pair));
        }
    } else if constexpr (!SMX_DEVICE_CODE) {
        detail::widen_all<Count>(raw.units, result.data);
    } else {
        SMX_UNROLL
        for (int i = 0; i < Count; ++i) result[i] = static_cast<Compute>(dtype<Element>::widen(raw[i]));
    }
    return result;
}

template <class Element, class Compute, int Count>
SMX_HD detail::raw_pack<Element, Count> narrow(pack<Compute, Count> const& values) {
    using raw_pack = detail::raw_pack<Element, Count>;
    if constexpr (SMX_DEVICE_CODE && converts_pairs<Element> && Count % 2 == 0 && same_type<Compute, float>) {
        raw_pack raw;
        SMX_UNROLL
        for (int i = 0; i < Count / 2; ++i) raw.units[i] = dtype<Element>::narrow_pair(values[2 * i], values[2 * i + 1]);
        return raw;
    } else if constexpr (!SMX_DEVICE_CODE) {
        raw_pack raw;
        detail::narrow_all<Count>(values.data, raw.units);
        return raw;
    } else {
        return raw_pack::of([&](int i) { return dtype<Element>::narrow(values[i]); });
    }
}

// A pack of numbers as they are.
template <class Compute, int Count>
SMX_HD pack<Compute, Count> const& widen(pack<Compute, Count> const& values) {
    return values;
}

// Each number times another, rounded once; a stored score by one that is a stored one too.
template <class Compute, int Count>
SMX_HD void multiply_each(pack<Compute, Count>& values, Compute by) {
    SMX_UNROLL
    for (int i = 0; i < Count; ++i) values[i] = rounded_product(values[i], by);
}
template <class Element, int Count>
SMX_HD void multiply_each(detail::raw_pack<Element, Count>& scores, compute_of<Element> by) {
    if constexpr (SMX_DEVICE_CODE && multiplies_pairs<Element> && Count % 2 == 0) {
        SMX_UNROLL
        for (int i = 0; i < Count / 2; ++i) scores.units[i] = dtype<Element>::product_pair(scores.units[i], dtype<Element>::narrow_pair(by, by));
    } else {
        scores = detail::raw_pack<Element, Count>::of([&](int i) { return dtype<Element>::narrow(dtype<Element>::widen(scores[i]) * by); });
    }
}

SMX_END
