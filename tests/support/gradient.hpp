// The gradient of the scores in double, twice: by the formula from given probabilities, and by differences of the
// forward reference. Neither knows code of smx.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "support/compare.hpp"
#include "support/reference.hpp"

namespace support {

struct gradient_row {
    std::vector<double> dx;
    std::vector<double> magnitude;  // what the rounding of each is proportional to
    std::vector<bool> visible;
};

// y(k), dy(k) and visible(k) for k in [0, keys); what is hidden is asked for nothing. With y_j = exp(s_j) / sum(exp(s))
// and s = factor * x, the derivative of y_j by x_k is factor * y_j * ([j == k] - y_k): summed over j as it stands.
template <class Y, class Gradient, class Visible>
gradient_row gradient_reference(int keys, Y const& y, Gradient const& dy, double factor, Visible const& visible) {
    auto const count = static_cast<std::size_t>(keys);
    gradient_row row{std::vector<double>(count, 0.0), std::vector<double>(count, 0.0), std::vector<bool>(count, false)};
    long double diagonal = 0;
    double sizes = 0;
    for (int k = 0; k < keys; ++k) {
        if (!visible(k)) continue;
        row.visible[static_cast<std::size_t>(k)] = true;
        diagonal += static_cast<long double>(y(k)) * dy(k);
        sizes += std::fabs(y(k) * dy(k));
    }
    for (int k = 0; k < keys; ++k) {
        if (!visible(k)) continue;
        auto const at = static_cast<std::size_t>(k);
        // Apart, these two terms would make a NaN of infinity less infinity where dy alone is infinite.
        row.dx[at] = static_cast<double>(static_cast<long double>(factor * y(k)) * (dy(k) - diagonal));
        row.magnitude[at] = std::fabs(factor * y(k)) * (std::fabs(dy(k)) + sizes);
    }
    return row;
}

// The same of scores x(k): how the sum of dy(k) * y(k) changes when one score does, by central differences.
template <class X, class Gradient, class Bias, class Visible>
std::vector<double> gradient_by_differences(int keys, X const& x, Gradient const& dy, double factor, Bias const& bias,
                                            Visible const& visible) {
    constexpr double step = 1e-5;
    auto const loss = [&](int moved, double by) {
        reference_row const row = softmax_reference(
            keys, [&](int k) { return x(k) + (k == moved ? by : 0.0); }, factor, bias, visible, empty_gives::zeros,
            arithmetic::in_double);
        long double sum = 0;
        for (int k = 0; k < keys; ++k) {
            auto const at = static_cast<std::size_t>(k);
            if (row.visible[at]) sum += static_cast<long double>(dy(k)) * row.y[at];
        }
        return sum;
    };
    std::vector<double> dx(static_cast<std::size_t>(keys), 0.0);
    for (int k = 0; k < keys; ++k) {
        if (visible(k) && bias(k) > -std::numeric_limits<double>::infinity())
            dx[static_cast<std::size_t>(k)] = static_cast<double>((loss(k, step) - loss(k, -step)) / (2 * step));
    }
    return dx;
}

// Whether dx(k), stored as T, is this row; a sentence about the first column that is not, or an empty string. Hidden
// columns are 0 to the bit, whatever became of the others. `more`: roundings that y had beforehand.
template <class T, class Dx>
std::string difference_of_gradients(gradient_row const& row, Dx const& dx, arithmetic type, double more = 0) {
    double const rounding = type == arithmetic::in_float ? 0x1p-24 : 0x1p-53;
    double const flush = type == arithmetic::in_float ? 0x1p-126 : 0x1p-1022;
    double const steps = 8.0 + more + std::sqrt(static_cast<double>(row.dx.size()));
    for (std::size_t k = 0; k < row.dx.size(); ++k) {
        double const got = stored<T>::value(dx(static_cast<int>(k))), want = row.dx[k];
        bool right = false;
        if (!row.visible[k]) {
            right = got == 0.0 && !std::signbit(got);
        } else if (!std::isfinite(want)) {
            right = std::isnan(want) ? std::isnan(got) : got == want;
        } else {
            double const bound = rounding * steps * row.magnitude[k] + 1.001 * stored<T>::half_step_at(want) + flush;
            right = std::fabs(got - want) <= bound;
        }
        if (!right) return "column " + std::to_string(k) + ": got " + in_words(got) + ", want " + in_words(want);
    }
    return {};
}

}  // namespace support
