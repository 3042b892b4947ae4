// 16-bit floating-point formats by arithmetic on doubles: an opinion on rounding that shares no bit trick with smx.
#pragma once

#include <cmath>
#include <limits>

namespace support {

// A binary format with one sign bit: half is {5, 10}, bfloat16 is {8, 7}.
struct float_format {
    int exponent_bits;
    int fraction_bits;

    int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    int smallest_exponent() const { return 1 - bias(); }
    double smallest_step() const { return std::ldexp(1.0, smallest_exponent() - fraction_bits); }
    double largest() const { return std::ldexp(2.0 - std::ldexp(1.0, -fraction_bits), bias()); }

    double value_of(unsigned bits) const {
        unsigned const fraction = bits & ((1U << fraction_bits) - 1U);
        unsigned const exponent = (bits >> fraction_bits) & ((1U << exponent_bits) - 1U);
        double const sign = (bits >> (fraction_bits + exponent_bits)) != 0 ? -1.0 : 1.0;
        if (exponent == (1U << exponent_bits) - 1U) {
            return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                                 : std::numeric_limits<double>::quiet_NaN();
        }
        if (exponent == 0) return sign * fraction * smallest_step();
        double const mantissa = 1.0 + std::ldexp(static_cast<double>(fraction), -fraction_bits);
        return sign * std::ldexp(mantissa, static_cast<int>(exponent) - bias());
    }

    // The distance between neighbours at this magnitude.
    double step_at(double value) const {
        int exponent = 0;
        std::frexp(value, &exponent);
        exponent = value == 0.0 || exponent - 1 < smallest_exponent() ? smallest_exponent() : exponent - 1;
        return std::ldexp(1.0, exponent - fraction_bits);
    }

    // The nearest value of the format, ties to even; infinity from half a step above the largest.
    double rounded(double value) const {
        if (std::isnan(value) || std::isinf(value) || value == 0.0) return value;
        double const step = step_at(value);
        double const result = std::nearbyint(value / step) * step;
        return std::fabs(result) > largest() ? std::copysign(std::numeric_limits<double>::infinity(), value) : result;
    }

    // Bits of a value of the format. A NaN gives one quiet NaN.
    unsigned bits_of(double value) const {
        unsigned const sign = std::signbit(value) ? 1U << (fraction_bits + exponent_bits) : 0U;
        unsigned const all_ones = ((1U << exponent_bits) - 1U) << fraction_bits;
        if (std::isnan(value)) return all_ones | 1U << (fraction_bits - 1);
        double const magnitude = std::fabs(rounded(value));
        if (std::isinf(magnitude)) return sign | all_ones;
        double const step = step_at(magnitude);
        auto const units = static_cast<unsigned>(magnitude / step);
        unsigned const implied = 1U << fraction_bits;
        if (units < implied) return sign | units;
        int exponent = 0;
        std::frexp(magnitude, &exponent);
        return sign | static_cast<unsigned>(exponent - 1 + bias()) << fraction_bits | (units - implied);
    }
};

inline constexpr float_format half_format{5, 10};
inline constexpr float_format bfloat16_format{8, 7};

}  // namespace support
