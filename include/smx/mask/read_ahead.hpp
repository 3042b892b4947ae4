// What a mask reads of memory, read while the scores are on their way.
#pragma once
#include "../memory.hpp"
#include "../tile.hpp"
#include "../traits.hpp"

SMX_BEGIN

namespace detail {

struct nothing_fetched {};

// Packs of a row in memory, from one of its columns on: whether they can be read aligned is asked once for all of them.
template <int Count, class Element>
class packs_of_row {
public:
    // exist: if not, there is nothing to be read aligned
    SMX_HD packs_of_row(Element const* first, bool exist, cache_policy policy)
        : first_(first), policy_(policy), aligned_(exist && is_aligned(first, accesses<Element, Count>::widest)) {}

    SMX_HD bool aligned() const { return aligned_; }
    // Requires  aligned()
    SMX_HD raw_pack<Element, Count> fetch_aligned(int distance) const {
        return read_repeated<Count>(in_global_memory(first_ + distance), policy_);
    }

private:
    Element const* first_;
    cache_policy policy_;
    bool aligned_;
};

}  // namespace detail

// A row mask that can read ahead what it will be asked: `template <int Width> auto fetch(int col) const` (absent: it reads when asked).
template <class Seen, int Width, class = void>
inline constexpr bool mask_fetches = false;
template <class Seen, int Width>
inline constexpr bool mask_fetches<Seen, Width, always_void<decltype(some<Seen>().template fetch<Width>(0))>> =
    !same_type<decltype(some<Seen>().template fetch<Width>(0)), detail::nothing_fetched>;

namespace detail {

// What a row mask fetches of a pack: nothing, where it does not fetch.
template <int Width, class Seen>
SMX_HD auto fetch_of(Seen const& seen, int col) {
    if constexpr (mask_fetches<Seen, Width>) {
        return seen.template fetch<Width>(col);
    } else {
        return nothing_fetched();
    }
}
// And what stands for a pack that was not fetched.
template <int Width, class Seen>
SMX_HD auto hiding_of() {
    if constexpr (has_hiding<Seen>) {
        return Seen::template hiding<Width>();
    } else {
        return decltype(fetch_of<Width>(some<Seen>(), 0)){};
    }
}
template <int Width, class Seen, class Fetched>
SMX_HD unsigned visible_of(Seen const& seen, int col, Fetched const& fetched) {
    if constexpr (same_type<Fetched, nothing_fetched>) {
        return seen.template visible<Width>(col);
    } else {
        return seen.template visible<Width>(col, fetched);
    }
}
template <class Seen, int Width, class Compute, class Fetched>
SMX_HD void add_of(Seen const& seen, pack<Compute, Width>& scores, int col, Fetched const& fetched) {
    if constexpr (same_type<Fetched, nothing_fetched>) {
        seen.add_to(scores, col);
    } else {
        seen.add_to(scores, col, fetched);
    }
}

// A row mask whose packs lie in memory has packs_from<Width>(col): the packs from that column on, of which aligned() says whether
// fetch_aligned(distance) may be asked for all of them. They may have fetch(distance) too, for any of them wherever it lies; absent: the row mask's.
template <class Seen, int Width, class = void>
inline constexpr bool has_packs_from = false;
template <class Seen, int Width>
inline constexpr bool has_packs_from<Seen, Width, always_void<decltype(some<Seen>().template packs_from<Width>(0))>> = true;

// Any other: never read aligned.
template <int Width, class Seen>
struct packs_without_address {
    SMX_HD bool aligned() const { return false; }
    SMX_HD auto fetch_aligned(int) const { return decltype(fetch_of<Width>(some<Seen>(), 0))(); }
};
// Nothing is fetched: whatever a partner asks for.
struct packs_of_nothing {
    SMX_HD bool aligned() const { return true; }
    SMX_HD nothing_fetched fetch_aligned(int) const { return {}; }
    SMX_HD nothing_fetched fetch(int) const { return {}; }
};
template <int Width, class Seen>
SMX_HD auto packs_of_mask(Seen const& seen, int col) {
    if constexpr (!mask_fetches<Seen, Width>) {
        return packs_of_nothing();
    } else if constexpr (has_packs_from<Seen, Width>) {
        return seen.template packs_from<Width>(col);
    } else {
        return packs_without_address<Width, Seen>();
    }
}

template <class Packs, class = void>
inline constexpr bool fetches_anywhere = false;
template <class Packs>
inline constexpr bool fetches_anywhere<Packs, always_void<decltype(some<Packs>().fetch(0))>> = true;

// The pack at col, which lies `distance` columns from the first of packs.
template <int Width, class Seen, class Packs>
SMX_HD auto fetch_anywhere(Seen const& seen, Packs const& packs, int col, int distance) {
    if constexpr (fetches_anywhere<Packs>) {
        return packs.fetch(distance);
    } else {
        return seen.template fetch<Width>(col);
    }
}

}  // namespace detail

// A row mask, and what it fetched for the packs of a tile while the scores were on their way: load fills it, mask uses it.
template <class Tile, class Seen>
struct read_ahead {
    using fetched_type = decltype(detail::fetch_of<Tile::vec>(some<Seen>(), 0));
    // Up to 32 elements a lane: more would take registers that more rows an SM are worth. 2048 columns of half on an H200, read when asked and
    // read ahead: a byte mask 0.805 and 0.972 of copy, a bias 0.776 and 0.974.
    static constexpr bool fetches = !same_type<fetched_type, detail::nothing_fetched> && Tile::vec * Tile::packs <= 32 && Tile::behind_packs == 0;

    // Not copied on a CPU: a copy that is read as a whole waits for the parts it was just written in (32 columns and a byte mask: 3.3 ns an element
    // became 1.9).
    chosen_type<SMX_DEVICE_CODE != 0, Seen, Seen const&> seen;
    fetched_type fetched[fetches ? Tile::packs : 1];

    SMX_HD explicit read_ahead(Seen const& bound) : seen(bound), fetched{} {}
    SMX_HD interval span() const { return seen.span(); }

    // Requires  t covers its part of the row
    SMX_HD void fetch(Tile const& t) {
        if constexpr (fetches) {
            if constexpr (has_hiding<Seen>) {  // for every chunk anew: what the one before fetched is not of this one
                SMX_UNROLL
                for (int p = 0; p < Tile::packs; ++p) fetched[p] = detail::hiding_of<Tile::vec, Seen>();
            }
            int const in_use = t.packs_to_visit();
            auto const packs = detail::packs_of_mask<Tile::vec>(seen, t.map.mine);
            if (packs.aligned()) {
                SMX_UNROLL
                for (int p = 0; p < in_use; ++p) {
                    if (t.touches_seen(p)) fetched[p] = packs.fetch_aligned(Tile::distance(p));
                }
            } else {
                SMX_UNROLL
                for (int p = 0; p < in_use; ++p) {
                    if (t.touches_seen(p)) fetched[p] = detail::fetch_anywhere<Tile::vec>(seen, packs, t.pack_column(p), Tile::distance(p));
                }
            }
        }
    }
};

SMX_END
