// Philox 4x32-10: random words that are a function of a counter and a key, the same on a GPU and on a CPU.
#pragma once
#include "config.hpp"

SMX_BEGIN

struct philox_counter {
    unsigned word[4];
};
struct philox_key {
    unsigned word[2];
    SMX_HD constexpr unsigned of_round(int round, int i) const { return word[i] + static_cast<unsigned>(round) * (i == 0 ? 0x9e3779b9u : 0xbb67ae85u); }
};
// The same, and what the rounds make of it: 20 numbers of a kernel's parameters in place of 20 sums a counter.
struct philox_schedule {
    unsigned word[10][2] = {};
    philox_schedule() = default;
    SMX_HD constexpr explicit philox_schedule(philox_key key) {
        for (int round = 0; round < 10; ++round)
            for (int i = 0; i < 2; ++i) word[round][i] = key.of_round(round, i);
    }
    SMX_HD constexpr unsigned of_round(int round, int i) const { return word[round][i]; }
};

// Four random words: every bit of them depends on every bit of counter and key.
// Cost      20 products of 32 bits
// Source    J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011, section 3.3. The multipliers
//           and the increments of the key are theirs, as are the vectors that tests compare with.
template <class Key>
SMX_HD philox_counter philox(philox_counter counter, Key const& key) {
    SMX_UNROLL
    for (int round = 0; round < 10; ++round) {
        uint64 const first = uint64{0xd2511f53u} * counter.word[0], second = uint64{0xcd9e8d57u} * counter.word[2];
        counter = {{static_cast<unsigned>(second >> 32) ^ counter.word[1] ^ key.of_round(round, 0), static_cast<unsigned>(second),
                    static_cast<unsigned>(first >> 32) ^ counter.word[3] ^ key.of_round(round, 1), static_cast<unsigned>(first)}};
    }
    return counter;
}

SMX_END
