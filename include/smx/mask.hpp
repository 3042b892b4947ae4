// Verb 3: hide what a row cannot see, and add what is added to its scores. Masks that compose: mask/compose.hpp.
//
// A mask is any value with  bind(row_id, extents) const, which works out once what one row sees and gives a row mask:
//   interval span() const;                            superset of the visible columns, within [0, keys); exact unless it tests
//   static constexpr bool tests;                      absent = false
//   template <int Width> unsigned visible(int col) const; bit i = column col + i is visible; asked for packs within [0, keys) that touch the span;
//                                                     bits outside the span are ignored
//   static constexpr bool spans_row;                  absent = false; true: span() is always the whole row or nothing
//   static constexpr bool biases;                     absent = false
//   template <int Width, class Compute> void add_to(pack<Compute, Width>&, int col) const;   same packs; -inf hides
// One that reads memory may also have
//   template <int Width> auto fetch(int col) const;   what it will need of a pack, read while the scores are on their way
// and then takes it as a last argument of visible and add_to. And if it fetches,
//   static constexpr bool answers_from_packs;         absent = false; true: visible and add_to look at nothing else, so that they may be asked
//                                                     about any pack, with zeros for one that was not fetched, whose scores are -inf
//   template <int Width> auto packs_from(int col) const;  see mask/read_ahead.hpp
#pragma once
#include "mask/read_ahead.hpp"
#include "pack.hpp"
#include "row_id.hpp"
#include "tile.hpp"
#include "traits.hpp"

SMX_BEGIN

template <int Width>
inline constexpr unsigned all_bits = Width >= 32 ? ~0u : (1u << (Width % 32)) - 1u;

// Bit i = column col + i lies in the span.
template <int Width>
SMX_HD unsigned bits_within(interval span, int col) {
    int const from = span.begin - col, to = span.end - col;
    unsigned const above = from <= 0 ? ~0u : from >= 32 ? 0u : ~0u << from;
    unsigned const below = to >= 32 ? ~0u : to <= 0 ? 0u : ~(~0u << to);
    return above & below & all_bits<Width>;
}

namespace detail {

// A score and a bias; a bias of -inf selects, also over a NaN.
template <class Compute>
SMX_HD bool is_hiding(Compute bias) {
    return bias == neg_inf<Compute>();
}
template <class Compute>
SMX_HD Compute biased(Compute score, Compute bias) {
    return is_hiding(bias) ? bias : score + bias;
}

// whole: no column is hidden by lying outside the span
template <int Width, class Seen, class Compute, class Fetched>
SMX_HD void mask_pack(pack<Compute, Width>& scores, Seen const& seen, interval span, bool whole, int col, Fetched const& fetched) {
    unsigned bits = whole ? all_bits<Width> : Width == 1 ? 0u : bits_within<Width>(span, col);
    if (bits != 0) {
        if constexpr (mask_biases<Seen>) add_of(seen, scores, col, fetched);
        if constexpr (mask_tests<Seen>) bits &= visible_of<Width>(seen, col, fetched);
    }
    if (!mask_tests<Seen> && whole) return;
    SMX_UNROLL
    for (int i = 0; i < Width; ++i) scores[i] = bits >> i & 1u ? scores[i] : neg_inf<Compute>();
}

template <class Tile, class Seen>
SMX_HD void mask_tile(Tile& t, Seen const& seen, typename read_ahead<Tile, Seen>::fetched_type const* fetched) {
    constexpr bool asks = mask_tests<Seen> || mask_biases<Seen>;
    static_assert(Tile::skips || spans_row<Seen>,
                  "a tile with hidden_packs::computed is for masks whose span is the row or nothing: write hidden_packs::skipped, or give the "
                  "row mask spans_row");
    if constexpr (!Tile::skips && !asks) return;
    if constexpr (mask_biases<Seen>) t.settle_factor();
    int const packs = t.packs_to_visit();
    int const stripes_in_use = t.stripes_to_visit();
    SMX_UNROLL
    for (int b = 0; b < stripes_in_use; ++b) {
        if (!t.is_live(b) || (!asks && t.is_whole(b))) continue;
        t.for_packs(b, packs, [&](int p) {
            int const col = t.pack_column(p);
            bool const whole = !Tile::skips || t.within_seen(p);
            // Hidden packs of a tile that does not skip are -inf already: nothing is to be asked about them, and no harm done where the answer
            // is at hand.
            bool const asked = Tile::skips || t.touches_seen(p);
            if constexpr (read_ahead<Tile, Seen>::fetches) {
                if (fetched != nullptr) {
                    if (answers_from_packs<Seen> || asked) mask_pack(t.middle[p], seen, t.map.seen, whole, col, fetched[p]);
                    return;
                }
            }
            if (asked) mask_pack(t.middle[p], seen, t.map.seen, whole, col, nothing_fetched());
        });
    }
    if (t.has_edges()) {
        interval const visible = intersection(seen.span(), {t.map.begin, t.map.end});
        int const edges = t.edges_to_visit();
        SMX_UNROLL
        for (int i = 0; i < edges; ++i) {
            int const col = t.edge_column(i);
            pack<typename Tile::compute, 1> one{{t.edge[i]}};
            mask_pack(one, seen, visible, col >= visible.begin && col < visible.end, col, nothing_fetched());
            t.edge[i] = one[0];
        }
    }
}
}  // namespace detail

// Biases are added to the scores, then hidden scores become -inf; so do the slots the row does not fill.
// Requires  t was loaded with the span of seen: what lies outside was not read
// Callers   any lane, on its own
template <class Tile, class Seen>
SMX_HD void mask(Tile& t, Seen const& seen) {
    detail::mask_tile(t, seen, nullptr);
}
template <class Tile, class Seen>
SMX_HD void mask(Tile& t, read_ahead<Tile, Seen> const& ahead) {
    detail::mask_tile(t, ahead.seen, ahead.fetched);
}

// A tile of which nothing is visible, as scores or as weights.
template <class Tile>
SMX_HD void hide_all(Tile& t) {
    using compute = typename Tile::compute;
    compute const nothing = Tile::keeps == kept::weights ? compute(0) : neg_inf<compute>();
    t.max = neg_inf<compute>();
    t.for_live_packs([&](int p) { t.middle[p] = filled_pack<Tile::vec>(nothing); });
    if (!t.has_edges()) return;
    int const edges = t.edges_to_visit();
    SMX_UNROLL
    for (int i = 0; i < edges; ++i) t.edge[i] = nothing;
}

// Everything is visible.
struct no_mask {
    struct row {
        int cols;
        static constexpr bool spans_row = true;
        SMX_HD interval span() const { return {0, cols}; }
    };
    SMX_HD row bind(row_id id, extents) const { return {id.cols}; }
};

SMX_END
