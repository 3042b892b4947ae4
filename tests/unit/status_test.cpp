// status.hpp: success and one sentence for everything else.
#include "smx/status.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace {

std::string sentence_of(smx::status const& s) {
    char buffer[256];
    int const length = smx::message(s, buffer, sizeof buffer);
    EXPECT_EQ(static_cast<std::size_t>(length), std::strlen(buffer));
    return buffer;
}

TEST(status, is_a_small_value) {
    static_assert(std::is_trivially_copyable_v<smx::status>);
    static_assert(sizeof(smx::status) <= 48);
    static_assert(!std::is_convertible_v<smx::status, bool>, "only where a condition is asked for");
}

TEST(status, success) {
    smx::status const s;
    EXPECT_TRUE(s.ok());
    EXPECT_TRUE(s);
    EXPECT_EQ(s.code, smx::errc::ok);
    EXPECT_EQ(sentence_of(s), "ok");
}

TEST(status, names_argument_requirement_and_value) {
    smx::status const s{smx::errc::bad_stride, "x key stride", "1", 2, 0};
    EXPECT_FALSE(s);
    EXPECT_EQ(sentence_of(s), "x key stride: must be 1, was 2");
    smx::status const large{smx::errc::too_large, "keys", "at most 2^31 - 2^16", 1LL << 40, 0};
    EXPECT_EQ(sentence_of(large), "keys: must be at most 2^31 - 2^16, was 1099511627776");
}

TEST(status, names_the_cuda_error) {
    smx::status const s{smx::errc::cuda_failed, "launch", "the kernel could not be started", 0, 98};
    EXPECT_NE(sentence_of(s).find("98"), std::string::npos);
}

TEST(status, a_short_buffer_is_cut_and_ended) {
    smx::status const s{smx::errc::bad_stride, "x key stride", "1", 2, 0};
    // Neither size is known to the compiler, which would warn of the cut.
    std::size_t const volatile bytes = 8;
    int const volatile room = 5;
    std::vector<char> buffer(bytes, '\1');
    int const length = smx::message(s, buffer.data(), room);
    EXPECT_STREQ(buffer.data(), "x ke");
    EXPECT_EQ(buffer[5], 1);
    EXPECT_EQ(length, 30);
    EXPECT_EQ(smx::message(s, nullptr, 0), 30);
    EXPECT_EQ(smx::message(s, nullptr, -3), 30);
    EXPECT_EQ(smx::message(smx::status(), nullptr, 0), 2);
}

}  // namespace
