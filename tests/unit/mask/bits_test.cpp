// mask/bits.hpp: words of every size, both polarities, every broadcast, packs at any column; no read outside the words.
#include "smx/mask/bits.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "smx/mask/compose.hpp"
#include "smx/mask/lengths.hpp"
#include "support/data.hpp"
#include "support/guarded_buffer.hpp"
#include "support/mask_check.hpp"

namespace {

using support::index;
using support::shape4;

template <class Word>
bool bit_at(Word const* row, int k) {
    constexpr int bits = static_cast<int>(sizeof(Word)) * 8;
    return (static_cast<unsigned long long>(row[k / bits]) >> (k % bits) & 1) != 0;
}

// The packs of a row from every column on, as read_ahead asks for them, against the row mask's own answers.
template <int Width, class Seen>
std::string wrong_packs(Seen const& seen, int cols) {
    for (int first = 0; first + Width <= cols; ++first) {
        auto const packs = seen.template packs_from<Width>(first);
        for (int col = first; col + Width <= cols; ++col) {
            auto const asked = [&](unsigned fetched) {
                return (seen.template visible<Width>(col, fetched) ^ seen.template visible<Width>(col)) &
                       smx::all_bits<Width>;
            };
            std::string const here =
                " of " + std::to_string(Width) + " at " + std::to_string(col) + ", from " + std::to_string(first);
            if (asked(packs.fetch(col - first)) != 0) return "other bits: a pack" + here;
            if ((col - first) % Width == 0 && packs.aligned() && asked(packs.fetch_aligned(col - first)) != 0)
                return "other bits: an aligned pack" + here;
        }
    }
    return {};
}

template <class Word>
class mask_bits : public ::testing::Test {
public:
    static index words(int keys) { return smx::words_for<Word>(keys); }

