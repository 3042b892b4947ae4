// Every mask of smx twice: as the library's value and as a plain predicate, over one set of lengths, flags, bits and
// biases.
#pragma once

#include <cstddef>
#include <limits>

#include "smx/smx.hpp"
#include "support/data.hpp"
#include "support/guarded_buffer.hpp"
#include "support/reference.hpp"

namespace support {

// What masks are made of for one shape. Each piece of memory ends where memory ends.
struct mask_material {
    shape4 shape;
    fenced_buffer<int> lengths;          // [batch], some empty, some beyond the keys
    fenced_buffer<unsigned char> flags;  // [batch, 1, queries, keys]
    fenced_buffer<float> biases;         // [1, heads, queries, keys], some -infinity
    fenced_buffer<unsigned char> bits;   // [batch, 1, queries, bytes]
    smx::strides flag_steps, bias_steps, bit_steps;

    mask_material(shape4 const& of, unsigned long long seed)
        : shape(of),
          lengths(static_cast<std::size_t>(of.batch)),
          flags(static_cast<std::size_t>(of.batch * of.queries * of.keys)),
          biases(static_cast<std::size_t>(of.heads * of.queries * of.keys)),
          bits(static_cast<std::size_t>(of.batch * of.queries * bytes_of_bits(of))),
          flag_steps{of.queries * of.keys, 0, of.keys, 1},
          bias_steps{0, of.queries * of.keys, of.keys, 1},
          bit_steps{of.queries * bytes_of_bits(of), 0, bytes_of_bits(of), 1} {
        random_stream random(seed);
        for (std::size_t b = 0; b < lengths.size(); ++b) {
            int const choice = random.below(8);
            lengths[b] = choice == 0   ? 0
                         : choice == 1 ? of.keys
                         : choice == 2 ? of.keys + 7
                                       : random.below(of.keys + 1);
        }
        // Nonzero is any value but 0; now and then a row has no flag at all.
        for (std::size_t at = 0; at < flags.size(); ++at)
            flags[at] = static_cast<unsigned char>(random.coin() ? 0 : 1 << random.below(8));
        for (std::size_t at = 0; at < biases.size(); ++at) {
            biases[at] =
                random.coin(0.2) ? -std::numeric_limits<float>::infinity() : static_cast<float>(random.normal());
        }
        for (std::size_t at = 0; at < bits.size(); ++at) bits[at] = static_cast<unsigned char>(random.bits());
    }

    static index bytes_of_bits(shape4 const& of) { return (of.keys + 7) / 8; }

    bool in_length(index b, int k) const { return k < lengths[static_cast<std::size_t>(b)]; }
    bool in_left_padded(index b, int k) const { return k >= shape.keys - lengths[static_cast<std::size_t>(b)]; }
    bool flag(index b, index q, int k) const {
        return flags[static_cast<std::size_t>(b * flag_steps.batch + q * flag_steps.query + k)] != 0;
    }
    bool bit(index b, index q, int k) const {
        unsigned const byte = bits[static_cast<std::size_t>(b * bit_steps.batch + q * bit_steps.query + k / 8)];
        return (byte >> (k % 8) & 1U) != 0;
    }
    double bias(index h, index q, int k) const {
        return static_cast<double>(biases[static_cast<std::size_t>(h * bias_steps.head + q * bias_steps.query + k)]);
    }
};

// A user's mask: a window round the query's place, and in it every third key is hidden. Structure and bits both.
struct dotted_window {
    int reach;

    struct row {
        int begin, end;
        static constexpr bool tests = true;
        smx::interval span() const { return {begin, end}; }
        template <int V>
        unsigned visible(int col) const {
            unsigned bits = 0;
            for (int i = 0; i < V; ++i) bits |= static_cast<unsigned>((col + i) % 3 != 1) << i;
            return bits;
        }
    };

    row bind(smx::row_id id, smx::extents shape) const {
        smx::int64 const place = id.query * shape.keys / (shape.queries > 0 ? shape.queries : 1);
        smx::int64 const begin = place - reach < 0 ? 0 : place - reach;
        smx::int64 const end = place + reach > shape.keys ? shape.keys : place + reach;
        return {static_cast<int>(begin), static_cast<int>(end)};
    }

