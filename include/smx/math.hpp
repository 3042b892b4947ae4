// Scalar arithmetic with the same meaning on the GPU and on the CPU: infinities, exponentials, and a product that is rounded once.
#pragma once
#include "config.hpp"
#if SMX_DEVICE_CODE
#include "ptx.cuh"
#endif

SMX_BEGIN

template <class To, class From>
SMX_HD constexpr To bit_cast(From const& value) {
#if SMX_HAS_BIT_CAST
    return __builtin_bit_cast(To, value);
#else
    union {
        From from;
        To to;
    } const bits = {value};
    return bits.to;
#endif
}

// Functions, not constants: a namespace-scope constant bound to a reference is undefined in device code.
template <class Real>
SMX_HD constexpr Real neg_inf() {
    if constexpr (sizeof(Real) == 8) {
        return bit_cast<Real>(0xfff0000000000000ull);
    } else {
        return bit_cast<Real>(0xff800000u);
    }
}

template <class Real>
SMX_HD constexpr Real quiet_nan() {
    if constexpr (sizeof(Real) == 8) {
        return bit_cast<Real>(0x7ff8000000000000ull);
    } else {
        return bit_cast<Real>(0x7fc00000u);
    }
}

template <class Real>
SMX_HD bool is_finite(Real value) {
    return value - value == Real(0);
}

// Operators for Group::all_reduce: commutative to the bit, which a butterfly needs.
struct maximum {
    // A NaN never wins: a maximum that only steadies the exponential need not carry it, since the exponential does.
    template <class Real>
    SMX_HD Real operator()(Real a, Real b) const {
#if SMX_DEVICE_CODE
        if constexpr (sizeof(Real) == 8) {
            return ::fmax(a, b);
        } else {
            return ::fmaxf(a, b);
        }
#else
        return b > a || a != a ? b : a;
#endif
    }
};

// The maximum of numbers so far, which is never NaN, and one more.
template <class Real>
SMX_HD Real raised(Real top, Real next) {
#if SMX_DEVICE_CODE
    return maximum()(top, next);
#else
    return next > top ? next : top;  // one instruction, where the symmetrical form is three
#endif
}

struct plus {
    template <class Real>
    SMX_HD Real operator()(Real a, Real b) const {
        return a + b;
    }
};

// a * b rounded once, so that every pass over a row sees the same score: compilers may otherwise fuse the product into one sum and not
// into the next. On the CPU the rounding is settled for a whole array at a time, which leaves the loop over it free to be vectorised.
SMX_HD float rounded_product(float a, float b) {
#if SMX_DEVICE_CODE
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}

SMX_HD double rounded_product(double a, double b) {
#if SMX_DEVICE_CODE
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
}

// a * b + c rounded once: for a GPU; a CPU without the instruction takes long.
SMX_HD float fused_product(float a, float b, float c) {
#if SMX_DEVICE_CODE
    return __fmaf_rn(a, b, c);
#else
    return __builtin_fmaf(a, b, c);
#endif
}

template <class Array>
SMX_HD void settle_products(Array& products) {
#if SMX_DEVICE_CODE
    (void)products;
#else
    __asm__("" : "+m"(products));
#endif
}

inline constexpr float log2_e = 1.442695041f;

// 2^t for t <= 0, -inf and NaN; +inf in gives NaN or +inf. Branch-free on the CPU, so that compilers vectorise it.
// Cost      GPU: one ex2. CPU: 12 operations.
SMX_HD float exponential2(float t) {
#if SMX_DEVICE_CODE
    return ptx::exp2_approx(t);
#else
    // 2^t = 2^n * 2^r with |r| <= 1/2; adding 1.5 * 2^23 + 127 rounds t to an integer and leaves n + 127, the exponent of 2^n, in the
    // low bits. Coefficients: weighted minimax fit of (2^r - 1) / r, relative error 2e-9.
    constexpr float shifter = 12583039.0f;
    float const shifted = t + shifter;
    float const r = t - (shifted - shifter);
    float p = 0.00015353362f;
    p = p * r + 0.00133988739f;
    p = p * r + 0.00961843692f;
    p = p * r + 0.0555033237f;
    p = p * r + 0.240226477f;
    p = p * r + 0.693147182f;
    p = p * r + 1.0f;
    float const power = bit_cast<float>(bit_cast<unsigned>(shifted) << 23);
    // Bits, not a choice of floats: a product that is chosen is one the compiler may not do for all lanes. A NaN is not less than anything.
    return bit_cast<float>(bit_cast<unsigned>(p * power) & (t < -126.0f ? 0u : ~0u));
#endif
}

// e^x, likewise.
SMX_HD float exponential(float x) { return exponential2(x * log2_e); }

SMX_HD double exponential(double x) {
#if SMX_DEVICE_CODE
    return ::exp(x);
#else
    // As 2^t with r = x - n ln 2 in two parts, and the Taylor series to r^13 (|r| <= 0.347: remainder 4e-18).
    constexpr double shifter = 6755399441055744.0;
    double const shifted = x * 1.4426950408889634 + shifter;
    double const n = shifted - shifter;
    double const r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    double p = 1.6059043836821613e-10;
    p = p * r + 2.08767569878681e-09;
    p = p * r + 2.505210838544172e-08;
    p = p * r + 2.755731922398589e-07;
    p = p * r + 2.7557319223985893e-06;
    p = p * r + 2.48015873015873e-05;
    p = p * r + 1.984126984126984e-04;
    p = p * r + 1.388888888888889e-03;
    p = p * r + 8.333333333333333e-03;
    p = p * r + 4.1666666666666664e-02;
    p = p * r + 0.16666666666666666;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    uint64 const power = bit_cast<uint64>(shifted) - bit_cast<uint64>(shifter) + 1023u;
    return bit_cast<double>(bit_cast<uint64>(p * bit_cast<double>(power << 52)) & (x < -708.0 ? 0ull : ~0ull));
#endif
}

// 1 / x for x >= 1, +inf and NaN.
SMX_HD float reciprocal_of(float x) {
#if SMX_DEVICE_CODE
    return ptx::reciprocal_approx(x);
#else
    return 1.0f / x;
#endif
}

SMX_HD double reciprocal_of(double x) { return 1.0 / x; }

// Natural logarithm, accurate to the type: once a row.
SMX_HD float natural_log(float x) {
#if SMX_DEVICE_CODE
    return ::logf(x);
#else
    return __builtin_logf(x);
#endif
}

SMX_HD double natural_log(double x) {
#if SMX_DEVICE_CODE
    return ::log(x);
#else
    return __builtin_log(x);
#endif
}

SMX_END
