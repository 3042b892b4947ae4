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
//                                                     about any pack, with hiding<Width>() for one that was not fetched, or zeros
//   template <int Width> static auto hiding();        what fetch would give where all columns are hidden; absent: zeros, for scores that are -inf
//   template <int Width> auto packs_from(int col) const;  see mask/read_ahead.hpp
#pragma once
#include "mask/read_ahead.hpp"
#include "pack.hpp"
#include "row_id.hpp"
#include "tile.hpp"
#include "traits.hpp"

SMX_BEGIN

// The lowest n bits, 0 <= n <= Width.
template <int Width>
SMX_HD unsigned bits_below(int n) {
    return Width < 32 ? ~(~0u << n) : static_cast<unsigned>((1ull << n) - 1u);
}

// Bit i = column col + i lies in the span.
template <int Width>
SMX_HD unsigned bits_within(interval span, int col) {
    auto const place = [col](int end) { return end <= col ? 0 : end - col >= Width ? Width : end - col; };
    return bits_below<Width>(place(span.end)) & ~bits_below<Width>(place(span.begin));
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

// What stands for hidden scores.
template <class Compute, int Width>
SMX_HD pack<Compute, Width> nothing_of(pack<Compute, Width> const&) {
    return filled_pack<Width>(neg_inf<Compute>());
}
template <class Stored, int Width>
SMX_HD raw_pack<Stored, Width> nothing_of(raw_pack<Stored, Width> const&) {
    return hidden_scores<raw_pack<Stored, Width>>();
}

template <int Width, class Compute>
SMX_HD void keep_bits(pack<Compute, Width>& scores, unsigned bits, pack<Compute, Width> const& nothing) {
    SMX_UNROLL
    for (int i = 0; i < Width; ++i) scores[i] = bits >> i & 1u ? scores[i] : nothing[i];
}

template <int Width, class Stored>
SMX_HD void keep_bits(raw_pack<Stored, Width>& scores, unsigned bits, raw_pack<Stored, Width> const& nothing) {
#if SMX_DEVICE_CODE
    if constexpr (sizeof(Stored) == 2 && Width % 2 == 0 && Width <= 16) {
        // The bits of a pair are brought to the signs of its halves, then spread over them: bit 2i to 15, bit 2i + 1 to 31.
        unsigned const asked = bits & all_bits<Width>, apart = asked | asked << 15;
        SMX_UNROLL
        for (int i = 0; i < Width / 2; ++i) {
            unsigned const kept = ptx::signs_spread(apart << (15 - 2 * i));
            scores.units[i] = (scores.units[i] & kept) | (nothing.units[i] & ~kept);
        }
        return;
    }
#endif
    scores = raw_pack<Stored, Width>::of([&](int i) { return bits >> i & 1u ? scores[i] : nothing[i]; });
}

// What a mask says of columns of its span; the scores wait to be multiplied where biases are added.
template <int Width, class Held, class Compute, class Seen, class Fetched>
SMX_HD void ask(Held& scores, Compute by, Seen const& seen, int col, Fetched const& fetched) {
    if constexpr (mask_biases<Seen>) {
        SMX_UNROLL
        for (int i = 0; i < Width; ++i) scores[i] *= by;  // the compiler may make one operation of it and of the bias
        add_of(seen, scores, col, fetched);
    }
    if constexpr (mask_tests<Seen>) keep_bits<Width>(scores, visible_of<Width>(seen, col, fetched), nothing_of(scores));
}

template <class Tile, class Seen>
SMX_HD void ask_tile(Tile& t, Seen const& seen, typename read_ahead<Tile, Seen>::fetched_type const* fetched) {
    using compute = typename Tile::compute;
    compute by = compute(1);
    if constexpr (mask_biases<Seen>) by = t.take_factor();
    t.for_live_packs([&](int p, typename Tile::held_pack& held) {
        int const col = t.pack_column(p);
        if constexpr (read_ahead<Tile, Seen>::fetches) {
            // Packs that were not fetched too, where the answer hides them: no jump round them.
            if (fetched != nullptr && (answers_from_packs<Seen> || t.touches_seen(p))) return ask<Tile::vec>(held, by, seen, col, fetched[p]);
        }
        if (t.touches_seen(p)) {
            ask<Tile::vec>(held, by, seen, col, nothing_fetched());
        } else if constexpr (Tile::awaits_bias) {
            held = filled_pack<Tile::vec>(neg_inf<compute>());
        }
    });
    if (!t.has_edges()) return;
    int const edges = t.edges_to_visit();
    SMX_UNROLL
    for (int i = 0; i < edges; ++i) {
        int const col = t.edge_column(i);
        pack<compute, 1> one{{Tile::awaits_bias && !t.edge_is_seen(col) ? neg_inf<compute>() : t.edge[i]}};
        if (t.edge_is_seen(col)) ask<1>(one, by, seen, col, nothing_fetched());
        t.edge[i] = one[0];
    }
}

// A pack is loaded whole: what it has beyond an end of the span.
template <class Tile>
SMX_HD void hide_beyond_ends(Tile& t, typename Tile::held_pack const& nothing) {
    if (!t.holds_end()) return;
    int const packs = t.packs_to_visit();
    auto const hide = [&](int p, typename Tile::held_pack& held) {
        if (t.touches_seen(p) && !t.within_seen(p)) keep_bits<Tile::vec>(held, bits_within<Tile::vec>(t.map.seen, t.pack_column(p)), nothing);
    };
    SMX_UNROLL
    for (int p = 0; p < packs; ++p) hide(p, t.middle[p]);
    t.for_packs_behind(hide);
}

template <class Tile, class Seen>
SMX_HD void mask_tile(Tile& t, Seen const& seen, typename read_ahead<Tile, Seen>::fetched_type const* fetched) {
    static_assert(Tile::sees_parts || spans_row<Seen>,
                  "a tile with hidden_packs::all_or_none is for masks whose span is the row or nothing: write hidden_packs::skipped or computed, or "
                  "give the row mask spans_row");
    static_assert(!Tile::is_stored || !mask_biases<Seen>, "a tile with kept::stored is for masks that do not add: write kept::weights");
    static_assert(!Tile::awaits_bias || mask_biases<Seen>, "a tile with product::until_biased is for masks that add: write product::until_weighed");
    if constexpr (mask_tests<Seen> || mask_biases<Seen>) ask_tile(t, seen, fetched);
    if constexpr (Tile::sees_parts) hide_beyond_ends(t, nothing_of(t.middle[0]));
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
    t.rest = compute(1);
    t.for_live_packs([&](int, typename Tile::held_pack& held) { held = filled_pack<Tile::vec>(nothing); });
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
