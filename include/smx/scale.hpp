// Verb 2: multiply the scores by a factor; and where that factor comes from.
#pragma once
#include "math.hpp"
#include "tile.hpp"

SMX_BEGIN

// Factors up to here can wait until the difference of two scores: times log2 e they are still finite.
template <class Real>
SMX_HD constexpr Real largest_waiting_factor() {
    if constexpr (sizeof(Real) == 8) {
        return bit_cast<Real>(0x7fd0000000000000ull);  // 2^1022
    } else {
        return bit_cast<Real>(0x7e800000u);  // 2^126
    }
}

// And from here: a difference that overflows to -inf would still weigh 0 (exp(-256), of doubles exp(-4096)).
template <class Real>
SMX_HD constexpr Real smallest_waiting_factor() {
    if constexpr (sizeof(Real) == 8) {
        return bit_cast<Real>(0x00b0000000000000ull);  // 2^-1012
    } else {
        return bit_cast<Real>(0x03800000u);  // 2^-120
    }
}

// A factor as the product of two: one that turns a stored score into another, exactly or so that no weight is the other for it, and one that can
// wait.
template <class Real>
struct split_factor {
    Real for_stored, waiting;

    SMX_HD explicit split_factor(Real factor) : for_stored(factor), waiting(1) {
        Real const size = factor < 0 ? -factor : factor;
        if (!(size > 0 && size <= largest_finite)) return;  // 0, infinity or NaN: the product is one of them
        for_stored = factor < 0 ? Real(-1) : Real(1);
        waiting = size;
        if (size < smallest_waiting_factor<Real>()) {  // scores that fall to 0 by this differ by nothing that shows
            for_stored *= tiny;
            waiting *= 1 / tiny;
        } else if (size > largest_waiting_factor<Real>()) {  // scores that rise to infinity by this are infinite as products
            for_stored *= 4;
            waiting /= 4;
        }
    }

private:
    static constexpr Real tiny = Real(0x1p-24f);  // the smallest half
    static constexpr Real largest_finite = Real(0x1.fffffep127f);
};

// Each score becomes score * factor, rounded once; -inf times a factor of 0 or below makes the row NaN.
// Callers   any lane, on its own
// Cost      one product an element; none where a bias is awaited, or the tile does not keep scores and the factor is above 0 and neither tiny nor huge
template <class Tile>
SMX_HD void scale(Tile& t, typename Tile::compute factor) {
    using compute = typename Tile::compute;
    if constexpr (Tile::is_stored) {
        factor *= t.factor;  // an earlier scale
        if (factor >= smallest_waiting_factor<compute>() && factor <= largest_waiting_factor<compute>()) {
            t.factor = factor;
            return;
        }
        split_factor<compute> const split(factor);
        t.factor = split.waiting;
        factor = split.for_stored;
    } else if constexpr (Tile::keeps == kept::weights || Tile::awaits_bias) {
        if (t.factor != compute(1)) t.settle_factor();  // an earlier scale: after a load the factor is 1, as the compiler sees
        if (Tile::awaits_bias) {
            t.factor = factor;
            return;
        }
        if (factor >= smallest_waiting_factor<compute>() && factor <= largest_waiting_factor<compute>()) {
            t.factor = factor;
            return;
        }
    }
    t.multiply(factor);
}

// A factor is any value with  template <class Compute> Compute value(row_id) const.

// The same number for every row, known on the host.
struct fixed_scale {
    double exact;
    float single;

    SMX_HD explicit constexpr fixed_scale(double number) : exact(number), single(static_cast<float>(number)) {}

    template <class Compute>
    SMX_HD Compute value(row_id) const {
        if constexpr (sizeof(Compute) == 8) {
            return exact;
        } else {
            return single;
        }
    }
};

template <class Factor>
inline constexpr bool is_fixed_scale = same_type<Factor, fixed_scale>;
// Whether a factor can wait in every type that is computed with; one that is read where the rows run is asked there.
template <class Factor>
SMX_HD constexpr bool surely_waits(Factor const&) {
    return true;
}
SMX_HD constexpr bool surely_waits(fixed_scale const& scale) {
    return scale.single >= smallest_waiting_factor<float>() && scale.single <= largest_waiting_factor<float>();
}

// 1 / sqrt(head_dim), the usual scale of attention.
// Source    A. Vaswani et al., "Attention is all you need", 2017, equation 1.
#if SMX_HAS_HOST
inline fixed_scale inv_sqrt(double head_dim) { return fixed_scale(1.0 / __builtin_sqrt(head_dim)); }
#endif

// One number read where the rows run (device memory for a kernel), when they run.
template <class Element>
struct device_scale {
    Element const* data;

    SMX_HD explicit device_scale(Element const* pointer) : data(pointer) {}

    template <class Compute>
    SMX_HD Compute value(row_id) const {
        return static_cast<Compute>(dtype<Element>::widen(*data));
    }
};

// One number a head, read where the rows run.
template <class Element>
struct head_scale {
    Element const* data;

    SMX_HD explicit head_scale(Element const* pointer) : data(pointer) {}

    template <class Compute>
    SMX_HD Compute value(row_id row) const {
        return static_cast<Compute>(dtype<Element>::widen(data[row.head]));
    }
};

SMX_END
