// What a mask selects, without what it adds: for passes over probabilities and gradients, where what is hidden counts as 0.
#pragma once
#include "../load.hpp"
#include "../mask.hpp"

SMX_BEGIN

namespace detail {

// A row mask that hides what another hides, by bits alone: a bias of -inf is asked for and no bias is added.
template <class Seen, class Compute>
struct selecting_row {
    Seen seen;

    static constexpr bool tests = true;
    static constexpr bool spans_row = smx::spans_row<Seen>;
    static constexpr bool answers_from_packs = smx::answers_from_packs<Seen>;

    SMX_HD interval span() const { return seen.span(); }

    template <int Width>
    SMX_HD auto fetch(int col) const {
        return fetch_of<Width>(seen, col);
    }
    template <int Width>
    SMX_HD auto packs_from(int col) const {
        return packs_of_mask<Width>(seen, col);
    }
    template <int Width>
    static SMX_HD auto hiding() {
        return hiding_of<Width, Seen>();
    }

    template <int Width, class Fetched = nothing_fetched>
    SMX_HD unsigned visible(int col, Fetched const& fetched = {}) const {
        unsigned bits = ~0u;
        if constexpr (mask_tests<Seen>) bits = visible_of<Width>(seen, col, fetched);
        pack<Compute, Width> biases = filled_pack<Width>(Compute(0));
        add_of(seen, biases, col, fetched);
        SMX_UNROLL
        for (int i = 0; i < Width; ++i) bits &= ~(static_cast<unsigned>(is_hiding(biases[i])) << i);
        return bits;
    }
};

}  // namespace detail

// A row mask as one that adds nothing; itself, if it does not.
// Gives     the same span and visible columns; hidden too where a bias is -inf
template <class Compute, class Seen>
SMX_HD decltype(auto) without_biases(Seen const& seen) {
    if constexpr (mask_biases<Seen>) {
        return detail::selecting_row<Seen, Compute>{seen};
    } else {
        return (seen);
    }
}

// What a row sees of the columns of a tile: its mask is asked once, for any number of tiles with the same map.
template <class Tile, class Seen>
class selection {
public:
    using compute = typename Tile::compute;
    static_assert(Tile::sees_parts || spans_row<Seen>,
                  "a tile with hidden_packs::all_or_none is for masks whose span is the row or nothing: write hidden_packs::skipped or computed, or "
                  "give the row mask spans_row");

    // Requires  t was loaded with the span of the row, and with what the mask reads ahead
    // Callers   any lane, on its own
    SMX_HD void ask([[maybe_unused]] Tile const& t, [[maybe_unused]] read_ahead<Tile, Seen> const& ahead) {
        if constexpr (asks) {
            auto const& seen = smx::without_biases<compute>(ahead.seen);
            if constexpr (Tile::packs <= 16) {  // or compilers warn of packs that are not live, at which nobody looks
                SMX_UNROLL
                for (unsigned& one : bits_) one = 0;
            }
            t.for_live_registers([&](int p) {
                bits_[p] = 0;
                if constexpr (read_ahead<Tile, Seen>::fetches) {
                    if (answers_from_packs<Seen> || t.touches_seen(p)) bits_[p] = detail::visible_of<Tile::vec>(seen, t.pack_column(p), ahead.fetched[p]);
                } else {
                    if (t.touches_seen(p)) bits_[p] = detail::visible_of<Tile::vec>(seen, t.pack_column(p), detail::nothing_fetched());
                }
            });
            if (!t.has_edges()) return;
            int const edges = t.edges_to_visit();
            SMX_UNROLL
            for (int i = 0; i < edges; ++i) {
                int const col = t.edge_column(i);
                edges_[i] = t.edge_is_seen(col) && (detail::visible_of<1>(seen, col, detail::nothing_fetched()) & 1u) != 0;
            }
        }
    }

    // Hidden values become 0, in a tile with the same map.
    // Requires  ask()
    // Callers   any lane, on its own
    template <class Cleared>
    SMX_HD void clear(Cleared& t) const {
        using held_pack = typename Cleared::held_pack;
        constexpr bool has_zeros = detail::loads_zeros<Cleared>;  // in what was not loaded
        if constexpr (Tile::sees_parts) detail::hide_beyond_ends(t, held_pack{});
        if constexpr (asks || !has_zeros) {
            t.for_live_registers([&](int p) {
                if constexpr (asks) detail::keep_bits<Tile::vec>(t.middle[p], bits_[p], held_pack{});
                if constexpr (!has_zeros) {
                    if (!t.touches_seen(p)) t.middle[p] = held_pack{};
                }
            });
            clear_edges(t);
        }
    }

    // The same of numbers that belong to pack p of the tile, and of its edges.
    template <class Cleared>
    SMX_HD void clear_pack(Cleared const& t, int p, pack<compute, Tile::vec>& values) const {
        unsigned bits = Tile::sees_parts ? bits_within<Tile::vec>(t.map.seen, t.pack_column(p)) : ~0u;
        if constexpr (asks) bits &= bits_[p];
        detail::keep_bits<Tile::vec>(values, bits, pack<compute, Tile::vec>{});
    }
    template <class Cleared>
    SMX_HD void clear_edges(Cleared& t) const {
        if (!t.has_edges()) return;
        int const edges = t.edges_to_visit();
        SMX_UNROLL
        for (int i = 0; i < edges; ++i) {
            if (!shows_edge(t, i)) t.edge[i] = compute(0);
        }
    }
    template <class Cleared>
    SMX_HD bool shows_edge(Cleared const& t, int i) const {
        return asks ? edges_[i] : t.edge_is_seen(t.edge_column(i));
    }

private:
    static constexpr bool asks = mask_tests<Seen> || mask_biases<Seen>;

    unsigned bits_[asks ? Tile::packs : 1];
    bool edges_[asks && Tile::edges > 0 ? Tile::edges : 1];
};

SMX_END
