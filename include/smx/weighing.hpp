// What makes weights of scores: exp((score - max) * factor), unnormalised.
#pragma once
#include "math.hpp"
#include "tile_kinds.hpp"

SMX_BEGIN

// What is subtracted from a score before the exponential. Nothing visible: 0, since -inf - -inf would be NaN.
template <class Compute>
SMX_HD Compute anchor(Compute max) {
    return max == neg_inf<Compute>() ? Compute(0) : max;
}

// What (score - max) is multiplied by in the exponent: log2 e for the base of 2, and a factor that the scores do not have yet.
SMX_HD float slope_of(float factor) { return factor * log2_e; }
SMX_HD double slope_of(double factor) { return factor; }

// exp((score - max) * factor), from slope_of(factor). The difference comes first: it is exact where it matters, so that the largest score weighs
// exactly 1 whatever its size.
SMX_HD float weight(float score, float anchored, float slope) { return exponential2((score - anchored) * slope); }
SMX_HD double weight(double score, double anchored, double slope) { return exponential((score - anchored) * slope); }

template <class Compute>
SMX_HD Compute weight(Compute score, Compute anchored) {
    return weight(score, anchored, slope_of(Compute(1)));
}

// The weights of a set of scores with this maximum and a factor that waits. operator() gives a weight but for `rest`, which is the same for all of
// them: it is applied to their sum, and where they become probabilities.
template <class Compute, exponent Exponent>
class weighing {
public:
    weighing() = default;
    SMX_HD weighing(Compute max, Compute factor) : anchored_(anchor(max)), slope_(slope_of(factor)) {}

    SMX_HD Compute operator()(Compute score) const { return weight(score, anchored_, slope_); }
    SMX_HD Compute rest(Compute) const { return Compute(1); }

private:
    Compute anchored_, slope_;
};

// The product of the maximum is rounded, but rounded the same way in all exponents, so that it cancels; rest() is what the rounding did to the
// largest. From 2^31 on that could overflow. Scores that differ there differ by 128 or more, so that the largest alone weigh anything, and a power
// of two whose product with the maximum is exact and below 2^31 says the same.
template <>
class weighing<float, exponent::of_product> {
public:
    weighing() = default;
    SMX_HD weighing(float max, float factor) : slope_(slope_of(factor)) {
        float const anchored = anchor(max), product = anchored * slope_;
        if (!(product < 0x1p31f && product > -0x1p31f)) slope_ = bit_cast<float>((284u << 23) - (bit_cast<unsigned>(anchored) & 0x7f800000u));
        subtracted_ = rounded_product(anchored, slope_);
    }

    SMX_HD float operator()(float score) const { return exponential2(fused_product(score, slope_, -subtracted_)); }
    SMX_HD float rest(float max) const { return exponential2(fused_product(-anchor(max), slope_, subtracted_)); }

private:
    float slope_, subtracted_;
};

SMX_END
