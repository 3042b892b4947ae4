// philox.hpp: the published vectors, and a schedule of keys that gives what the key gives.
#include "smx/philox.hpp"

#include <gtest/gtest.h>

namespace {

// Random123, tests/kat_vectors: philox4x32, 10 rounds.
struct known_answer {
    smx::philox_counter counter;
    smx::philox_key key;
    smx::philox_counter words;
};
constexpr known_answer known[] = {
    {{{0, 0, 0, 0}}, {{0, 0}}, {{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}}},
    {{{0xffffffffU, 0xffffffffU, 0xffffffffU, 0xffffffffU}},
     {{0xffffffffU, 0xffffffffU}},
     {{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU}}},
    {{{0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}},
     {{0xa4093822U, 0x299f31d0U}},
     {{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U}}},
};

TEST(philox, published_vectors) {
    for (known_answer const& one : known) {
        auto const words = smx::philox(one.counter, one.key);
        auto const again = smx::philox(one.counter, smx::philox_schedule(one.key));
        for (int i = 0; i < 4; ++i) {
            EXPECT_EQ(words.word[i], one.words.word[i]) << "word " << i;
            EXPECT_EQ(again.word[i], one.words.word[i]) << "word " << i;
        }
    }
}

}  // namespace
