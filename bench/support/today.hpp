// The date that stands beside numbers: 2026-11-30.
#pragma once
#include <ctime>
#include <string>

namespace bench {

inline std::string today() {
    std::time_t const now = std::time(nullptr);
    char words[16];
    std::strftime(words, sizeof(words), "%Y-%m-%d", std::gmtime(&now));
    return words;
}

}  // namespace bench
