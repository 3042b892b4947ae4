// What a refused call says, and arguments to be refused.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "smx/status.hpp"

namespace support {

inline void expect_refused(smx::status const& s, smx::errc code, char const* argument, smx::int64 actual) {
    char sentence[256];
    smx::message(s, sentence, sizeof sentence);
    EXPECT_EQ(s.code, code) << sentence;
    EXPECT_STREQ(s.argument, argument) << sentence;
    EXPECT_EQ(s.actual, actual) << sentence;
    EXPECT_NE(std::strlen(s.requirement), 0U);
}

// A pointer that is aligned to nothing.
template <class T>
T* odd(T* pointer) {
    return reinterpret_cast<T*>(reinterpret_cast<unsigned long long>(pointer) + 1);
}

}  // namespace support
