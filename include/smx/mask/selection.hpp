// What a mask selects, without what it adds: for passes over probabilities and gradients, where what is hidden counts as 0.
#pragma once
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

// A row mask as one that adds nothing.
// Gives     the same span and visible columns; hidden too where a bias is -inf
template <class Compute, class Seen>
SMX_HD auto without_biases(Seen const& seen) {
    if constexpr (mask_biases<Seen>) {
        return detail::selecting_row<Seen, Compute>{seen};
    } else {
        return seen;
    }
}

// What a row sees of the columns of a tile: its mask is asked once, for any number of tiles with the same map.
template <class Tile, class Seen>
class selection {
public:
    static_assert(!mask_biases<Seen>, "a selection adds nothing: write without_biases<Compute>(seen)");
    static_assert(Tile::sees_parts || spans_row<Seen>,
                  "a tile with hidden_packs::all_or_none is for masks whose span is the row or nothing: write hidden_packs::skipped or computed, or "
                  "give the row mask spans_row");

    // Requires  t was loaded with the span of the row, and with what the mask reads ahead
    // Callers   any lane, on its own
    SMX_HD void ask([[maybe_unused]] Tile const& t, [[maybe_unused]] read_ahead<Tile, Seen> const& ahead) {
        if constexpr (asks) {
            t.for_live_packs([&](int p) { bits_[p] = bits_of(t, ahead, p); });
            if (!t.has_edges()) return;
            int const edges = t.edges_to_visit();
            SMX_UNROLL
            for (int i = 0; i < edges; ++i) {
                int const col = t.edge_column(i);
                edges_[i] = t.edge_is_seen(col) && (detail::visible_of<1>(ahead.seen, col, detail::nothing_fetched()) & 1u) != 0;
            }
        }
    }

    // Hidden values of what was loaded become 0; a tile that holds terms has 0 where nothing was.
    // Requires  ask()
    // Callers   any lane, on its own
    SMX_HD void clear(Tile& t) const {
        using compute = typename Tile::compute;
        if constexpr (Tile::sees_parts) detail::hide_beyond_ends(t, compute(0));
        if constexpr (asks) {
            t.for_live_packs([&](int p) { detail::keep_bits<Tile::vec>(t.middle[p], bits_[p], compute(0)); });
            if (!t.has_edges()) return;
            int const edges = t.edges_to_visit();
            SMX_UNROLL
            for (int i = 0; i < edges; ++i) t.edge[i] = edges_[i] ? t.edge[i] : compute(0);
        }
    }

private:
    static constexpr bool asks = mask_tests<Seen>;

    static SMX_HD unsigned bits_of(Tile const& t, read_ahead<Tile, Seen> const& ahead, int p) {
        int const col = t.pack_column(p);
        if constexpr (read_ahead<Tile, Seen>::fetches) {
            if (answers_from_packs<Seen> || t.touches_seen(p)) return detail::visible_of<Tile::vec>(ahead.seen, col, ahead.fetched[p]);
        } else {
            if (t.touches_seen(p)) return detail::visible_of<Tile::vec>(ahead.seen, col, detail::nothing_fetched());
        }
        return 0;
    }

    unsigned bits_[asks ? Tile::packs : 1];
    bool edges_[asks && Tile::edges > 0 ? Tile::edges : 1];
};

SMX_END
