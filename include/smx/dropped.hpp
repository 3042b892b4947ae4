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
    int first;  // column 0 of row and undropped

    template <int Width, class Compute>
    SMX_HD void store(int col, pack<Compute, Width> const& values) const {
        undropped.template store<Width>(col, values);
        pack<Compute, Width> some = values;
        kept.apply(some, first + col);
        row.template store<Width>(col, some);
    }
    // Where all packs of a lane are whole counters, too. Not there, where one of the rows does not say.
    template <int Width, class First = Row, class Second = Undropped>
    SMX_HD auto takes_whole() const -> decltype(some<First>().template takes_whole<Width>() && some<Second>().template takes_whole<Width>()) {
        return row.template takes_whole<Width>() && undropped.template takes_whole<Width>() && Kept::template are_counters<Width>(first);
    }
    template <int Width, class Compute>
    SMX_HD void store_whole(bool wanted, int col, pack<Compute, Width> const& values) const {
        undropped.template store_whole<Width>(wanted, col, values);
        pack<Compute, Width> some = values;
        kept.apply_counters(some, first + col);
        row.template store_whole<Width>(wanted, col, some);
    }
    template <int Width, class Compute>
    SMX_HD void store_in_pieces(int col, pack<Compute, Width> const& values) const {
        store<Width>(col, values);
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
