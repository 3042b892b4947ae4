// A pack: consecutive columns, moved by the widest instruction their address allows.
#pragma once
#include "raw_pack.hpp"

SMX_BEGIN

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

namespace detail {

// streamed: global memory read or written once, let it leave the caches first · cached: any memory that will be wanted again
enum class traffic { streamed, cached };

// The accesses that the address of a pack may allow: all of it, a word of it, one element.
template <class Element, int Count>
struct accesses {
    static constexpr int element = int{sizeof(Element)};
    static constexpr int widest = widest_access(Count * element);
    static constexpr int word = widest > 4 && element < 4 ? 4 : element;
};

template <int Access>
struct access_word;
template <>
struct access_word<1> {
    using type = unsigned char;
};
template <>
struct access_word<2> {
    using type = unsigned short;
};
template <>
struct access_word<4> {
    using type = unsigned;
};
#if SMX_DEVICE_CODE
template <>
struct access_word<8> {
    using type = uint2;
};
template <>
struct access_word<16> {
    using type = uint4;
};
#endif

template <int Access, traffic Traffic, class Element, int Count>
SMX_HD void read_as(raw_pack<Element, Count>& into, Element const* from) {
#if SMX_DEVICE_CODE
    using word = typename access_word<Access>::type;
    auto const read = [from](int i) {
        word const* const source = reinterpret_cast<word const*>(from) + i;
        if constexpr (Traffic == traffic::streamed) {
            return __ldcs(source);
        } else {
            return *source;
        }
    };
    if constexpr (raw_pack<Element, Count>::in_words && Access == sizeof(Element)) {
        into = raw_pack<Element, Count>::of([&](int i) { return bit_cast<Element>(read(i)); });
    } else {
        SMX_UNROLL
        for (int i = 0; i < Count * int{sizeof(Element)} / Access; ++i) reinterpret_cast<word*>(into.units)[i] = read(i);
    }
#else
    __builtin_memcpy(into.units, from, sizeof(into.units));
#endif
}

template <int Access, traffic Traffic, class Element, int Count>
SMX_HD void write_as(Element* into, raw_pack<Element, Count> const& from) {
#if SMX_DEVICE_CODE
    using word = typename access_word<Access>::type;
    SMX_UNROLL
    for (int i = 0; i < Count * int{sizeof(Element)} / Access; ++i) {
        word* const target = reinterpret_cast<word*>(into) + i;
        word value;
        if constexpr (raw_pack<Element, Count>::in_words && Access == sizeof(Element)) {
            value = bit_cast<word>(from[i]);
        } else {
            value = reinterpret_cast<word const*>(from.units)[i];
        }
        if constexpr (Traffic == traffic::streamed) {
            __stcs(target, value);
        } else {
            *target = value;
        }
    }
#else
    __builtin_memcpy(into, from.units, sizeof(from.units));
#endif
}

// An address in global memory that streamed accesses are all made from: worked out once, where the compiler would do it again behind every
// condition.
template <traffic Traffic, class Element>
SMX_HD Element* held_address(Element* pointer) {
#if SMX_DEVICE_CODE
    if constexpr (Traffic == traffic::streamed) asm("" : "+l"(pointer));
#endif
    return pointer;
}

// Tells the compiler that a pointer is to global memory: it does not see that through a choice of pointers, and would ask the hardware at
// every access.
template <class Element>
SMX_HD Element const* in_global_memory(Element const* pointer) {
#if SMX_DEVICE_CODE
    __builtin_assume(__isGlobal(pointer));
#endif
    return pointer;
}
}  // namespace detail

// `pointer` lies on a multiple of the pack's own size, or of 16 bytes if that is less.
template <int Count, detail::traffic Traffic, class Element>
SMX_HD detail::raw_pack<Element, Count> read_aligned(Element const* pointer) {
    detail::raw_pack<Element, Count> raw;
    detail::read_as<detail::widest_access(Count * int{sizeof(Element)}), Traffic>(raw, pointer);
    return raw;
}

// Global memory that other rows read too (masks, biases), at any element address.
template <int Count, class Element>
SMX_HD detail::raw_pack<Element, Count> read_pack(Element const* pointer) {
    using access = detail::accesses<Element, Count>;
    detail::raw_pack<Element, Count> raw;
    pointer = detail::in_global_memory(pointer);
    if (detail::is_aligned(pointer, access::widest)) {
        detail::read_as<access::widest, detail::traffic::cached>(raw, pointer);
    } else if (access::word > access::element && detail::is_aligned(pointer, access::word)) {
        detail::read_as<access::word, detail::traffic::cached>(raw, pointer);
    } else {
        detail::read_as<access::element, detail::traffic::cached>(raw, pointer);
    }
    return raw;
}

template <detail::traffic Traffic, int Count, class Element>
SMX_HD void write_aligned(Element* pointer, detail::raw_pack<Element, Count> const& raw) {
    detail::write_as<detail::widest_access(Count * int{sizeof(Element)}), Traffic>(pointer, raw);
}

namespace detail {
// Words or elements, as the address allows.
template <traffic Traffic, int Count, class Element>
SMX_HD void write_pieces(Element* pointer, raw_pack<Element, Count> const& raw) {
    using access = accesses<Element, Count>;
    if (access::word > access::element && is_aligned(pointer, access::word)) {
        write_as<access::word, Traffic>(pointer, raw);
    } else {
        write_as<access::element, Traffic>(pointer, raw);
    }
}
}  // namespace detail

// Any element address.
template <detail::traffic Traffic, int Count, class Element>
SMX_HD void write_pack(Element* pointer, detail::raw_pack<Element, Count> const& raw) {
    constexpr int widest = detail::accesses<Element, Count>::widest;
    if (detail::is_aligned(pointer, widest)) {
        detail::write_as<widest, Traffic>(pointer, raw);
    } else {
        detail::write_pieces<Traffic>(pointer, raw);
    }
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