    // The words are the last of readable memory, and the first of it: a read outside them is a fault. What lies behind
    // the keys in a row's last word is drawn too.
    void expect_both_polarities(index count, smx::strides step, shape4 const& shape, index first = 0) {
        for (support::fence side : {support::fence::behind, support::fence::before}) {
            support::fenced_buffer<Word> memory(static_cast<std::size_t>(count), side);
            support::random_stream random(static_cast<unsigned long long>(count));
            for (std::size_t at = 0; at < memory.size(); ++at) memory[at] = static_cast<Word>(random.bits());
            Word const* const data = memory.data() + first;
            auto const set = [&](index b, index h, index q, int k) {
                return bit_at(data + b * step.batch + h * step.head + q * step.query, k);
            };
            support::expect_mask(smx::mask_bits(data, step), shape, set);
            support::expect_mask(smx::hidden_bits(data, step), shape,
                                 [&](index b, index h, index q, int k) { return !set(b, h, q, k); });
        }
    }
};
using word_types = ::testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, unsigned long long>;
TYPED_TEST_SUITE(mask_bits, word_types);

TYPED_TEST(mask_bits, full) {
    index const words = this->words(37);
    this->expect_both_polarities(2 * 3 * 4 * words, {3 * 4 * words, 4 * words, words, 1}, {2, 3, 4, 37});
}
TYPED_TEST(mask_bits, per_query_and_key) {
    index const words = this->words(100);
    this->expect_both_polarities(4 * words, {0, 0, words, 1}, {2, 3, 4, 100});
}
TYPED_TEST(mask_bits, key_padding) {
    index const words = this->words(129);
    this->expect_both_polarities(3 * words, {words, 0, 0, 1}, {3, 2, 3, 129});
}
TYPED_TEST(mask_bits, rows_apart) {
    index const words = this->words(37);
    this->expect_both_polarities(3 * 11 + words, {0, 0, 11, 1}, {1, 1, 4, 37});
}
TYPED_TEST(mask_bits, rows_backwards) {
    index const words = this->words(37);
    this->expect_both_polarities(4 * words, {0, 0, -words, 1}, {1, 1, 4, 37}, 3 * words);
}
TYPED_TEST(mask_bits, broadcast_helper) {
    index const words = this->words(70);
    this->expect_both_polarities(2 * 4 * words, smx::broadcast({2, 1, 4, words}), {2, 3, 4, 70});
}
// A row of one word has the key stride of an axis of length 1.
TYPED_TEST(mask_bits, rows_of_one_word) {
    this->expect_both_polarities(3, smx::broadcast({1, 1, 3, 1}), {2, 2, 3, 7});
    this->expect_both_polarities(1, smx::broadcast({1, 1, 1, 1}), {2, 2, 3, 8});
}
TYPED_TEST(mask_bits, every_length) {
    for (int keys = 1; keys <= 150; ++keys)
        this->expect_both_polarities(this->words(keys), {0, 0, 0, 1}, {1, 1, 1, keys});
}

// Whatever the address of the row is: wide packs are read in one piece where it allows that.
TEST(bits, packs_from_every_column) {
    for (std::size_t offset = 0; offset < 5; ++offset) {
        for (int keys : {1, 8, 31, 64, 75}) {
            std::size_t const bytes = static_cast<std::size_t>(smx::words_for<std::uint8_t>(keys));
            support::fenced_buffer<std::uint8_t> memory(bytes + offset, support::fence::before);
            support::fenced_buffer<std::uint8_t> last(bytes);
            support::random_stream random(offset + 9);
            for (std::size_t at = 0; at < memory.size(); ++at) memory[at] = static_cast<std::uint8_t>(random.bits());
            for (std::size_t at = 0; at < bytes; ++at) last[at] = memory[offset + at];
            for (std::uint8_t const* row : {memory.data() + offset, last.data() + 0}) {
                auto const seen = smx::hidden_bits(row, {0, 0, 0, 1}).bind({0, 0, 0, 0, keys}, {1, keys});
                ASSERT_EQ(wrong_packs<1>(seen, keys), "") << keys << " keys";
                ASSERT_EQ(wrong_packs<2>(seen, keys), "") << keys << " keys";
                ASSERT_EQ(wrong_packs<4>(seen, keys), "") << keys << " keys";
                ASSERT_EQ(wrong_packs<8>(seen, keys), "") << keys << " keys";
                ASSERT_EQ(wrong_packs<16>(seen, keys), "") << keys << " keys";
                ASSERT_EQ(wrong_packs<32>(seen, keys), "") << keys << " keys";
            }
        }
    }
}

// Packs that begin with a byte, or lie in one, are read without their neighbours.
TEST(bits, packs_within_bytes_are_aligned) {
    alignas(16) std::uint8_t const row[16] = {};
    auto const seen = smx::mask_bits(row, {0, 0, 0, 1}).bind({0, 0, 0, 0, 128}, {1, 128});
    for (int col = 0; col < 64; ++col) {
        EXPECT_EQ(seen.packs_from<1>(col).aligned(), true);
        EXPECT_EQ(seen.packs_from<4>(col).aligned(), col % 4 == 0);
        EXPECT_EQ(seen.packs_from<8>(col).aligned(), col % 8 == 0);
        EXPECT_EQ(seen.packs_from<16>(col).aligned(), col % 16 == 0);
    }
}

// The same memory as bytes, and as words of any size.
TEST(bits, words_are_bytes_in_order) {
    std::uint64_t const words[2] = {0x8040201008040201, 0xfedcba9876543210};
    auto const* const bytes = reinterpret_cast<std::uint8_t const*>(words);
    auto const set = [&](index, index, index, int k) { return bit_at(bytes, k); };
    support::expect_mask(smx::mask_bits(words, {0, 0, 0, 1}), {1, 1, 1, 128}, set);
    support::expect_mask(smx::mask_bits(bytes, {0, 0, 0, 1}), {1, 1, 1, 128}, set);
    // numpy.packbits([1,0,1,1,0,0,0,0, 0,1], bitorder="little")
    std::uint8_t const packed[2] = {13, 2};
    support::expect_mask(smx::mask_bits(packed, {0, 0, 0, 1}), {1, 1, 1, 10},
                         [](index, index, index, int k) { return k == 0 || k == 2 || k == 3 || k == 9; });
}

TEST(bits, words_for_a_row) {
    EXPECT_EQ(smx::words_for<std::uint8_t>(0), 0);
    EXPECT_EQ(smx::words_for<std::uint8_t>(8), 1);
    EXPECT_EQ(smx::words_for<std::uint8_t>(9), 2);
    EXPECT_EQ(smx::words_for<std::uint32_t>(2048), 64);
    EXPECT_EQ(smx::words_for<std::uint32_t>(2049), 65);
    EXPECT_EQ(smx::words_for<std::uint64_t>(1), 1);
    EXPECT_EQ(smx::words_for<std::uint8_t>(0x7fffffffffffffff), 0x1000000000000000);
}

// Packs of a pair of masks are read by what each of them worked out once.
TEST(bits, are_read_beside_other_masks) {
    int const length = 40;
    std::uint32_t const words[2] = {0x9e3779b9, 0x7f4a7c15};
    auto const bits = smx::mask_bits(words, {0, 0, 0, 1});
    smx::row_id const row{0, 0, 0, 0, 64};
    auto const with_span = smx::both(smx::key_lengths(&length), bits).bind(row, {1, 64});
    auto const packs = with_span.packs_from<8>(3);
    EXPECT_FALSE(packs.aligned());
    EXPECT_TRUE(with_span.packs_from<8>(16).aligned());
    EXPECT_EQ(with_span.visible<8>(19, packs.fetch(16)) & 0xff, with_span.visible<8>(19) & 0xff);
    auto const twice = smx::both(bits, smx::hidden_bits(words, {0, 0, 0, 1})).bind(row, {1, 64});
    EXPECT_EQ(twice.visible<8>(19, twice.packs_from<8>(3).fetch(16)) & 0xff, 0U);
}

}  // namespace
