// Verb 6: write what one lane holds of a row; and what else a row can write.
#pragma once
#include "reduce.hpp"
#include "tensor.hpp"
#include "tile.hpp"

SMX_BEGIN

namespace detail {
// What normalize left of a pack to be done.
template <class Tile>
SMX_HD decltype(auto) probabilities_of(Tile const& t, typename Tile::held_pack const& held) {
    if constexpr (Tile::is_stored) {
        auto values = widen<typename Tile::compute>(held);
        SMX_UNROLL
        for (int i = 0; i < Tile::vec; ++i) values[i] = t.weigh(values[i]) * t.share + t.filling;
        return values;
    } else {
        return (held);
    }
}

// Writes values_of(p, pack) for every pack, and the edges. WorkedOut: what values_of does is long.
template <bool WorkedOut, class Tile, class Output, class Values>
SMX_HD void store_values(Tile const& t, Output const& output, row_id row, interval span, Values const& values_of) {
    using compute = typename Tile::compute;
    if constexpr (works_ahead<Output, Tile>) {
        auto now = output.template ahead<Tile>(row);
        now.fetch(t);
        return store_values<WorkedOut>(t, now, row, span, values_of);
    }
    constexpr bool keeps = hidden_policy<Output> == hidden::keep;
    auto const target = output_row(output, row);
    auto const mine = from_column(target, t.map.mine);
    auto const store_whole = [&](int p, typename Tile::held_pack const& held, bool exists) {
        if constexpr (has_whole_packs<decltype(target), Tile::vec>) {
            mine.template store_whole<Tile::vec>(exists, Tile::distance(p), values_of(p, held));
        }
    };
    auto const store_any = [&](int p, typename Tile::held_pack const& held, bool exists) {
        if (!exists) return;
        int const col = t.pack_column(p);
        auto const& values = values_of(p, held);
        if (keeps && (col < span.begin || col + Tile::vec > span.end)) {
            SMX_UNROLL
            for (int i = 0; i < Tile::vec; ++i) {
                pack<compute, 1> const one{{values[i]}};
                if (col + i >= span.begin && col + i < span.end) target.template store<1>(col + i, one);
            }
        } else {
            mine.template store<Tile::vec>(Tile::distance(p), values);
        }
    };
    // Asked once, where a lane has few packs: the answers for 8 take registers that it has not.
    constexpr bool asks_once = SMX_DEVICE_CODE && !keeps && (Tile::packs <= 4 || Tile::is_stored) && has_whole_packs<decltype(target), Tile::vec>;
    bool whole = false;
    if constexpr (asks_once) whole = mine.template takes_whole<Tile::vec>();
    if constexpr (asks_once && WorkedOut) {
        // Once for both ways.
        t.for_all_packs([&](int p, typename Tile::held_pack const& held, bool exists) {
            auto const& values = values_of(p, held);
            mine.template store_whole<Tile::vec>(exists && whole, Tile::distance(p), values);
            if (exists && !whole) mine.template store_in_pieces<Tile::vec>(Tile::distance(p), values);
        });
    } else if (whole) {
        t.for_all_packs(store_whole);
    } else {
        t.for_all_packs(store_any);
    }
    if (!t.has_edges()) return;
    int const edges = t.edges_to_visit();
    SMX_UNROLL
    for (int i = 0; i < edges; ++i) {
        int const col = t.edge_column(i);
        pack<compute, 1> const one{{t.edge[i]}};
        if (col < t.map.end && (!keeps || (col >= span.begin && col < span.end))) target.template store<1>(col, one);
    }
}
}  // namespace detail

// Writes every column the tile covers, hidden ones too. With an output that says hidden::keep, the columns outside the span are left as they
// are.
// Requires  the span that load was given
// Callers   any lane, on its own
template <class Group, class Tile, class Output>
SMX_HD void store(Group&, Tile const& t, Output const& output, row_id row, interval span) {
    detail::store_values<Tile::is_stored>(t, output, row, span, [&](int, typename Tile::held_pack const& held) -> decltype(auto) {
        return detail::probabilities_of(t, held);
    });
}

// The same of probabilities: with hidden::keep, an empty row is left as it is.
// Requires  the statistics of the whole row
template <class Group, class Tile, class Output>
SMX_HD void store(Group& g, Tile const& t, Output const& output, row_id row, interval span, statistics<typename Tile::compute> stats) {
    if (hidden_policy<Output> == hidden::keep && stats.empty()) return;
    smx::store(g, t, output, row, span);
}

// Row outputs: any value with  template <class Compute> void store(row_id, statistics<Compute>) const, called by one lane a row.
struct no_row_output {
    template <class Compute>
    SMX_HD void store(row_id, statistics<Compute>) const {}
};

// Shape     data: batch x heads x queries, packed; natural logarithm; -inf for an empty row
template <class Element>
struct log_sum_exp {
    Element* data;

    SMX_HD explicit constexpr log_sum_exp(Element* per_row) : data(per_row) {}

    template <class Compute>
    SMX_HD void store(row_id row, statistics<Compute> stats) const {
        data[row.index] = dtype<Element>::narrow(log_sum_exp_of(stats));
    }
};

SMX_END
