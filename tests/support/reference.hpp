// Scaled mask softmax from plain predicates in double: what every answer of smx is compared with. It knows no code of
// smx.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace support {

using index = long long;

struct shape4 {
    index batch, heads, queries;
    int keys;
};

// What a row with no visible score gives.
enum class empty_gives { zeros, uniform, nan };

// What became of a row. `undefined`: a NaN or +infinity was visible, so that every visible column is NaN.
enum class row_kind { defined, empty, undefined };

struct reference_row {
    row_kind kind = row_kind::empty;
    std::vector<double> y;
    std::vector<bool> visible;  // false: a mask hid it, or a bias of -infinity did
    double max = -std::numeric_limits<double>::infinity();
    double sum = 0;
    double log_sum_exp = -std::numeric_limits<double>::infinity();
    double largest_score = 0;  // the largest finite magnitude: the rounding of a score is proportional to it
};

// The score as smx's arithmetic type would hold it: float overflows where double does not.
enum class arithmetic { in_float, in_double };

inline double held(double score, arithmetic type) {
    if (type == arithmetic::in_double || !std::isfinite(score)) return score;
    constexpr double largest = std::numeric_limits<float>::max();
    constexpr double half_step = 1.0 + 0x1p-25;
    return std::fabs(score) >= largest * half_step ? std::copysign(std::numeric_limits<double>::infinity(), score)
                                                   : score;
}

// A row whose visible columns are known, from its scores; -infinity where hidden.
inline reference_row softmax_of_scores(std::vector<double> const& scores, std::vector<bool> const& visible,
                                       empty_gives when_empty) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    std::size_t const count = scores.size();
    reference_row row;
    row.y.assign(count, 0.0);
    row.visible = visible;

    bool poisoned = false;
    for (std::size_t at = 0; at < count; ++at) {
        if (!visible[at]) continue;
        if (std::isnan(scores[at]) || scores[at] == infinity) poisoned = true;
        if (std::isfinite(scores[at])) row.largest_score = std::fmax(row.largest_score, std::fabs(scores[at]));
        if (scores[at] > row.max) row.max = scores[at];
    }

    if (poisoned) {
        row.kind = row_kind::undefined;
        row.sum = row.log_sum_exp = nan;
        for (std::size_t at = 0; at < count; ++at) row.y[at] = row.visible[at] ? nan : 0.0;
        return row;
    }
    if (row.max == -infinity) {
        double const filling = when_empty == empty_gives::zeros ? 0.0
                               : when_empty == empty_gives::nan ? nan
                                                                : 1.0 / static_cast<double>(count);
        row.y.assign(count, filling);
        return row;
    }
    row.kind = row_kind::defined;
    // Longer than what is tested: a row of thousands of doubles would otherwise differ by the reference's own rounding.
    long double sum = 0;
    for (double score : scores) sum += std::exp(static_cast<long double>(score) - row.max);
    row.sum = static_cast<double>(sum);
    row.log_sum_exp = row.max + std::log(row.sum);
    for (std::size_t at = 0; at < count; ++at)
        row.y[at] = static_cast<double>(std::exp(static_cast<long double>(scores[at]) - row.max) / sum);
    return row;
}

// One row: x(k), bias(k) and visible(k) are asked for every k in [0, keys); bias(k) is added where visible(k).
template <class X, class Bias, class Visible>
reference_row softmax_reference(int keys, X const& x, double factor, Bias const& bias, Visible const& visible,
                                empty_gives when_empty = empty_gives::zeros, arithmetic type = arithmetic::in_float) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> scores(static_cast<std::size_t>(keys), -infinity);
    std::vector<bool> seen(scores.size(), false);
    for (int k = 0; k < keys; ++k) {
        if (!visible(k)) continue;
        double const added = bias(k);
        if (added == -infinity) continue;
        auto const at = static_cast<std::size_t>(k);
        seen[at] = true;
        scores[at] = held(held(factor * x(k), type) + added, type);
    }
    return softmax_of_scores(scores, seen, when_empty);
}

// Row (b, h, q) of a problem given by predicates over all four indices: x(b, h, q, k), bias(b, h, q, k), visible(b, h,
// q, k).
template <class X, class Bias, class Visible>
reference_row softmax_reference_at(shape4 const& shape, index b, index h, index q, X&& x, double factor, Bias&& bias,
                                   Visible&& visible, empty_gives when_empty = empty_gives::zeros,
                                   arithmetic type = arithmetic::in_float) {
    return softmax_reference(
        shape.keys, [&](int k) { return x(b, h, q, k); }, factor, [&](int k) { return bias(b, h, q, k); },
        [&](int k) { return visible(b, h, q, k); }, when_empty, type);
}

// Predicates for the masks every test uses.
struct none_hidden {
    template <class... Index>
    bool operator()(Index...) const {
        return true;
    }
};

struct no_bias {
    template <class... Index>
    double operator()(Index...) const {
        return 0.0;
    }
};

}  // namespace support
