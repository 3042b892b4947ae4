// Deterministic scores for tests: the same numbers under every compiler.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "support/stored.hpp"

namespace support {

class random_stream {
public:
    explicit random_stream(unsigned long long seed) : state_(seed) {}

    // SplitMix64: every seed is good, so that a seed can be a case number.
    unsigned long long bits() {
        state_ += 0x9e3779b97f4a7c15ULL;
        unsigned long long z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }

    double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
    int below(int bound) { return static_cast<int>(bits() % static_cast<unsigned>(bound)); }
    bool coin(double probability = 0.5) { return uniform() < probability; }

    double normal() {
        double const radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
        return radius * std::cos(6.283185307179586 * uniform());
    }

private:
    unsigned long long state_;
};

enum class pattern {
    mild,         // N(0, 1.8): attention scores
    peaky,        // N(0, 20): one or two columns hold everything
    half_hidden,  // every other score, on average, is -infinity
    with_nan,     // one NaN, the rest mild
    with_inf,     // one +infinity, the rest mild
    negative,     // -100 - k: a neutral value of 0 would win
    denormal,     // the smallest numbers of the type
    huge,         // the largest finite numbers of the type and their negatives
    equal         // all the same
};

inline constexpr pattern all_patterns[] = {pattern::mild,     pattern::peaky,    pattern::half_hidden,
                                           pattern::with_nan, pattern::with_inf, pattern::negative,
                                           pattern::denormal, pattern::huge,     pattern::equal};

inline char const* name_of(pattern which) {
    switch (which) {
        case pattern::mild:
            return "mild";
        case pattern::peaky:
            return "peaky";
        case pattern::half_hidden:
            return "half_hidden";
        case pattern::with_nan:
            return "with_nan";
        case pattern::with_inf:
            return "with_inf";
        case pattern::negative:
            return "negative";
        case pattern::denormal:
            return "denormal";
        case pattern::huge:
            return "huge";
        case pattern::equal:
            return "equal";
    }
    return "?";
}

template <class T>
double smallest_of() {
    if constexpr (sizeof(T) == 8) {
        return std::numeric_limits<double>::denorm_min();
    } else if constexpr (sizeof(T) == 4) {
        return static_cast<double>(std::numeric_limits<float>::denorm_min());
    } else {
        return stored<T>::format.smallest_step();
    }
}

template <class T>
double largest_of() {
    if constexpr (sizeof(T) == 8) {
        return std::numeric_limits<double>::max();
    } else if constexpr (sizeof(T) == 4) {
        return static_cast<double>(std::numeric_limits<float>::max());
    } else {
        return stored<T>::format.largest();
    }
}

// One score of a pattern for storage type T; `special` says that this column holds the pattern's one special value.
template <class T>
T make_score(pattern which, random_stream& random, int column, bool special) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double value = 1.8 * random.normal();
    switch (which) {
        case pattern::mild:
            break;
        case pattern::peaky:
            value *= 20.0 / 1.8;
            break;
        case pattern::half_hidden:
            value = random.coin() ? -infinity : value;
            break;
        case pattern::with_nan:
            value = special ? std::numeric_limits<double>::quiet_NaN() : value;
            break;
        case pattern::with_inf:
            value = special ? infinity : value;
            break;
        case pattern::negative:
            value = -100.0 - column;
            break;
        case pattern::denormal:
            value = smallest_of<T>() * (random.below(7) - 3);
            break;
        case pattern::huge:
            value = largest_of<T>() * (random.coin() ? 1.0 : -1.0) * (random.coin() ? 1.0 : 0.5);
            break;
        case pattern::equal:
            value = 1.25;
            break;
    }
    return stored<T>::make(value);
}

// count scores in rows of `cols` columns (one special value a row).
template <class T>
std::vector<T> make_scores(pattern which, std::size_t count, int cols, unsigned long long seed) {
    random_stream random(seed);
    std::vector<T> scores(count);
    int special = 0;
    for (std::size_t at = 0; at < count; ++at) {
        int const column = static_cast<int>(at % static_cast<std::size_t>(cols));
        if (column == 0) special = random.below(cols);
        scores[at] = make_score<T>(which, random, column, column == special);
    }
    return scores;
}

}  // namespace support
