// Log-softmax of a row and its gradient from plain predicates: knows no code of smx.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "support/compare.hpp"
#include "support/reference.hpp"

namespace support {

struct logarithm_row {
    row_kind kind = row_kind::empty;
    std::vector<double> z;          // -infinity where hidden
    std::vector<double> magnitude;  // what the rounding of each is proportional to
    std::vector<bool> visible;
};

template <class X, class Bias, class Visible>
logarithm_row logarithm_reference(int keys, X const& x, double factor, Bias const& bias, Visible const& visible,
                                  empty_gives when_empty, arithmetic type) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    reference_row const row = softmax_reference(keys, x, factor, bias, visible, when_empty, type);
    logarithm_row result{row.kind, {}, {}, row.visible};
    double const log_of_sum = row.kind == row_kind::defined ? std::log(row.sum) : 0.0;
    for (int k = 0; k < keys; ++k) {
        auto const at = static_cast<std::size_t>(k);
        double z = -infinity, magnitude = 1 + std::fabs(log_of_sum);
        if (row.kind == row_kind::empty) {
            z = std::log(row.y[at]);
        } else if (row.visible[at] && row.kind == row_kind::undefined) {
            z = std::numeric_limits<double>::quiet_NaN();
        } else if (row.visible[at]) {
            double const difference = held(held(held(factor * x(k), type) + bias(k), type) - row.max, type);
            z = difference - log_of_sum;
            if (std::isfinite(difference)) magnitude += std::fabs(difference) + row.largest_score;
        }
        result.z.push_back(z);
        result.magnitude.push_back(magnitude);
    }
    return result;
}

// Whether z(k), stored as T, is this row; a sentence about the first column that is not, or an empty string.
template <class T, class Z>
std::string difference_of_logarithms(logarithm_row const& row, Z const& z, arithmetic type) {
    double const rounding = type == arithmetic::in_float ? 0x1p-24 : 0x1p-53;
    double const steps = 8.0 + std::sqrt(static_cast<double>(row.z.size()));
    for (std::size_t k = 0; k < row.z.size(); ++k) {
        double const got = stored<T>::value(z(static_cast<int>(k))), want = stored<T>::value(stored<T>::make(row.z[k]));
        bool right = false;
        if (std::isnan(want)) {
            right = std::isnan(got);
        } else if (row.kind == row_kind::undefined) {
            right = std::isnan(got) || got == want;
        } else if (std::isinf(want)) {
            right = got == want;
        } else {
            right = std::fabs(got - row.z[k]) <=
                    rounding * steps * row.magnitude[k] + 1.001 * stored<T>::half_step_at(want);
        }
        if (!right) return "column " + std::to_string(k) + ": got " + in_words(got) + ", want " + in_words(row.z[k]);
    }
    return {};
}

// The gradient of the scores from z(k), ln of a probability, and dy(k), the gradient of z: factor * (dy - exp(z) * sum
// of dy), over visible columns. `bounds`: what the rounding of each is proportional to.
template <class Z, class Gradient, class Visible>
std::vector<double> logarithm_gradient(int keys, Z const& z, Gradient const& dy, double factor, Visible const& visible,
                                       std::vector<double>& bounds) {
    long double sum = 0;
    double sizes = 0;
    for (int k = 0; k < keys; ++k) {
        if (!visible(k)) continue;
        sum += dy(k);
        sizes += std::fabs(dy(k));
    }
    std::vector<double> dx(static_cast<std::size_t>(keys), 0.0);
    bounds.assign(dx.size(), 0.0);
    for (int k = 0; k < keys; ++k) {
        if (!visible(k)) continue;
        double const p = std::exp(z(k));
        dx[static_cast<std::size_t>(k)] = static_cast<double>(factor * (dy(k) - p * sum));
        bounds[static_cast<std::size_t>(k)] =
            std::fabs(factor) * (std::fabs(dy(k)) + p * (1 + std::fabs(z(k))) * sizes);
    }
    return dx;
}

}  // namespace support
