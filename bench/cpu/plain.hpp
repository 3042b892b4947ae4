// What one writes without a library: three passes over a row, with libm's exponential or with another.
#pragma once
#include <cmath>
#include <vector>

#include "smx/dtype.hpp"

namespace bench {

struct libm_exponential {
    float operator()(float x) const { return std::exp(x); }
};
struct smx_exponential {
    float operator()(float x) const { return smx::exponential(x); }
};

// One row, of which columns [begin, end) can be seen; flags (nonzero = visible) and biases may be null.
template <class Exponential, class T>
void plain_row(T const* x, T* y, int cols, float factor, int begin, int end, unsigned char const* flags,
               T const* biases, float* scores) {
    float most = -HUGE_VALF;
    for (int k = begin; k < end; ++k) {
        float score = smx::dtype<T>::widen(x[k]) * factor;
        if (biases != nullptr) score += smx::dtype<T>::widen(biases[k]);
        if (flags != nullptr && flags[k] == 0) score = -HUGE_VALF;
        scores[k] = score;
        most = score > most ? score : most;
    }
    float sum = 0;
    for (int k = begin; k < end; ++k) {
        scores[k] = most > -HUGE_VALF ? Exponential()(scores[k] - most) : 0.0f;
        sum += scores[k];
    }
    float const inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
    for (int k = 0; k < begin; ++k) y[k] = smx::dtype<T>::narrow(0.0f);
    for (int k = begin; k < end; ++k) y[k] = smx::dtype<T>::narrow(scores[k] * inverse);
    for (int k = end; k < cols; ++k) y[k] = smx::dtype<T>::narrow(0.0f);
}

}  // namespace bench
