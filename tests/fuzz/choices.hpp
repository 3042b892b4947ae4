// Where a case comes from: numbers that follow from a seed, or the bytes that libFuzzer mutates.
#pragma once

#include <cstddef>

#include "support/data.hpp"

namespace fuzz {

class choices {
public:
    explicit choices(unsigned long long seed) : random_(seed) {}
    // When no byte is left every choice is the first, which is the simplest.
    choices(unsigned char const* bytes, std::size_t count)
        : random_(0), bytes_(bytes), left_(count), has_bytes_(true) {}

    int below(int bound) {
        if (!has_bytes_) return random_.below(bound);
        unsigned number = byte();
        if (bound > 256) number = number << 8 | byte();
        return static_cast<int>(number % static_cast<unsigned>(bound));
    }
    bool one_in(int count) { return below(count) == count - 1; }
    // What values are drawn from: few bytes are enough to tell cases apart.
    unsigned long long seed() {
        return has_bytes_ ? static_cast<unsigned long long>(below(65536)) : random_.bits() >> 16;
    }

private:
    unsigned byte() {
        if (left_ == 0) return 0;
        --left_;
        return *bytes_++;
    }

    support::random_stream random_;
    unsigned char const* bytes_ = nullptr;
    std::size_t left_ = 0;
    bool has_bytes_ = false;
};

}  // namespace fuzz
