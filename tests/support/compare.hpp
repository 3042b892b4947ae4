// How close an answer must be to the reference: half a step of the output type and a few roundings of the arithmetic
// type.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "smx/normalize.hpp"
#include "support/reference.hpp"
#include "support/stored.hpp"

namespace support {

template <class T>
constexpr arithmetic arithmetic_of = sizeof(typename smx::dtype<T>::compute) == 8 ? arithmetic::in_double
                                                                                  : arithmetic::in_float;

inline empty_gives reference_rule(smx::empty_row rule) {
    return rule == smx::empty_row::zeros ? empty_gives::zeros
           : rule == smx::empty_row::nan ? empty_gives::nan
                                         : empty_gives::uniform;
}

// Largest error allowed for y of a row whose arithmetic is done in `type`, before the rounding to the output's type.
inline double arithmetic_bound(reference_row const& row, arithmetic type) {
    double largest = 0;
    for (double y : row.y) largest = std::isnan(y) ? largest : std::fmax(largest, y);
    // A score of magnitude s is off by s * 2^-24, and so is the exponent; sums of n floats in any order add about
    // sqrt(n) / 2 roundings.
    double const rounding = type == arithmetic::in_float ? 0x1p-24 : 0x1p-53;
    double const terms = std::sqrt(static_cast<double>(row.y.size()));
    return largest * rounding * (8.0 + 2.0 * row.largest_score + terms);
}

// Bound on |got - want| for one element of y in storage type T.
template <class T>
double element_bound(reference_row const& row, double want, arithmetic type) {
    // Floats under 2^-126 may be zero.
    double const flush = type == arithmetic::in_float ? 0x1p-126 : 0x1p-1022;
    return arithmetic_bound(row, type) + 1.001 * stored<T>::half_step_at(want) + flush;
}

inline std::string in_words(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}

// Whether these values are the reference's row in a type with such steps; a sentence about the first column that is
// not, or an empty string. In an undefined row a hidden column may be 0 or NaN.
inline std::string difference_of_values(reference_row const& row, std::vector<double> const& values,
                                        double (*half_step_at)(double), arithmetic type) {
    double const bound_of_all = arithmetic_bound(row, type) + (type == arithmetic::in_float ? 0x1p-126 : 0x1p-1022);
    for (std::size_t k = 0; k < row.y.size(); ++k) {
        double const got = values[k];
        double const want = row.y[k];
        bool right = false;
        if (row.kind == row_kind::undefined && !row.visible[k]) {
            right = std::isnan(got) || got == 0.0;
        } else if (std::isnan(want)) {
            right = std::isnan(got);
        } else if (want == 0.0 && row.kind != row_kind::defined) {
            right = got == 0.0;
        } else if (!row.visible[k] && row.kind == row_kind::defined) {
            right = got == 0.0;  // hidden is exactly zero
        } else {
            right = std::fabs(got - want) <= bound_of_all + 1.001 * half_step_at(want);
        }
        if (!right) return "column " + std::to_string(k) + ": got " + in_words(got) + ", want " + in_words(want);
    }
    return {};
}

// The same of y(k), k in [0, keys), stored as T.
template <class T, class Y>
std::string difference(reference_row const& row, Y const& y, arithmetic type) {
    std::vector<double> values;
    values.reserve(row.y.size());
    for (std::size_t k = 0; k < row.y.size(); ++k) values.push_back(stored<T>::value(y(static_cast<int>(k))));
    return difference_of_values(
        row, values, [](double at) { return stored<T>::half_step_at(at); }, type);
}

// The same for one number beside y: log-sum-exp, max, sum. `scale` is the magnitude its error is proportional to.
inline std::string difference_of(char const* name, double got, double want, double scale, arithmetic type, int keys) {
    if (std::isnan(want) ? std::isnan(got) : got == want) return {};
    double const rounding = type == arithmetic::in_float ? 0x1p-24 : 0x1p-53;
    double const bound = rounding * (8.0 + std::sqrt(static_cast<double>(keys))) * std::fmax(1.0, scale);
    if (std::isfinite(want) && std::fabs(got - want) <= bound) return {};
    return std::string(name) + ": got " + in_words(got) + ", want " + in_words(want);
}

}  // namespace support
