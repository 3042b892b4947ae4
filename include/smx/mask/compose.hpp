// Masks that compose: both, either, and what two of them read ahead.
#pragma once
#include "../mask.hpp"

SMX_BEGIN

namespace detail {

template <class First, class Second>
struct fetched_both {
    First first;
    Second second;
};
using fetched_none = fetched_both<nothing_fetched, nothing_fetched>;

template <int Width, class First, class Second>
SMX_HD auto fetch_both(First const& first, Second const& second, int col) {
    if constexpr (mask_fetches<First, Width> || mask_fetches<Second, Width>) {
        return fetched_both<decltype(fetch_of<Width>(first, col)), decltype(fetch_of<Width>(second, col))>{fetch_of<Width>(first, col),
                                                                                                           fetch_of<Width>(second, col)};
    } else {
        return nothing_fetched();
    }
}

template <int Width, class First, class Second>
SMX_HD auto hiding_of_both() {
    if constexpr (mask_fetches<First, Width> || mask_fetches<Second, Width>) {
        return fetched_both<decltype(hiding_of<Width, First>()), decltype(hiding_of<Width, Second>())>{hiding_of<Width, First>(),
                                                                                                      hiding_of<Width, Second>()};
    } else {
        return nothing_fetched();
    }
}

template <class First, class Second>
struct packs_of_both {
    First first;
    Second second;
    SMX_HD bool aligned() const { return first.aligned() && second.aligned(); }
    SMX_HD auto fetch_aligned(int distance) const {
        return fetched_both<decltype(first.fetch_aligned(0)), decltype(second.fetch_aligned(0))>{first.fetch_aligned(distance),
                                                                                              second.fetch_aligned(distance)};
    }
    template <class A = First, class B = Second>
    SMX_HD auto fetch(int distance) const -> fetched_both<decltype(some<A>().fetch(0)), decltype(some<B>().fetch(0))> {
        return {first.fetch(distance), second.fetch(distance)};
    }
};
template <int Width, class First, class Second>
SMX_HD auto packs_from_both(First const& first, Second const& second, int col) {
    using packs = packs_of_both<decltype(packs_of_mask<Width>(first, col)), decltype(packs_of_mask<Width>(second, col))>;
    return packs{packs_of_mask<Width>(first, col), packs_of_mask<Width>(second, col)};
}

// Two masks that are bound to the same row and answer for it together, as a Row.
template <template <class, class> class Row, class First, class Second>
struct mask_pair {
    First first;
    Second second;

    SMX_HD auto bind(row_id id, extents shape) const {
        auto a = first.bind(id, shape);
        auto b = second.bind(id, shape);
        return Row<decltype(a), decltype(b)>{a, b};
    }
};

template <class FirstRow, class SecondRow>
struct both_row {
    FirstRow first;
    SecondRow second;

    static constexpr bool tests = mask_tests<FirstRow> || mask_tests<SecondRow>;
    static constexpr bool biases = mask_biases<FirstRow> || mask_biases<SecondRow>;
    static constexpr bool spans_row = smx::spans_row<FirstRow> && smx::spans_row<SecondRow>;
    static constexpr bool answers_from_packs = smx::answers_from_packs<FirstRow> && smx::answers_from_packs<SecondRow>;
    static constexpr bool fetches_without_jumps = smx::fetches_without_jumps<FirstRow> || smx::fetches_without_jumps<SecondRow>;

    SMX_HD interval span() const { return overlap(first.span(), second.span()); }

    template <int Width>
    SMX_HD auto fetch(int col) const {
        return detail::fetch_both<Width>(first, second, col);
    }

    template <int Width>
    SMX_HD auto packs_from(int col) const {
        return detail::packs_from_both<Width>(first, second, col);
    }

    template <int Width>
    static SMX_HD auto hiding() {
        return detail::hiding_of_both<Width, FirstRow, SecondRow>();
    }

    template <int Width, class Fetched = detail::fetched_none>
    SMX_HD unsigned visible(int col, Fetched const& fetched = {}) const {
        unsigned bits = ~0u;
        if constexpr (mask_tests<FirstRow>) bits &= detail::visible_of<Width>(first, col, fetched.first);
        if constexpr (mask_tests<SecondRow>) bits &= detail::visible_of<Width>(second, col, fetched.second);
        return bits;
    }

    template <int Width, class Compute, class Fetched = detail::fetched_none>
    SMX_HD void add_to(pack<Compute, Width>& scores, int col, Fetched const& fetched = {}) const {
        if constexpr (mask_biases<FirstRow> && mask_biases<SecondRow>) {
            // The sum of both first: -inf in either of them hides, whatever the other is.
            pack<Compute, Width> total = filled_pack<Width>(Compute(0)), more = total;
            detail::add_of(first, total, col, fetched.first);
            detail::add_of(second, more, col, fetched.second);
            SMX_UNROLL
            for (int i = 0; i < Width; ++i)
                scores[i] = detail::biased(scores[i], detail::is_hiding(total[i]) ? total[i] : detail::biased(total[i], more[i]));
        } else if constexpr (mask_biases<FirstRow>) {
            detail::add_of(first, scores, col, fetched.first);
        } else {
            detail::add_of(second, scores, col, fetched.second);
        }
    }
};

template <class FirstRow, class SecondRow>
struct either_row {
    static_assert(!mask_biases<FirstRow> && !mask_biases<SecondRow>,
                  "a bias is added, it cannot be one of two ways to be visible: write both(bias, either(a, b))");
    FirstRow first;
    SecondRow second;

    static constexpr bool tests = true;
    static constexpr bool spans_row = smx::spans_row<FirstRow> && smx::spans_row<SecondRow>;

    SMX_HD interval span() const { return hull(first.span(), second.span()); }

    template <int Width>
    SMX_HD unsigned visible(int col) const {
        return bits_of<Width>(first, col) | bits_of<Width>(second, col);
    }

    // Only packs that touch its own span may be asked of a part.
    template <int Width, class Part>
    static SMX_HD unsigned bits_of(Part const& part, int col) {
        unsigned bits = bits_within<Width>(part.span(), col);
        if constexpr (mask_tests<Part>) {
            if (bits != 0) bits &= part.template visible<Width>(col);
        }
        return bits;
    }
};

}  // namespace detail

// Visible where both are; biases of both are added. Write both(a, b, ...).
template <class First, class Second>
struct both_mask : detail::mask_pair<detail::both_row, First, Second> {};

// Visible where one of them is. Write either(a, b, ...).
template <class First, class Second>
struct either_mask : detail::mask_pair<detail::either_row, First, Second> {};

template <class First, class Second>
SMX_HD both_mask<First, Second> both(First first, Second second) {
    return {{first, second}};
}
template <class First, class Second, class Third, class... Rest>
SMX_HD auto both(First first, Second second, Third third, Rest... rest) {
    return smx::both(smx::both(first, second), third, rest...);
}

template <class First, class Second>
SMX_HD either_mask<First, Second> either(First first, Second second) {
    return {{first, second}};
}
template <class First, class Second, class Third, class... Rest>
SMX_HD auto either(First first, Second second, Third third, Rest... rest) {
    return smx::either(smx::either(first, second), third, rest...);
}

SMX_END
