// A pack: N consecutive columns, moved by the widest instruction their address allows.
#pragma once
#include "dtype.hpp"

SMX_BEGIN

template <class T, int N>
struct pack {
    T data[N];
    SMX_HD T& operator[](int i) { return data[i]; }
    SMX_HD T const& operator[](int i) const { return data[i]; }
};

template <int N, class T>
SMX_HD pack<T, N> filled_pack(T value) {
    pack<T, N> result;
    SMX_UNROLL
    for (int i = 0; i < N; ++i) result[i] = value;
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

// N stored elements as they lie in memory.
template <class T, int N>
struct alignas(widest_access(N * int{sizeof(T)}) > int{alignof(T)} ? widest_access(N * int{sizeof(T)}) : int{alignof(T)}) raw_pack {
    T data[N];
};

// once: global memory read or written once, let it leave the caches first · shared: any memory that will be wanted again
enum class traffic { once, shared };

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

template <int Access, traffic Traffic, class T, int N>
SMX_HD void read_as(raw_pack<T, N>& into, T const* from) {
#if SMX_DEVICE_CODE
    using word = typename access_word<Access>::type;
    SMX_UNROLL
    for (int i = 0; i < N * int{sizeof(T)} / Access; ++i) {
        word const* const source = reinterpret_cast<word const*>(from) + i;
        if constexpr (Traffic == traffic::once) {
            reinterpret_cast<word*>(into.data)[i] = __ldcs(source);
        } else {
            reinterpret_cast<word*>(into.data)[i] = *source;
        }
    }
#else
    __builtin_memcpy(into.data, from, sizeof(into.data));
#endif
}

template <int Access, traffic Traffic, class T, int N>
SMX_HD void write_as(T* into, raw_pack<T, N> const& from) {
#if SMX_DEVICE_CODE
    using word = typename access_word<Access>::type;
    SMX_UNROLL
    for (int i = 0; i < N * int{sizeof(T)} / Access; ++i) {
        word* const target = reinterpret_cast<word*>(into) + i;
        word const value = reinterpret_cast<word const*>(from.data)[i];
        if constexpr (Traffic == traffic::once) {
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
template <int N, detail::traffic Traffic, class T>
SMX_HD detail::raw_pack<T, N> read_aligned(T const* pointer) {
    detail::raw_pack<T, N> raw;
    detail::read_as<detail::widest_access(N * int{sizeof(T)}), Traffic>(raw, pointer);
    return raw;
}

// Memory that other rows read too (masks, biases), at any element address.
template <int N, class T>
SMX_HD detail::raw_pack<T, N> read_shared(T const* pointer) {
    constexpr int widest = detail::widest_access(N * int{sizeof(T)});
    detail::raw_pack<T, N> raw;
    if (detail::is_aligned(pointer, widest)) {
        detail::read_as<widest, detail::traffic::shared>(raw, pointer);
    } else if (widest > 4 && sizeof(T) < 4 && detail::is_aligned(pointer, 4)) {
        detail::read_as<(widest > 4 && sizeof(T) < 4) ? 4 : int{sizeof(T)}, detail::traffic::shared>(raw, pointer);
    } else {
        detail::read_as<int{sizeof(T)} <= 16 ? int{sizeof(T)} : 16, detail::traffic::shared>(raw, pointer);
    }
    return raw;
}

template <detail::traffic Traffic, int N, class T>
SMX_HD void write_aligned(T* pointer, detail::raw_pack<T, N> const& raw) {
    detail::write_as<detail::widest_access(N * int{sizeof(T)}), Traffic>(pointer, raw);
}

// Any element address.
template <detail::traffic Traffic, int N, class T>
SMX_HD void write_pack(T* pointer, detail::raw_pack<T, N> const& raw) {
    constexpr int widest = detail::widest_access(N * int{sizeof(T)});
    if (detail::is_aligned(pointer, widest)) {
        detail::write_as<widest, Traffic>(pointer, raw);
    } else if (widest > 4 && sizeof(T) < 4 && detail::is_aligned(pointer, 4)) {
        detail::write_as<(widest > 4 && sizeof(T) < 4) ? 4 : int{sizeof(T)}, Traffic>(pointer, raw);
    } else {
        detail::write_as<int{sizeof(T)}, Traffic>(pointer, raw);
    }
}

template <class Compute, class T, int N>
SMX_HD pack<Compute, N> widen(detail::raw_pack<T, N> const& raw) {
    pack<Compute, N> result;
    if constexpr (SMX_DEVICE_CODE && converts_pairs<T> && N % 2 == 0) {
        SMX_UNROLL
        for (int i = 0; i < N / 2; ++i) {
            unsigned const pair = reinterpret_cast<unsigned const*>(raw.data)[i];
            result[2 * i] = static_cast<Compute>(dtype<T>::widen_low(pair));
            result[2 * i + 1] = static_cast<Compute>(dtype<T>::widen_high(pair));
        }
    } else {
        SMX_UNROLL
        for (int i = 0; i < N; ++i) result[i] = static_cast<Compute>(dtype<T>::widen(raw.data[i]));
    }
    return result;
}

template <class T, class Compute, int N>
SMX_HD detail::raw_pack<T, N> narrow(pack<Compute, N> const& values) {
    detail::raw_pack<T, N> raw;
    if constexpr (SMX_DEVICE_CODE && converts_pairs<T> && N % 2 == 0 && same_type<Compute, float>) {
        SMX_UNROLL
        for (int i = 0; i < N / 2; ++i) reinterpret_cast<unsigned*>(raw.data)[i] = dtype<T>::narrow_pair(values[2 * i], values[2 * i + 1]);
    } else {
        SMX_UNROLL
        for (int i = 0; i < N; ++i) raw.data[i] = dtype<T>::narrow(values[i]);
    }
    return raw;
}

SMX_END
