// Bit-packed mask tensor: one bit a score says whether it is visible.
#pragma once
#include "../mask.hpp"
#include "../tensor.hpp"

SMX_BEGIN

// What a bit that is set says of its column.
enum class set_bits { visible, hidden };

// How many words hold the bits of a row.
template <class Word>
SMX_HD constexpr int64 words_for(int64 keys) {
    constexpr int64 bits = 8 * int64{sizeof(Word)};
    return keys / bits + (keys % bits != 0 ? 1 : 0);
}

namespace detail {

// Packs of a row of bits, from one of its columns on. One of less than a byte is fetched with the bits before it, which go when it is asked about:
// no load waits for another. Bits behind a pack are anything.
template <int Width>
class packs_of_bits {
public:
    SMX_HD packs_of_bits(unsigned char const* row, int col) : bytes_(row + (col >> 3)), past_(col & 7) {}

    // Each is a part of one byte, or bytes that can be read in one piece.
    SMX_HD bool aligned() const { return past_ % Width == 0 && is_aligned(bytes_, whole); }
    // Requires  aligned()
    SMX_HD unsigned fetch_aligned(int distance) const { return word_of(read_aligned<whole, traffic::cached>(from(distance))); }
    // Wherever it lies; reads no byte that has none of its bits.
    SMX_HD unsigned fetch(int distance) const {
        unsigned const first = word_of(read_pack<whole>(from(distance)));
        if constexpr (Width == 1) {
            return first;
        } else {
            // Without a jump: the byte that the last bit is in, also where that was read already, and then comes to lie behind the pack.
            using wide = chosen_type<(Width > 16), uint64, unsigned>;
            int const past = (past_ + distance) & 7;
            wide const bits = first | static_cast<wide>(from(distance)[(past + Width - 1) >> 3]) << (8 * whole);
            return static_cast<unsigned>(Width < 8 ? bits : bits >> past);
        }
    }
    static SMX_HD unsigned bits_of(unsigned fetched, int col) { return Width < 8 ? fetched >> (col & 7) : fetched; }

private:
    static constexpr int whole = Width < 8 ? 1 : Width / 8;  // bytes of a pack that begins with one

    SMX_HD unsigned char const* from(int distance) const { return in_global_memory(bytes_ + ((past_ + distance) >> 3)); }
    static SMX_HD unsigned word_of(raw_pack<unsigned char, whole> const& raw) { return bit_cast<typename access_word<whole>::type>(raw); }

    unsigned char const* bytes_;
    int past_;  // bits of the first byte that come before: 0 to 7
};

}  // namespace detail

// Shape     data: batch x heads x queries x words_for<Word>(keys), `step` words apart; any strides, zero repeats; key stride 1, and 0 as good where a
//           row has one word. A row begins with a word; what its last word has beyond the keys is not looked at
// Requires  unsigned words of any size, little-endian: bit k of a row of 32-bit words is bit k % 32 of word k / 32. That is bit k % 8 of byte k / 8,
//           as numpy.packbits(..., bitorder="little") leaves it
// Cost      one byte a pack of 8, or two where x begins between multiples of 8 columns
template <class Word, set_bits Set>
struct bit_tensor {
    static_assert(Word(-1) > Word(2) && Word(3) / Word(2) == Word(1),
                  "bits are packed in unsigned words: for a bool or an integer a score write mask_tensor, for numbers that are added bias_tensor");
    Word const* data;
    strides step;

    struct row {
        unsigned char const* bits;
        int cols;

        static constexpr bool tests = true;
        static constexpr bool spans_row = true;
        static constexpr bool answers_from_packs = true;
        static constexpr bool fetches_without_jumps = true;

        SMX_HD interval span() const { return {0, cols}; }

        template <int Width>
        SMX_HD unsigned fetch(int col) const {
            return packs_from<Width>(col).fetch(0);
        }

        template <int Width>
        SMX_HD detail::packs_of_bits<Width> packs_from(int col) const {
            return detail::packs_of_bits<Width>(bits, col);
        }

        template <int Width>
        SMX_HD unsigned visible(int col) const {
            return visible<Width>(col, fetch<Width>(col));
        }
        template <int Width>
        SMX_HD unsigned visible(int col, unsigned fetched) const {
            unsigned const set = detail::packs_of_bits<Width>::bits_of(fetched, col);
            return Set == set_bits::visible ? set : ~set;
        }
    };

    SMX_HD row bind(row_id id, extents) const { return {reinterpret_cast<unsigned char const*>(row_pointer(data, step, id)), id.cols}; }
};

// Set = visible.
template <class Word>
SMX_HD bit_tensor<Word, set_bits::visible> mask_bits(Word const* words, strides step) {
    return {words, step};
}

// Set = hidden.
template <class Word>
SMX_HD bit_tensor<Word, set_bits::hidden> hidden_bits(Word const* words, strides step) {
    return {words, step};
}

SMX_END