    bool operator()(shape4 const& shape, index q, int k) const {
        index const place = q * shape.keys / shape.queries;
        return k >= place - reach && k < place + reach && k % 3 != 1;
    }
};

// A user's bias: a slope by distance, and a bias of -infinity at every seventh key.
struct sloped_bias {
    struct row {
        int cols;
        static constexpr bool biases = true;
        smx::interval span() const { return {0, cols}; }
        template <int V, class Compute>
        void add_to(smx::pack<Compute, V>& scores, int col) const {
            for (int i = 0; i < V; ++i) {
                if ((col + i) % 7 == 3) {
                    scores[i] = smx::neg_inf<Compute>();
                } else {
                    scores[i] += Compute(-0.125) * static_cast<Compute>((col + i) % 32);
                }
            }
        }
    };
    row bind(smx::row_id id, smx::extents) const { return {id.cols}; }
    double operator()(int k) const { return k % 7 == 3 ? -std::numeric_limits<double>::infinity() : -0.125 * (k % 32); }
};

// A case gives a mask, and answers for it with visible(material, b, h, q, k) and bias(material, b, h, q, k).
using visible_at = bool (*)(mask_material const&, index, index, index, int);
using bias_at = double (*)(mask_material const&, index, index, index, int);

struct unbiased_case {
    static double bias(mask_material const&, index, index, index, int) { return 0.0; }
};

struct no_mask_case : unbiased_case {
    static auto mask(mask_material const&) { return smx::no_mask{}; }
    static bool visible(mask_material const&, index, index, index, int) { return true; }
};

struct top_left_case : unbiased_case {
    static auto mask(mask_material const&) { return smx::causal_mask::top_left(); }
    static bool visible(mask_material const&, index, index, index q, int k) { return k <= q; }
};

struct bottom_right_case : unbiased_case {
    static auto mask(mask_material const&) { return smx::causal_mask::bottom_right(); }
    static bool visible(mask_material const& m, index, index, index q, int k) {
        return k <= q + m.shape.keys - m.shape.queries;
    }
};

struct diagonal_case : unbiased_case {
    static auto mask(mask_material const& m) { return smx::causal_mask::diagonal(m.shape.keys / 2 - 1); }
    static bool visible(mask_material const& m, index, index, index q, int k) { return k <= q + m.shape.keys / 2 - 1; }
};

struct right_padding_case : unbiased_case {
    static auto mask(mask_material const& m) { return smx::key_lengths(m.lengths.data()); }
    static bool visible(mask_material const& m, index b, index, index, int k) { return m.in_length(b, k); }
};

struct left_padding_case : unbiased_case {
    static auto mask(mask_material const& m) { return smx::key_lengths(m.lengths.data(), smx::padding::left); }
    static bool visible(mask_material const& m, index b, index, index, int k) { return m.in_left_padded(b, k); }
};

struct visible_flags_case : unbiased_case {
    static auto mask(mask_material const& m) { return smx::mask_tensor(m.flags.data(), m.flag_steps); }
    static bool visible(mask_material const& m, index b, index, index q, int k) { return m.flag(b, q, k); }
};

struct hidden_flags_case : unbiased_case {
    static auto mask(mask_material const& m) { return smx::hidden_where(m.flags.data(), m.flag_steps); }
    static bool visible(mask_material const& m, index b, index, index q, int k) { return !m.flag(b, q, k); }
};

struct visible_bits_case : unbiased_case {
    static auto mask(mask_material const& m) { return smx::mask_bits(m.bits.data(), m.bit_steps); }
    static bool visible(mask_material const& m, index b, index, index q, int k) { return m.bit(b, q, k); }
};

struct hidden_bits_case : unbiased_case {
    static auto mask(mask_material const& m) { return smx::hidden_bits(m.bits.data(), m.bit_steps); }
    static bool visible(mask_material const& m, index b, index, index q, int k) { return !m.bit(b, q, k); }
};

struct bias_case {
    static auto mask(mask_material const& m) { return smx::bias_tensor(m.biases.data(), m.bias_steps); }
    static bool visible(mask_material const&, index, index, index, int) { return true; }
    static double bias(mask_material const& m, index, index h, index q, int k) { return m.bias(h, q, k); }
};

struct causal_and_padding_case : unbiased_case {
    static auto mask(mask_material const& m) {
        return smx::both(smx::causal_mask::bottom_right(), smx::key_lengths(m.lengths.data(), smx::padding::left));
    }
    static bool visible(mask_material const& m, index b, index h, index q, int k) {
        return bottom_right_case::visible(m, b, h, q, k) && m.in_left_padded(b, k);
    }
};

struct structured_bits_case : unbiased_case {
    static auto mask(mask_material const& m) {
        return smx::both(smx::causal_mask::bottom_right(), smx::mask_bits(m.bits.data(), m.bit_steps),
                         smx::key_lengths(m.lengths.data(), smx::padding::left));
    }
    static bool visible(mask_material const& m, index b, index h, index q, int k) {
        return causal_and_padding_case::visible(m, b, h, q, k) && m.bit(b, q, k);
    }
};

// Biases without bits, on a part of the row.
struct causal_and_bias_case {
    static auto mask(mask_material const& m) {
        return smx::both(smx::causal_mask::bottom_right(), smx::bias_tensor(m.biases.data(), m.bias_steps));
    }
    static bool visible(mask_material const& m, index b, index h, index q, int k) {
        return bottom_right_case::visible(m, b, h, q, k);
    }
    static double bias(mask_material const& m, index, index h, index q, int k) { return m.bias(h, q, k); }
};

struct everything_case {
    static auto mask(mask_material const& m) {
        return smx::both(smx::bias_tensor(m.biases.data(), m.bias_steps),
                         smx::causal_mask::diagonal(m.shape.keys / 2 - 1), smx::key_lengths(m.lengths.data()),
                         smx::hidden_where(m.flags.data(), m.flag_steps), sloped_bias{});
    }
    static bool visible(mask_material const& m, index b, index h, index q, int k) {
        return diagonal_case::visible(m, b, h, q, k) && m.in_length(b, k) && !m.flag(b, q, k);
    }
    static double bias(mask_material const& m, index, index h, index q, int k) {
        return m.bias(h, q, k) + sloped_bias{}(k);
    }
};

struct either_case : unbiased_case {
    static auto mask(mask_material const& m) {
        return smx::either(smx::key_lengths(m.lengths.data()), smx::mask_tensor(m.flags.data(), m.flag_steps),
                           dotted_window{9});
    }
    static bool visible(mask_material const& m, index b, index, index q, int k) {
        return m.in_length(b, k) || m.flag(b, q, k) || dotted_window{9}(m.shape, q, k);
    }
};

struct either_bits_case : unbiased_case {
    static auto mask(mask_material const& m) {
        return smx::both(smx::either(smx::key_lengths(m.lengths.data()), smx::mask_bits(m.bits.data(), m.bit_steps)),
                         smx::hidden_where(m.flags.data(), m.flag_steps));
    }
    static bool visible(mask_material const& m, index b, index, index q, int k) {
        return (m.in_length(b, k) || m.bit(b, q, k)) && !m.flag(b, q, k);
    }
};

// Two spans that do not meet: what lies between them is loaded and hidden.
struct two_ends_case : unbiased_case {
    static auto mask(mask_material const& m) {
        return smx::both(
            smx::either(smx::causal_mask::top_left(), smx::key_lengths(m.lengths.data(), smx::padding::left)),
            smx::either(smx::causal_mask::diagonal(m.shape.keys / 2 - 1), smx::no_mask{}));
    }
    static bool visible(mask_material const& m, index b, index, index q, int k) {
        return k <= q || m.in_left_padded(b, k);
    }
};

struct written_window_case : unbiased_case {
    static auto mask(mask_material const&) { return dotted_window{20}; }
    static bool visible(mask_material const& m, index, index, index q, int k) {
        return dotted_window{20}(m.shape, q, k);
    }
};

struct written_predicate_case : unbiased_case {
    static bool rule(index h, index q, int k) { return (k + q + h) % 3 != 0; }
    static auto mask(mask_material const&) {
        return smx::visible_where([](smx::row_id row, int col) { return rule(row.head, row.query, col); });
    }
    static bool visible(mask_material const&, index, index h, index q, int k) { return rule(h, q, k); }
};

}  // namespace support
