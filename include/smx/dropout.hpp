// Dropout: which columns of a row are kept, drawn from a counter, and the outputs and inputs that pass through it.
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
    // Cost      one counter for 8 columns that begin at a multiple of 8; one more where they begin elsewhere
    template <int Width, class Compute>
    SMX_HD void apply(pack<Compute, Width>& values, int col) const {
        constexpr int at_once = Width < 8 ? Width : 8;
        if (!drops) return;
        Compute const by = scale.template value<Compute>(row_id());
        SMX_UNROLL
        for (int c = 0; c < Width; c += at_once) {
            auto const drawn = draws<at_once>(static_cast<unsigned>(col + c));
            SMX_UNROLL
            for (int i = 0; i < at_once; ++i) {
                Compute const kept = rounded_product(values[c + i], by);
                values[c + i] = drawn.is_above(i, last) ? kept : Compute(0);  // a choice: what is dropped may be NaN
            }
        }
    }

private:
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
    t.for_live_packs([&](int p, typename Tile::held_pack& held) {
        if (t.touches_seen(p)) kept.apply(held, t.pack_column(p));
    });
    if (!t.has_edges()) return;
    int const edges = t.edges_to_visit();
    SMX_UNROLL
    for (int i = 0; i < edges; ++i) {
        pack<typename Tile::compute, 1> one{{t.edge[i]}};
        if (t.edge_is_seen(t.edge_column(i))) kept.apply(one, t.edge_column(i));
        t.edge[i] = one[0];
    }
}

// An output that nothing is written to.
struct no_output {
    template <int Width, class Compute>
    SMX_HD void store(row_id, int, pack<Compute, Width> const&) const {}
};

namespace detail {

template <class Row, class Undropped, class Kept>
struct dropped_output_row {
    Row row;
    Undropped undropped;
    Kept kept;
    int first;  // column 0 of row and undropped

    template <int Width, class Compute>
    SMX_HD void store(int col, pack<Compute, Width> const& values) const {
        undropped.template store<Width>(col, values);
        pack<Compute, Width> some = values;
        kept.apply(some, first + col);
        row.template store<Width>(col, some);
    }
    SMX_HD auto from(int col) const {
        using row_type = decltype(from_column(row, col));
        using undropped_type = decltype(from_column(undropped, col));
        return dropped_output_row<row_type, undropped_type, Kept>{from_column(row, col), from_column(undropped, col), kept, first + col};
    }
};

template <class Input, class = void>
inline constexpr bool has_compute = false;
template <class Input>
inline constexpr bool has_compute<Input, always_void<typename Input::compute>> = true;

}  // namespace detail

// An output behind a dropout; what comes before it goes to another, if there is one.
template <class Output, class Dropout, class Undropped = no_output>
struct dropped_output {
    Output output;
    Dropout dropout;
    Undropped undropped;

    static constexpr hidden when_hidden = hidden_policy<Output>;
    static_assert(!wants_logarithms<Output> && !wants_logarithms<Undropped>, "a dropout makes probabilities 0, which no logarithm of theirs is");
    static_assert(same_type<Undropped, no_output> || hidden_policy<Undropped> == when_hidden, "both outputs leave what is hidden, or neither does");

    SMX_HD auto bind(row_id id) const {
        using row = decltype(detail::output_row(output, id));
        using undropped_row = decltype(detail::output_row(undropped, id));
        using kept_type = decltype(dropout.bind(id));
        return detail::dropped_output_row<row, undropped_row, kept_type>{detail::output_row(output, id), detail::output_row(undropped, id), dropout.bind(id), 0};
    }
};

// A gradient that came through a dropout: loaded as it is, and dropped in its tile, where its columns are known.
template <class Input, class Dropout>
struct dropped_input {
    Input input;
    Dropout dropout;

    using compute = typename Input::compute;
    static constexpr int pack_columns = pack_columns_of<Input>;

    SMX_HD auto bind(row_id id) const { return detail::input_row(input, id); }
    template <class Tile>
    SMX_HD void drop(Tile& t, row_id row) const {
        smx::drop(t, dropout.bind(row));
    }
};

template <class Part>
inline constexpr bool is_dropped = false;
template <class Output, class Dropout, class Undropped>
inline constexpr bool is_dropped<dropped_output<Output, Dropout, Undropped>> = true;
template <class Input, class Dropout>
inline constexpr bool is_dropped<dropped_input<Input, Dropout>> = true;

// Probabilities that are stored behind a dropout, or the gradient of such: dropped(probabilities(y), dropout(0.1, seed, offset)), and in the backward
// pass dropped(incoming_gradients(dy), ...) of the same numbers. The gradient is of what was stored; y of the backward pass is what it was before.
template <class Part, class Seed>
SMX_HD constexpr auto dropped(Part const& part, dropout_by<Seed> const& by) {
    if constexpr (detail::has_compute<Part>) {
        return dropped_input<Part, dropout_by<Seed>>{part, by};
    } else {
        return dropped_output<Part, dropout_by<Seed>>{part, by, {}};
    }
}
// The same, and the probabilities before it are stored too: dropped(probabilities(y), dropout(...), probabilities(saved)).
template <class Output, class Seed, class Undropped>
SMX_HD constexpr auto dropped(Output const& output, dropout_by<Seed> const& by, Undropped const& undropped) {
    return dropped_output<Output, dropout_by<Seed>, Undropped>{output, by, undropped};
}

SMX_END
