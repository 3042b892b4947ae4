// What every example needs beside smx: numbers to work on, a plain softmax in double, and a line that says how the two
// agree.
#pragma once
#include <smx/smx.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

namespace example {

inline constexpr double hidden_score = -std::numeric_limits<double>::infinity();

// `count` repeatable numbers from -spread to spread.
inline std::vector<float> numbers(std::size_t count, float spread, std::uint32_t seed = 1) {
    std::vector<float> result(count);
    for (float& number : result) {
        seed = seed * 1664525u + 1013904223u;
        number = spread * (static_cast<float>(seed >> 8) / 8388608.0f - 1.0f);
    }
    return result;
}

// Three plain loops over score(row, col), which gives hidden_score for what cannot be seen; a row without visible
// scores is zeros.
template <class Score>
std::vector<double> plain_softmax(long long rows, int cols, Score score) {
    std::vector<double> result;
    for (long long row = 0; row < rows; ++row) {
        double max = hidden_score, sum = 0;
        for (int col = 0; col < cols; ++col) max = std::fmax(max, score(row, col));
        for (int col = 0; col < cols; ++col) sum += max > hidden_score ? std::exp(score(row, col) - max) : 0;
        for (int col = 0; col < cols; ++col) result.push_back(sum > 0 ? std::exp(score(row, col) - max) / sum : 0);
    }
    return result;
}

// Prints the largest difference; true if it is within `tolerance` everywhere.
inline bool agrees(char const* what, std::vector<float> const& actual, std::vector<double> const& expected,
                   double tolerance) {
    double largest = actual.size() == expected.size() ? 0 : hidden_score;
    for (std::size_t i = 0; i < actual.size() && i < expected.size(); ++i) {
        double const difference = std::fabs(static_cast<double>(actual[i]) - expected[i]);
        if (!(difference <= largest)) largest = difference;  // a NaN stays
    }
    bool const good = largest >= 0 && largest <= tolerance;
    std::printf("%s: %zu values, largest difference %.1e (allowed %.0e)%s\n", what, actual.size(), largest, tolerance,
                good ? "" : ": WRONG");
    return good;
}

// True if the call succeeded; otherwise prints what was wrong.
inline bool succeeded(smx::status const& s) {
    if (s.ok()) return true;
    char sentence[256];
    smx::message(s, sentence, sizeof(sentence));
    std::printf("smx: %s\n", sentence);
    return false;
}

}  // namespace example
