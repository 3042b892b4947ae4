// Probabilities made again from the scores and their log-sum-exp: for a backward pass of rows whose probabilities were not kept.
#pragma once
#include "mask.hpp"
#include "normalize.hpp"
#include "scale.hpp"
#include "tensor.hpp"

SMX_BEGIN

// Scores as an input, with what makes probabilities of them once they are loaded.
// Shape     sums: batch x heads x queries, packed; natural logarithm; -inf for an empty row, as log_sum_exp writes them
template <class Input, class Sum>
struct recomputed_input {
    Input scores;
    Sum const* sums;

    using compute = typename Input::compute;
    static constexpr int pack_columns = pack_columns_of<Input>;

    SMX_HD auto bind(row_id id) const { return detail::input_row(scores, id); }

    // The scores in t become exp(score - log-sum-exp), by the verbs of the forward pass; a row whose log-sum-exp is -inf is 0.
    // Requires  t holds scores, loaded with seen
    // Callers   any lane, on its own
    // Cost      no reduction
    template <class Tile, class Seen>
    SMX_HD void make_probabilities(Tile& t, typename Tile::compute factor, Seen const& seen, row_id row) const {
        using wide = typename Tile::compute;
        smx::scale(t, factor);
        smx::mask(t, seen);
        wide const sum = static_cast<wide>(dtype<Sum>::widen(sums[row.index]));
        smx::normalize(t, statistics<wide>{sum, sum == neg_inf<wide>() ? wide(0) : wide(1)}, empty_row::zeros, row.cols);
    }
};

template <class Input>
inline constexpr bool is_recomputed = false;
template <class Input, class Sum>
inline constexpr bool is_recomputed<recomputed_input<Input, Sum>> = true;

template <class Input, class Sum>
inline constexpr int element_bytes_of<recomputed_input<Input, Sum>, void> = element_bytes_of<Input>;

namespace detail {

// What y waits in beside a tile of terms: another, or where it is made from scores, a tile of those.
template <class Tile, class Input>
using tile_of_y = chosen_type<is_recomputed<Input>,
                              tile<Tile::lanes, Tile::vec, Tile::packs, typename Tile::compute, kept::scores,
                                   !Tile::sees_parts ? hidden_packs::all_or_none : Tile::skips ? hidden_packs::skipped : hidden_packs::computed,
                                   product::until_weighed, typename Tile::compute, Tile::fills_packs ? row_ends::in_packs : row_ends::single>,
                              Tile>;

}  // namespace detail

SMX_END
