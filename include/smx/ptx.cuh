// One wrapper for each instruction that C++ does not reach without a header of the toolkit.
#pragma once
#include "config.hpp"

SMX_BEGIN
namespace ptx {

// 2^x, error under 2 units in the last place, results under 2^-126 are 0.
SMX_DEVICE float exp2_approx(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// 1 / x, error under 1 unit in the last place, exact for powers of two.
SMX_DEVICE float reciprocal_approx(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

SMX_DEVICE float half_to_float(unsigned short bits) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(bits));
    return y;
}

SMX_DEVICE unsigned short float_to_half(float x) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}

#if SMX_ARCH >= 800
// Two floats to two halves in one word, `low` in the lower half.
SMX_DEVICE unsigned floats_to_halves(float low, float high) {
    unsigned word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

SMX_DEVICE unsigned floats_to_bfloat16s(float low, float high) {
    unsigned word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}
#endif

}  // namespace ptx
SMX_END
