// Dropout: which columns of a row are kept, drawn from a counter.
//
// A column is kept with probability 1 - p, and then divided by 1 - p, so that its expectation is what it would be without. A draw has 16 bits:
// p is the nearest multiple of 1/65536, in the draw and in the division. What is drawn is a function of seed, offset, index of the row and column,
// and of nothing else: not of the kernel, of addresses or of strides, so that a backward pass draws again what the forward pass drew.
// Source    N. Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014; divided where it is kept, as in
//           section 10 there.
#pragma once
#include "philox.hpp"
#if SMX_DEVICE_CODE
#include "ptx.cuh"
#endif
#include "scale.hpp"
#include "tensor.hpp"

SMX_BEGIN

namespace detail {

SMX_HD constexpr philox_key key_of(uint64 seed) { return {{static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)}}; }

// Bit i: draw i of the eight in a counter's words, two to a word, is above `last`, which is the upper half of a word whose lower half is full.
SMX_HD unsigned draws_above(philox_counter const& drawn, unsigned last) {
    unsigned bits = 0;
#if SMX_DEVICE_CODE && SMX_ARCH >= 900
    // Two at a time: 12 instructions in place of 24.
    SMX_UNROLL
    for (int w = 3; w >= 0; --w) bits = bits * 4 + ptx::halves_above(drawn.word[w], (last >> 16) * 0x10001u);
    return (bits | bits >> 15) & 0xffu;
#else
    SMX_UNROLL
    for (int i = 0; i < 8; ++i) bits |= (i % 2 == 0 ? drawn.word[i / 2] << 16 : drawn.word[i / 2]) > last ? 1u << i : 0u;
    return bits;
#endif
}

}  // namespace detail

// What is kept of one row.
template <class Key>
struct dropout_row {
    Key key;
    unsigned row, offset, high;  // the words of a counter beside the columns
    bool drops;                  // any at all
    unsigned last;               // the largest draw that is dropped, as the upper half of a word whose lower half is full
    fixed_scale scale;

    // Each of the columns from `col` on times 1 / (1 - p), or 0.
    template <int Width, class Compute>
    SMX_HD void apply(pack<Compute, Width>& values, int col) const {
        if (drops) apply_bits(values, col % Width == 0 ? keeps_aligned<Width>(col) : keeps<Width>(col));
    }
    // The same of what was drawn before. What is dropped may be NaN.
    template <int Width, class Compute>
    SMX_HD void apply_bits(pack<Compute, Width>& values, unsigned kept) const {
        Compute const by = scale.template value<Compute>(row_id());
        SMX_UNROLL
        for (int i = 0; i < Width; ++i) {
            Compute const product = rounded_product(values[i], by);
            values[i] = (kept >> i & 1u) != 0 ? product : Compute(0);
        }
    }

    // Bit i: column col + i is kept.
    // Requires  drops
    // Cost      two counters a pack of up to 8 columns
    template <int Width>
    SMX_HD unsigned keeps(int col) const {
        unsigned kept = 0;
        SMX_UNROLL
        for (int c = 0; c < Width; c += 8) kept |= ((of_counter(col + c) | of_counter(col + c + 8) << 8) >> col % 8 & all_bits<at_once<Width>>) << c;
        return kept;
    }
    // The same where col is a multiple of Width.
    // Cost      one counter
    template <int Width>
    SMX_HD unsigned keeps_aligned(int col) const {
        unsigned kept = 0;
        SMX_UNROLL
        for (int c = 0; c < Width; c += 8) kept |= (of_counter(col + c) >> (Width < 8 ? col % 8 : 0) & all_bits<at_once<Width>>) << c;
        return kept;
    }

private:
    template <int Width>
    static constexpr int at_once = Width < 8 ? Width : 8;

    // Of the eight columns from the last multiple of eight on.
    SMX_HD unsigned of_counter(int col) const { return detail::draws_above(philox({{static_cast<unsigned>(col) / 8, row, offset, high}}, key), last); }
};

// Seed and offset as numbers of the host.
struct fixed_seed {
    using key_type = philox_schedule;
    key_type schedule;
    uint64 number;

    SMX_HD key_type key() const { return schedule; }
    SMX_HD uint64 offset() const { return number; }
};

// Read where the rows run, when they run.
template <class Integer>
struct device_seed {
    using key_type = philox_key;
    Integer const* seed;
    Integer const* first;
    uint64 more;  // added to the offset

    SMX_HD key_type key() const { return detail::key_of(static_cast<uint64>(*seed)); }
    SMX_HD uint64 offset() const { return static_cast<uint64>(*first) + more; }
};

// What is kept of every row. Made by dropout().
template <class Seed>
struct dropout_by {
    Seed seed;
    double probability;  // as it was given
    int threshold;       // draws below it are dropped, out of 65536
    fixed_scale scale;

