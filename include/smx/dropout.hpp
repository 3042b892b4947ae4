// Dropout: which columns of a row are kept, drawn from a counter.
//
// A column is kept with probability 1 - p, and then divided by 1 - p, so that its expectation is what it would be without. A draw has 16 bits:
// p is the nearest multiple of 1/65536, in the draw and in the division. What is drawn is a function of seed, offset, index of the row and column,
// and of nothing else: not of the kernel, of addresses or of strides, so that a backward pass draws again what the forward pass drew.
// Source    N. Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014; divided where it is kept, as in
//           section 10 there.
#pragma once
#include "philox.hpp"
#include "scale.hpp"
#include "tensor.hpp"

SMX_BEGIN

namespace detail {

SMX_HD constexpr philox_key key_of(uint64 seed) { return {{static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)}}; }

// The draws of up to eight columns side by side, two to a word.
struct column_draws {
    philox_counter low, high;

    // Draw `phase` becomes the first.
    SMX_HD void begin_at(int phase) {
        unsigned word[8];
        SMX_UNROLL
        for (int i = 0; i < 8; ++i) word[i] = i < 4 ? low.word[i % 4] : high.word[i % 4];
        SMX_UNROLL
        for (int i = 0; i < 6; ++i) word[i] = (phase & 4) != 0 ? word[i + 2] : word[i];
        SMX_UNROLL
        for (int i = 0; i < 5; ++i) word[i] = (phase & 2) != 0 ? word[i + 1] : word[i];
        SMX_UNROLL
        for (int i = 0; i < 4; ++i) low.word[i] = (phase & 1) != 0 ? word[i] >> 16 | word[i + 1] << 16 : word[i];
    }
    SMX_HD bool is_above(int i, unsigned last) const { return (i % 2 == 0 ? low.word[i / 2] << 16 : low.word[i / 2]) > last; }
};

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
    // Cost      one counter a pack of up to 8 columns; one more where 8 begin at no multiple of 8
    template <int Width, class Compute>
    SMX_HD void apply(pack<Compute, Width>& values, int col) const {
        if (drops) keep<Width>(values, [&](int c) { return draws<at_once<Width>>(static_cast<unsigned>(col + c)); });
    }

    // Whether packs of a row, one of which begins at col, are whole counters: apply_counters() does the same then, without a branch, so that the
    // counters of several packs are worked out side by side.
    template <int Width>
    static SMX_HD bool are_counters(int col) {
        return Width % 8 == 0 && col % 8 == 0;
    }
    template <int Width, class Compute>
    SMX_HD void apply_counters(pack<Compute, Width>& values, int col) const {
        keep<Width>(values, [&](int c) { return detail::column_draws{philox({{static_cast<unsigned>(col + c) / 8, row, offset, high}}, key), {}}; });
    }

private:
    template <int Width>
    static constexpr int at_once = Width < 8 ? Width : 8;

    template <int Width, class Compute, class Draws>
    SMX_HD void keep(pack<Compute, Width>& values, Draws const& draws_from) const {
        Compute const by = scale.template value<Compute>(row_id());
        SMX_UNROLL
        for (int c = 0; c < Width; c += at_once<Width>) {
            detail::column_draws const drawn = draws_from(c);
            SMX_UNROLL
            for (int i = 0; i < at_once<Width>; ++i) {
                Compute const kept = rounded_product(values[c + i], by);  // by 1, if nothing drops
                bool const keeps = drawn.is_above(i, last) | !drops;
                values[c + i] = keeps ? kept : Compute(0);  // a choice: what is dropped may be NaN
            }
        }
    }

    // A counter gives the draws of eight columns that begin at a multiple of eight.
    template <int Width>
    SMX_HD detail::column_draws draws(unsigned col) const {
        unsigned const first = col / 8;
        int const phase = static_cast<int>(col % 8);
        detail::column_draws drawn{};
        drawn.low = philox({{first, row, offset, high}}, key);
        // Packs follow the address of a row: its phase is the same for all of them, and mostly 0.
        if (Width < 8 || phase != 0) {
            if (phase + Width > 8) drawn.high = philox({{first + 1, row, offset, high}}, key);
            drawn.begin_at(phase);
        }
        return drawn;
    }
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

// Values of the columns of a tile that can be seen, as of a gradient: each times 1 / (1 - p), or 0.
// Callers   any lane, on its own
template <class Tile, class Key>
SMX_HD void drop(Tile& t, dropout_row<Key> const& kept) {
    static_assert(!Tile::is_stored, "a tile with kept::stored holds no numbers to be dropped: write kept::weights");
    if (!kept.drops) return;
    if (kept.template are_counters<Tile::vec>(t.pack_column(0))) {
        t.for_live_packs([&](int p, typename Tile::held_pack& held) { kept.apply_counters(held, t.pack_column(p)); });
    } else {
        t.for_live_packs([&](int p, typename Tile::held_pack& held) {
            if (t.touches_seen(p)) kept.apply(held, t.pack_column(p));
        });
    }
    if (!t.has_edges()) return;
    int const edges = t.edges_to_visit();
    SMX_UNROLL
    for (int i = 0; i < edges; ++i) {
        pack<typename Tile::compute, 1> one{{t.edge[i]}};
        if (t.edge_is_seen(t.edge_column(i))) kept.apply(one, t.edge_column(i));
        t.edge[i] = one[0];
    }
}

SMX_END
