// Stored elements as they lie in memory, a pack of them.
#pragma once
#include "dtype.hpp"

SMX_BEGIN

namespace detail {

// The largest access for a piece of memory of this size: 16 bytes at most.
SMX_HD constexpr int widest_access(int bytes) {
    return bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
}

SMX_HD bool is_aligned(void const* pointer, int bytes) {
    return (reinterpret_cast<uint64>(pointer) & static_cast<unsigned>(bytes - 1)) == 0;
}

// Stored elements as they lie in memory. On a GPU small ones are held by the word: an array of bytes or shorts would take a register each.
template <class Element, int Count>
struct alignas(widest_access(Count * int{sizeof(Element)}) > int{alignof(Element)} ? widest_access(Count * int{sizeof(Element)}) : int{alignof(Element)}) raw_pack {
    using element = Element;
    static constexpr bool in_words = SMX_DEVICE_CODE && sizeof(Element) <= 2 && Count * sizeof(Element) % 4 == 0;
    static constexpr int per_unit = in_words ? 4 / int{sizeof(Element)} : 1;
    using unit = chosen_type<in_words, unsigned, Element>;
    unit units[Count / per_unit];

    // element(i) for every i.
    template <class Make>
    static SMX_HD raw_pack of(Make const& element) {
        raw_pack raw;
        SMX_UNROLL
        for (int u = 0; u < Count / per_unit; ++u) {
            if constexpr (in_words) {
                unsigned word = 0;
                SMX_UNROLL
                for (int i = 0; i < per_unit; ++i) word |= static_cast<unsigned>(bit_cast<small>(element(u * per_unit + i))) << (32 / per_unit * i);
                raw.units[u] = word;
            } else {
                raw.units[u] = element(u);
            }
        }
        return raw;
    }
    SMX_HD Element operator[](int i) const {
        if constexpr (in_words) {
            return bit_cast<Element>(static_cast<small>(units[i / per_unit] >> (32 / per_unit * (i % per_unit))));
        } else {
            return units[i];
        }
    }
    // Changes nothing, by a 0 that the compiler does not know.
    SMX_HD void mix(unsigned zero) {
        if constexpr (in_words) {
            SMX_UNROLL
            for (unsigned& word : units) word ^= zero;
        }
    }

private:
    using small = chosen_type<sizeof(Element) == 1, unsigned char, unsigned short>;
};

template <class Pack>
inline constexpr bool is_raw_pack = false;
template <class Element, int Count>
inline constexpr bool is_raw_pack<raw_pack<Element, Count>> = true;

// A pack of scores that weigh nothing.
template <class Pack>
SMX_HD Pack hidden_scores() {
    return Pack::of([](int) { return dtype<typename Pack::element>::neg_inf(); });
}

// The larger of two scores in each place: `tops` has no NaN, and gets none.
template <class Element, int Count>
SMX_HD raw_pack<Element, Count> larger(raw_pack<Element, Count> const& tops, raw_pack<Element, Count> const& next) {
    if constexpr (SMX_DEVICE_CODE && compares_pairs<Element> && Count % 2 == 0) {
        raw_pack<Element, Count> raw;
        SMX_UNROLL
        for (int i = 0; i < Count / 2; ++i) raw.units[i] = dtype<Element>::larger_pair(tops.units[i], next.units[i]);
        return raw;
    } else {
        return raw_pack<Element, Count>::of([&](int i) { return dtype<Element>::widen(next[i]) > dtype<Element>::widen(tops[i]) ? next[i] : tops[i]; });
    }
}

}  // namespace detail

SMX_END
