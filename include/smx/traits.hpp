// The few type questions smx asks, written out because <type_traits> does not exist under NVRTC and costs it half a second.
#pragma once
#include "config.hpp"

SMX_BEGIN

template <class First, class Second>
inline constexpr bool same_type = false;
template <class First>
inline constexpr bool same_type<First, First> = true;

template <class...>
using always_void = void;

template <bool Condition, class Yes, class No>
struct choice {
    using type = Yes;
};
template <class Yes, class No>
struct choice<false, Yes, No> {
    using type = No;
};
template <bool Condition, class Yes, class No>
using chosen_type = typename choice<Condition, Yes, No>::type;

// A value of a type, for decltype alone.
template <class Element>
SMX_HD Element const& some();

template <class...>
inline constexpr bool always_false = false;

// A row mask has packs to be asked about: `static constexpr bool tests = true` (absent means false).
template <class Seen, class = void>
inline constexpr bool mask_tests = false;
template <class Seen>
inline constexpr bool mask_tests<Seen, always_void<decltype(Seen::tests)>> = Seen::tests;

// A row mask adds to visible scores: `static constexpr bool biases = true` (absent means false).
template <class Seen, class = void>
inline constexpr bool mask_biases = false;
template <class Seen>
inline constexpr bool mask_biases<Seen, always_void<decltype(Seen::biases)>> = Seen::biases;

// A row mask whose span is always the whole row or nothing: `static constexpr bool spans_row = true` (absent means false).
template <class Seen, class = void>
inline constexpr bool spans_row = false;
template <class Seen>
inline constexpr bool spans_row<Seen, always_void<decltype(Seen::spans_row)>> = Seen::spans_row;

// A row mask says by hiding<Width>() what hides a whole pack as if it had been fetched.
template <class Seen, class = void>
inline constexpr bool has_hiding = false;
template <class Seen>
inline constexpr bool has_hiding<Seen, always_void<decltype(Seen::template hiding<1>())>> = true;

// A row mask some of whose fetches never jump: `static constexpr bool fetches_without_jumps = true` (absent means false).
template <class Seen, class = void>
inline constexpr bool fetches_without_jumps = false;
template <class Seen>
inline constexpr bool fetches_without_jumps<Seen, always_void<decltype(Seen::fetches_without_jumps)>> = Seen::fetches_without_jumps;

// A row mask that looks at nothing but the packs it fetched, so that it may be asked about any: `static constexpr bool answers_from_packs = true`
// (absent: true where nothing is asked). One that biases must also have hiding<Width>(), for the packs that were not fetched.
template <class Seen, class = void>
inline constexpr bool answers_from_packs = !mask_tests<Seen> && !mask_biases<Seen>;
template <class Seen>
inline constexpr bool answers_from_packs<Seen, always_void<decltype(Seen::answers_from_packs)>> =
    Seen::answers_from_packs && (!mask_biases<Seen> || has_hiding<Seen>);

SMX_END
