// A pack: consecutive columns, moved by the widest instruction their address allows.
#pragma once
#include "dtype.hpp"

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

// The largest access for a piece of memory of this size: 16 bytes at most.
SMX_HD constexpr int widest_access(int bytes) {
    return bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
}

SMX_HD bool is_aligned(void const* pointer, int bytes) {
    return (reinterpret_cast<uint64>(pointer) & static_cast<unsigned>(bytes - 1)) == 0;
}

// Stored elements as they lie in memory.
template <class Element, int Count>
struct alignas(widest_access(Count * int{sizeof(Element)}) > int{alignof(Element)} ? widest_access(Count * int{sizeof(Element)}) : int{alignof(Element)}) raw_pack {
    Element data[Count];
};

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
    SMX_UNROLL
    for (int i = 0; i < Count * int{sizeof(Element)} / Access; ++i) {
        word const* const source = reinterpret_cast<word const*>(from) + i;
        if constexpr (Traffic == traffic::streamed) {
            reinterpret_cast<word*>(into.data)[i] = __ldcs(source);
        } else {
            reinterpret_cast<word*>(into.data)[i] = *source;
        }
    }
#else
    __builtin_memcpy(into.data, from, sizeof(into.data));
#endif
}

template <int Access, traffic Traffic, class Element, int Count>
SMX_HD void write_as(Element* into, raw_pack<Element, Count> const& from) {
#if SMX_DEVICE_CODE
    using word = typename access_word<Access>::type;
    SMX_UNROLL
    for (int i = 0; i < Count * int{sizeof(Element)} / Access; ++i) {
        word* const target = reinterpret_cast<word*>(into) + i;
        word const value = reinterpret_cast<word const*>(from.data)[i];
        if constexpr (Traffic == traffic::streamed) {
            __stcs(target, value);
        } else {
            *target = value;
        }
    }
#else
    __builtin_memcpy(into, from.data, sizeof(from.data));
#endif
}

}  // namespace detail

// `pointer` lies on a multiple of the pack's own size, or of 16 bytes if that is less.
template <int Count, detail::traffic Traffic, class Element>
SMX_HD detail::raw_pack<Element, Count> read_aligned(Element const* pointer) {
    detail::raw_pack<Element, Count> raw;
    detail::read_as<detail::widest_access(Count * int{sizeof(Element)}), Traffic>(raw, pointer);
    return raw;
}

// Memory that other rows read too (masks, biases), at any element address.
template <int Count, class Element>
SMX_HD detail::raw_pack<Element, Count> read_pack(Element const* pointer) {
    using access = detail::accesses<Element, Count>;
    detail::raw_pack<Element, Count> raw;
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

// Any element address.
template <detail::traffic Traffic, int Count, class Element>
SMX_HD void write_pack(Element* pointer, detail::raw_pack<Element, Count> const& raw) {
    using access = detail::accesses<Element, Count>;
    if (detail::is_aligned(pointer, access::widest)) {
        detail::write_as<access::widest, Traffic>(pointer, raw);
    } else if (access::word > access::element && detail::is_aligned(pointer, access::word)) {
        detail::write_as<access::word, Traffic>(pointer, raw);
    } else {
        detail::write_as<access::element, Traffic>(pointer, raw);
    }
}

template <class Compute, class Element, int Count>
SMX_HD pack<Compute, Count> widen(detail::raw_pack<Element, Count> const& raw) {
    pack<Compute, Count> result;
    if constexpr (SMX_DEVICE_CODE && converts_pairs<Element> && Count % 2 == 0) {
        SMX_UNROLL
        for (int i = 0; i < Count / 2; ++i) {
            unsigned const pair = reinterpret_cast<unsigned const*>(raw.data)[i];
            result[2 * i] = static_cast<Compute>(dtype<Element>::widen_low(pair));
            result[2 * i + 1] = static_cast<Compute>(dtype<Element>::widen_high(pair));
        }
    } else {
        SMX_UNROLL
        for (int i = 0; i < Count; ++i) result[i] = static_cast<Compute>(dtype<Element>::widen(raw.data[i]));
    }
    return result;
}

template <class Element, class Compute, int Count>
SMX_HD detail::raw_pack<Element, Count> narrow(pack<Compute, Count> const& values) {
    detail::raw_pack<Element, Count> raw;
    if constexpr (SMX_DEVICE_CODE && converts_pairs<Element> && Count % 2 == 0 && same_type<Compute, float>) {
        SMX_UNROLL
        for (int i = 0; i < Count / 2; ++i) reinterpret_cast<unsigned*>(raw.data)[i] = dtype<Element>::narrow_pair(values[2 * i], values[2 * i + 1]);
    } else {
        SMX_UNROLL
        for (int i = 0; i < Count; ++i) raw.data[i] = dtype<Element>::narrow(values[i]);
    }
    return raw;
}

SMX_END
