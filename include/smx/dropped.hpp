// Outputs and inputs that pass through a dropout.
#pragma once
#include "dropout.hpp"

SMX_BEGIN

// An output that nothing is written to.
struct no_output {
    struct row {
        template <int Width, class Compute>
        SMX_HD void store(int, pack<Compute, Width> const&) const {}
        template <int Width>
        static SMX_HD bool takes_whole() {
            return true;
        }
        template <int Width, class Compute>
        SMX_HD void store_whole(bool, int, pack<Compute, Width> const&) const {}
        template <int Width, class Compute>
        SMX_HD void store_in_pieces(int, pack<Compute, Width> const&) const {}
        SMX_HD row from(int) const { return {}; }
    };
    SMX_HD row bind(row_id) const { return {}; }
};

namespace detail {

template <class Row, class Undropped, class Kept>
struct dropped_output_row {
    Row row;
    Undropped undropped;
    Kept kept;

    template <int Width, class Compute>
    SMX_HD void store(int col, pack<Compute, Width> const& values) const {
        undropped.template store<Width>(col, values);
        pack<Compute, Width> some = values;
        kept.apply(some, col);
        row.template store<Width>(col, some);
    }
};

// The packs of a lane of a tile, from its first one on; which columns they keep was drawn.
template <class Row, class Undropped, class Kept, class Tile>
struct drawn_packs {
    Row row;
    Undropped undropped;
    Kept const& kept;
    drawn_columns<Tile> const& drawn;
    int first;  // column 0 of row and undropped

    template <int Width, class First = Row, class Second = Undropped>
    SMX_HD auto takes_whole() const -> decltype(some<First>().template takes_whole<Width>() && some<Second>().template takes_whole<Width>()) {
        return row.template takes_whole<Width>() && undropped.template takes_whole<Width>();
    }
    template <int Width, class Compute>
    SMX_HD void store_whole(bool wanted, int col, pack<Compute, Width> const& values) const {
        undropped.template store_whole<Width>(wanted, col, values);
        row.template store_whole<Width>(wanted, col, dropped(col, values));
    }
    template <int Width, class Compute>
    SMX_HD void store_in_pieces(int col, pack<Compute, Width> const& values) const {
        undropped.template store_in_pieces<Width>(col, values);
        row.template store_in_pieces<Width>(col, dropped(col, values));
    }
    template <int Width, class Compute>
    SMX_HD void store(int col, pack<Compute, Width> const& values) const {
        undropped.template store<Width>(col, values);
        row.template store<Width>(col, dropped(col, values));
    }

private:
    template <int Width, class Compute>
    SMX_HD pack<Compute, Width> dropped(int col, pack<Compute, Width> values) const {
        static_assert(Width == Tile::vec, "what was drawn is asked for by packs");
        int const p = col / Tile::distance(1);
        if (p < Tile::packs) {
            kept.apply_bits(values, drawn.of_pack(p));
        } else {
            kept.apply(values, first + col);
        }
        return values;
    }
};

template <class Dropped, class Tile>
struct drawn_output_row {
    Dropped const& whole;
    drawn_columns<Tile> const& drawn;

    template <int Width, class Compute>
    SMX_HD void store(int col, pack<Compute, Width> const& values) const {
        whole.template store<Width>(col, values);
    }
    SMX_HD auto from(int col) const {
        return packs(from_column(whole.row, col), from_column(whole.undropped, col), whole.kept, col);
    }

private:
    template <class Row, class Undropped, class Kept>
    SMX_HD drawn_packs<Row, Undropped, Kept, Tile> packs(Row const& row, Undropped const& undropped, Kept const& kept, int first) const {
        return {row, undropped, kept, drawn, first};
    }
};

// An output behind a dropout for one tile of one row, whose columns are drawn when it covers them.
template <class Output, class Tile>
class drawn_output {
public:
    static constexpr hidden when_hidden = hidden_policy<Output>;

    SMX_HD drawn_output(Output const& output, row_id id) : row_(output.bind(id)) {}
    SMX_HD void fetch(Tile const& t) { drawn_.draw(t, row_.kept); }
    SMX_HD auto bind(row_id) const { return drawn_output_row<row_type, Tile>{row_, drawn_}; }

private:
    using row_type = decltype(some<Output>().bind(some<row_id>()));
    row_type row_;
    drawn_columns<Tile> drawn_;
};

// What a dropout keeps of an input, of which a tile is loaded beside Tile.
template <class Kept, class Tile>
class drawn_input {
public:
    SMX_HD explicit drawn_input(Kept const& row) : kept_(row) {}
    SMX_HD void fetch(Tile const& t) { drawn_.draw_seen(t, kept_); }
    template <class Beside>
    SMX_HD void drop(Beside& t) const {
        smx::drop(t, kept_, drawn_);
    }

private:
    Kept kept_;
    drawn_columns<Tile> drawn_;
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

    template <class Tile>
    SMX_HD auto ahead(row_id id) const {
        return detail::drawn_output<dropped_output, Tile>(*this, id);
    }
    SMX_HD auto bind(row_id id) const {
        using row = decltype(detail::output_row(output, id));
        using undropped_row = decltype(detail::output_row(undropped, id));
        using kept_type = decltype(dropout.bind(id));
        return detail::dropped_output_row<row, undropped_row, kept_type>{detail::output_row(output, id), detail::output_row(undropped, id), dropout.bind(id)};
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
    SMX_HD auto ahead(row_id id) const {
        return detail::drawn_input<decltype(dropout.bind(id)), Tile>(dropout.bind(id));
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
