// One way in and out of every storage type for tests, by the conversions of conversions.hpp and not by those of smx.
#pragma once

#include <cmath>
#include <limits>

#include "smx/dtype.hpp"
#include "support/conversions.hpp"

namespace support {

template <class T>
struct stored;

template <>
struct stored<float> {
    static constexpr char const* name = "float";
    static double value(float element) { return static_cast<double>(element); }
    static float make(double value) { return static_cast<float>(value); }
    static double half_step_at(double value) { return float_format{8, 23}.step_at(value) / 2; }
};

template <>
struct stored<double> {
    static constexpr char const* name = "double";
    static double value(double element) { return element; }
    static double make(double value) { return value; }
    static double half_step_at(double value) {
        return std::fabs(value) * 0x1p-53 + std::numeric_limits<double>::denorm_min();
    }
};

template <class T, int ExponentBits, int FractionBits>
struct stored_16 {
    static constexpr float_format format{ExponentBits, FractionBits};
    static double value(T element) { return format.value_of(element.bits); }
    static T make(double value) { return T{static_cast<unsigned short>(format.bits_of(value))}; }
    static double half_step_at(double value) { return format.step_at(value) / 2; }
};

template <>
struct stored<smx::half> : stored_16<smx::half, 5, 10> {
    static constexpr char const* name = "half";
};

template <>
struct stored<smx::bfloat16> : stored_16<smx::bfloat16, 8, 7> {
    static constexpr char const* name = "bfloat16";
};

}  // namespace support
