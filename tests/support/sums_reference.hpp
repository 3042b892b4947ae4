// What a backward pass adds up, in double, from rows of gradient.hpp: the gradient of a bias, element by element, and
// of a scale, row by row. Neither knows code of smx.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "support/data.hpp"
#include "support/gradient.hpp"

namespace support {

// The elements of a bias, and what was added to each.
class added_gradients {
public:
    added_gradients(std::size_t count, arithmetic type) : type_(type), all_(count) {}

    // It is to be written, whatever is added: 0 if nothing is.
    void expect(std::size_t element) { all_[element].is_element = true; }
    // Column k of a row whose gradients are by a scale of 1. `more`: roundings that its probabilities had beforehand.
    void add(std::size_t element, gradient_row const& row, int k, double more = 0) {
        sum& to = all_[element];
        to.is_element = true;
        auto const here = static_cast<std::size_t>(k);
        if (!row.visible[here]) return;
        double const steps = 8.0 + more + std::sqrt(static_cast<double>(row.dx.size()));
        to.want += row.dx[here];
        to.size += row.magnitude[here];
        to.bound += rounding() * steps * row.magnitude[here] + flush();
        ++to.terms;
    }
    // Of a row of which nothing is known.
    void add_unknown(std::size_t element) { all_[element].is_element = all_[element].is_unknown = true; }

    // Whether got(i), stored as T, are these sums, and untouched(i) all that is no element; a sentence about the first
    // that is not, or an empty string. What nobody sees is 0 to the bit.
    template <class T, class Got, class Untouched>
    std::string difference(Got const& got, Untouched const& untouched) const {
        for (std::size_t i = 0; i < all_.size(); ++i) {
            sum const& one = all_[i];
            if (!one.is_element && !untouched(i))
                return "element " + std::to_string(i) + " is none of a row, and was written";
            if (!one.is_element || one.is_unknown) continue;
            double const value = stored<T>::value(got(i));
            bool right = false;
            if (one.terms == 0) {
                right = value == 0.0 && !std::signbit(value);
            } else if (!std::isfinite(one.want)) {
                right = std::isnan(one.want) ? std::isnan(value) : value == one.want;
            } else {
                double const bound = one.bound +
                                     rounding() * static_cast<double>(std::min<index>(one.terms, 64)) * one.size +
                                     1.001 * stored<T>::half_step_at(one.want);
                bool const may_overflow = std::fabs(one.want) + bound > largest_of<T>();
                right = std::fabs(value - one.want) <= bound ||
                        (may_overflow && std::isinf(value) && std::signbit(value) == std::signbit(one.want));
            }
            if (!right)
                return "element " + std::to_string(i) + ": got " + in_words(value) + ", want " + in_words(one.want);
        }
        return {};
    }

private:
    struct sum {
        bool is_element = false, is_unknown = false;
        index terms = 0;
        double want = 0, size = 0, bound = 0;
    };
    double rounding() const { return type_ == arithmetic::in_float ? 0x1p-24 : 0x1p-53; }
    double flush() const { return type_ == arithmetic::in_float ? 0x1p-126 : 0x1p-1022; }

    arithmetic type_;
    std::vector<sum> all_;
};

// Whether this is what a row gives to the gradient of its scale, from its gradients by a scale of 1 and its scores
// x(k); a sentence, or an empty string. An infinite score counts as nothing: its probability is 0 or NaN.
template <class X>
std::string difference_of_scale_gradient(double got, gradient_row const& row, X const& x, arithmetic type,
                                         double more = 0) {
    double const rounding = type == arithmetic::in_float ? 0x1p-24 : 0x1p-53;
    double const flush = type == arithmetic::in_float ? 0x1p-126 : 0x1p-1022;
    double const steps = 8.0 + more + std::sqrt(static_cast<double>(row.dx.size()));
    long double want = 0;
    double size = 0, lost = 0;
    for (std::size_t k = 0; k < row.dx.size(); ++k) {
        if (!row.visible[k]) continue;
        double const all = x(static_cast<int>(k)), score = std::isinf(all) ? 0 : all;
        want += static_cast<long double>(row.dx[k]) * score;
        size += row.magnitude[k] * std::fabs(score);
        lost += flush * (1 + std::fabs(score));
    }
    auto const wanted = static_cast<double>(want);
    bool right = false;
    if (std::isnan(wanted)) {
        right = std::isnan(got);
    } else if (size > (type == arithmetic::in_float ? largest_of<float>() : largest_of<double>()) / 2) {
        right = true;  // what is added up may be infinite
    } else {
        right = std::fabs(got - wanted) <= rounding * steps * size + lost;
    }
    return right ? std::string() : "scale gradient: got " + in_words(got) + ", want " + in_words(wanted);
}

}  // namespace support
