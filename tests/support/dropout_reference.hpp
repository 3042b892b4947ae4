// What a dropout keeps, by Philox 4x32-10 written once more: knows no code of smx.
#pragma once

#include <cmath>

namespace support {

struct drawn_words {
    unsigned word[4];
};

inline drawn_words philox_reference(drawn_words counter, unsigned low_key, unsigned high_key) {
    for (int round = 0; round < 10; ++round) {
        unsigned long long const a = 0xd2511f53ULL * counter.word[0];
        unsigned long long const b = 0xcd9e8d57ULL * counter.word[2];
        drawn_words next{};
        next.word[0] = static_cast<unsigned>(b >> 32U) ^ counter.word[1] ^ low_key;
        next.word[1] = static_cast<unsigned>(b);
        next.word[2] = static_cast<unsigned>(a >> 32U) ^ counter.word[3] ^ high_key;
        next.word[3] = static_cast<unsigned>(a);
        counter = next;
        low_key += 0x9e3779b9U;
        high_key += 0xbb67ae85U;
    }
    return counter;
}

// The p that is drawn with, a multiple of 1/65536.
inline double drawn_probability(double p) { return std::floor(p * 65536 + 0.5) / 65536; }

// Column `col` of row `row` is kept.
inline bool is_kept(double p, unsigned long long seed, unsigned long long offset, long long row, int col) {
    auto const number = static_cast<unsigned long long>(row);
    drawn_words const drawn =
        philox_reference({{static_cast<unsigned>(col / 8), static_cast<unsigned>(number), static_cast<unsigned>(offset),
                           static_cast<unsigned>((offset ^ number) >> 32U)}},
                         static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32U));
    unsigned const draw = drawn.word[col % 8 / 2] >> (col % 2 == 0 ? 0U : 16U) & 0xffffU;
    return draw >= drawn_probability(p) * 65536;
}

// What a value there is multiplied by: 0 where it is dropped.
inline double dropout_factor(double p, unsigned long long seed, unsigned long long offset, long long row, int col) {
    return is_kept(p, seed, offset, row, col) ? 1 / (1 - drawn_probability(p)) : 0.0;
}

}  // namespace support
