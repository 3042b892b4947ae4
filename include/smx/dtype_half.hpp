// The toolkit's __half and __nv_bfloat16 as storage types, without its headers: whoever has such elements has included them.
#pragma once
#include "dtype.hpp"

struct __half;
struct __nv_bfloat16;

SMX_BEGIN

namespace detail {

// The same bits under another name: no operator or conversion of the toolkit is used, so PyTorch's __CUDA_NO_HALF...__ macros change nothing.
template <class Theirs, class Ours>
struct dtype_by_bits : dtype<Ours> {  // what takes pairs is inherited
    static SMX_HD float widen(Theirs value) { return dtype<Ours>::widen(bit_cast<Ours>(value)); }
    static SMX_HD Theirs narrow(float value) { return bit_cast<Theirs>(dtype<Ours>::narrow(value)); }
    static SMX_HD Theirs narrow(double value) { return bit_cast<Theirs>(dtype<Ours>::narrow(value)); }
    static SMX_HD Theirs neg_inf() { return bit_cast<Theirs>(dtype<Ours>::neg_inf()); }
};

}  // namespace detail

template <>
struct dtype<__half> : detail::dtype_by_bits<__half, half> {
#if SMX_HALVES_AT_ONCE
    static constexpr int at_once = detail::halves_at_once;
    static SMX_HD void widen_some(__half const* from, float* into) { detail::widen_halves(from, into); }
    static SMX_HD void narrow_some(float const* from, __half* into) { detail::narrow_halves(from, into); }
#endif
};
template <>
struct dtype<__nv_bfloat16> : detail::dtype_by_bits<__nv_bfloat16, bfloat16> {};

SMX_END
