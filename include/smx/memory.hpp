// How packs of stored elements are read and written.
#pragma once
#include "raw_pack.hpp"

SMX_BEGIN

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
            return ptx::load_streamed(source);
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
            ptx::store_streamed(target, value);
        } else {
            *target = value;
        }
    }
#else
    __builtin_memcpy(into, from.units, sizeof(from.units));
#endif
}

// How long what is read stays in the L2, as an instruction takes it: what createpolicy.fractional gives for all of an access, which a kernel need
// not work out when it is a parameter.
enum class cache_policy : uint64 {
    usual = 0x16f0000000000000,   // evict_normal
    stays = 0x14f0000000000000,   // evict_last
    leaves = 0x12f0000000000000,  // evict_first
};

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
    bool const is_global = __isGlobal(pointer);  // by itself: NVRTC 11 takes no call for an assumption
    __builtin_assume(is_global);
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

namespace detail {
// Global memory that other rows read too.
template <int Count, class Element>
SMX_HD raw_pack<Element, Count> read_repeated(Element const* pointer, cache_policy policy) {
#if SMX_ARCH >= 900
    constexpr int access = widest_access(Count * int{sizeof(Element)});
    if constexpr (access >= 4) {
        using word = typename access_word<access>::type;
        raw_pack<Element, Count> raw;
        SMX_UNROLL
        for (int i = 0; i < Count * int{sizeof(Element)} / access; ++i)
            reinterpret_cast<word*>(raw.units)[i] = ptx::load(reinterpret_cast<word const*>(pointer) + i, static_cast<uint64>(policy));
        return raw;
    }
#endif
    (void)policy;
    return smx::read_aligned<Count, traffic::cached>(pointer);
}
}  // namespace detail

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

namespace detail {
// From global to shared memory, both on multiples of 16 bytes: there for this thread when it has waited.
SMX_HD void copy_16_bytes(void* target, void const* source) {
#if SMX_ARCH >= 900
    ptx::copy_async(target, source, static_cast<uint64>(cache_policy::leaves));
#elif SMX_DEVICE_CODE
    *static_cast<uint4*>(target) = ptx::load_streamed(static_cast<uint4 const*>(source));
#else
    __builtin_memcpy(target, source, 16);
#endif
}
SMX_HD void wait_for_copies() {
#if SMX_ARCH >= 900
    ptx::wait_for_copies();
#endif
}
// The same when a sum of weights has been worked out.
SMX_HD void wait_for_copies_after([[maybe_unused]] float sum) {
#if SMX_ARCH >= 900
    ptx::wait_for_copies_after(sum);
#endif
}
}  // namespace detail

SMX_END