    // Of a probability that check() refuses nothing is dropped.
    SMX_HD constexpr dropout_by(double p, Seed const& from)
        : seed(from), probability(p), threshold(p >= 0 && p <= 1 ? static_cast<int>(p * 65536 + 0.5) : 0), scale(threshold < 65536 ? 65536.0 / (65536 - threshold) : 0) {}

    // No two draws have a counter in common, as long as rows or offsets stay below 2^32: one word is that of both.
    SMX_HD dropout_row<typename Seed::key_type> bind(row_id id) const {
        uint64 const offset = seed.offset(), index = static_cast<uint64>(id.index);
        return {seed.key(), static_cast<unsigned>(index), static_cast<unsigned>(offset), static_cast<unsigned>((offset ^ index) >> 32),
                threshold != 0, static_cast<unsigned>(threshold) * 65536u - 1u, scale};
    }
};

// Drops each column with probability p. Another offset drops others: one a call, counted up from call to call, and given to the backward pass again.
// Requires  0 <= p <= 1; 0 keeps every column as it is, to the bit, and 1 makes all of them 0, NaN too
SMX_HD constexpr dropout_by<fixed_seed> dropout(double p, uint64 seed, uint64 offset) { return {p, {philox_schedule(detail::key_of(seed)), offset}}; }
// The same from memory that the rows can read (of the device, for a kernel), so that replays of a graph differ. Any integer type of 64 bits or less.
template <class Integer>
SMX_HD constexpr dropout_by<device_seed<Integer>> dropout(double p, Integer const* seed, Integer const* offset, uint64 more = 0) {
    return {p, {seed, offset, more}};
}

// Which columns of a tile's packs in registers a dropout keeps, a bit each: what is drawn while a row is on its way takes the time of no other work.
template <class Tile>
class drawn_columns {
public:
    // Requires  t covers its part of the row
    template <class Key>
    SMX_HD void draw(Tile const& t, dropout_row<Key> const& kept) {
        if (begin(t, kept)) t.for_all_registers([&](int p, bool) { add(p, kept.template keeps_aligned<Tile::vec>(t.pack_column(p))); });
    }
    // Of the packs alone that can be seen.
    template <class Key>
    SMX_HD void draw_seen(Tile const& t, dropout_row<Key> const& kept) {
        if (begin(t, kept)) t.for_live_registers([&](int p) { add(p, kept.template keeps_aligned<Tile::vec>(t.pack_column(p))); });
    }
    SMX_HD unsigned of_pack(int p) const { return word_[p / packs_a_word] >> (p % packs_a_word * Tile::vec); }

private:
    // Whether the packs are still to be drawn: those of an aligned row, straight on, so that their counters are worked out side by side.
    template <class Key>
    SMX_HD bool begin(Tile const& t, dropout_row<Key> const& kept) {
        bool const is_aligned = t.pack_column(0) % Tile::vec == 0;
        SMX_UNROLL
        for (int w = 0; w < words; ++w) {
            word_[w] = kept.drops ? 0u : ~0u;
            int const first = w * packs_a_word, end = kept.drops && !is_aligned ? t.packs_to_visit() : 0;
            SMX_KEEP_LOOP
            for (int p = first; p < end && p < first + packs_a_word; ++p) word_[w] |= kept.template keeps<Tile::vec>(t.pack_column(p)) << ((p - first) * Tile::vec);
        }
        return kept.drops && is_aligned;
    }
    SMX_HD void add(int p, unsigned kept) { word_[p / packs_a_word] |= kept << (p % packs_a_word * Tile::vec); }

    static constexpr int packs_a_word = 32 / Tile::vec;
    static constexpr int words = (Tile::packs + packs_a_word - 1) / packs_a_word;
    unsigned word_[words];
};

// Values of the columns of a tile that can be seen, as of a gradient: each times 1 / (1 - p), or 0.
// Requires  drawn of t, or of a tile with its map and size
// Callers   any lane, on its own
template <class Tile, class Key, class Drawn>
SMX_HD void drop(Tile& t, dropout_row<Key> const& kept, drawn_columns<Drawn> const& drawn) {
    static_assert(!Tile::is_stored && Tile::behind_packs == 0, "a tile with kept::stored holds no numbers to be dropped: write kept::weights");
    if (!kept.drops) return;
    t.for_live_registers([&](int p) { kept.apply_bits(t.middle[p], drawn.of_pack(p)); });
    if (!t.has_edges()) return;
    int const edges = t.edges_to_visit();
    SMX_UNROLL
    for (int i = 0; i < edges; ++i) {
        pack<typename Tile::compute, 1> one{{t.edge[i]}};
        if (t.edge_is_seen(t.edge_column(i))) kept.apply(one, t.edge_column(i));
        t.edge[i] = one[0];
    }
}
// The same, drawn here.
template <class Tile, class Key>
SMX_HD void drop(Tile& t, dropout_row<Key> const& kept) {
    drawn_columns<Tile> drawn;
    drawn.draw_seen(t, kept);
    smx::drop(t, kept, drawn);
}

SMX_END
