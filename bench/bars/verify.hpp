// Whether what was timed is right: no NaN anywhere, and some rows against softmax in double.
#pragma once
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "calls.hpp"
#include "smx/mask/bits.hpp"

namespace bench {

// The masks of a call as they lie on the host, for the rows that are checked.
struct host_masks {
    mask_kind kind = mask_kind::none;
    std::vector<int> lengths;
};

// Throws std::runtime_error naming the first value that is off.
inline void verify_row(call const& c, host_masks const& masks, int64 index) {
    int64 const panel = index / c.shape.queries, query = index % c.shape.queries, batch = panel / c.shape.heads;
    int64 const keys = c.shape.keys;
    std::vector<double> const x = fetch(c.x, c.type, index * keys, keys), y = fetch(c.y, c.type, index * keys, keys);
    std::vector<unsigned char> flags(static_cast<std::size_t>(keys), 1);
    if (has_flags(masks.kind))
        must(cudaMemcpy(flags.data(), c.flags + batch * c.flags_step.batch + query * c.flags_step.query, flags.size(),
                        cudaMemcpyDeviceToHost),
             "cudaMemcpy");
    if (has_bits(masks.kind)) {
        std::vector<unsigned> words(static_cast<std::size_t>(smx::words_for<unsigned>(keys)));
        must(cudaMemcpy(words.data(), c.bits + batch * c.bits_step.batch + query * c.bits_step.query,
                        words.size() * sizeof(unsigned), cudaMemcpyDeviceToHost),
             "cudaMemcpy");
        for (std::size_t k = 0; k < flags.size(); ++k) flags[k] = (words[k / 32] >> (k % 32) & 1U) != 0;
    }
    std::vector<double> bias(static_cast<std::size_t>(keys), 0.0);
    if (has_bias(masks.kind)) bias = fetch(c.bias, c.type, batch * c.bias_step.batch + query * c.bias_step.query, keys);

    std::vector<double> expected(static_cast<std::size_t>(keys), 0.0);
    double most = -HUGE_VAL, sum = 0;
    auto const score = [&](std::size_t k) {
        bool const hides =
            (has_causal(masks.kind) && static_cast<int64>(k) > query) || flags[k] == 0 ||
            (has_lengths(masks.kind) && static_cast<int64>(k) >= masks.lengths[static_cast<std::size_t>(batch)]);
        return hides ? -HUGE_VAL : x[k] * c.factor + bias[k];
    };
    for (std::size_t k = 0; k < x.size(); ++k) most = std::fmax(most, score(k));
    for (std::size_t k = 0; k < x.size() && most > -HUGE_VAL; ++k) sum += expected[k] = std::exp(score(k) - most);

    // One rounding to the element, besides what float arithmetic does to exponents of up to a hundred.
    double const relative = c.type == dtype::half ? 0x1p-11 + 1e-4 : c.type == dtype::bfloat16 ? 0x1p-8 + 1e-4 : 1e-4;
    double const absolute = c.type == dtype::half ? 0x1p-24 : 1e-37;
    for (std::size_t k = 0; k < x.size(); ++k) {
        double const want = sum > 0 ? expected[k] / sum : 0.0;
        if (!(std::fabs(y[k] - want) <= relative * want + absolute))
            throw std::runtime_error("wrong: row " + std::to_string(index) + ", column " + std::to_string(k) + ": " +
                                     std::to_string(y[k]) + ", must be " + std::to_string(want));
    }
}

// The same of a row of gradients, from the probabilities and gradients that the call was given.
inline void verify_gradients(call const& c, host_masks const& masks, int64 index) {
    int64 const keys = c.shape.keys, query = index % c.shape.queries;
    std::vector<double> const y = fetch(c.x, c.type, index * keys, keys), dy = fetch(c.dy, c.type, index * keys, keys),
                              dx = fetch(c.y, c.type, index * keys, keys);
    auto const hides = [&](std::size_t k) { return has_causal(masks.kind) && static_cast<int64>(k) > query; };
    double inner = 0, sizes = 0;  // hidden y are 0
    for (std::size_t k = 0; k < y.size(); ++k) {
        inner += y[k] * dy[k];
        sizes += std::fabs(y[k] * dy[k]);
    }
    double const relative = c.type == dtype::half ? 0x1p-11 + 1e-4 : c.type == dtype::bfloat16 ? 0x1p-8 + 1e-4 : 1e-4;
    double const absolute = c.type == dtype::half ? 0x1p-24 : 1e-37;
    for (std::size_t k = 0; k < y.size(); ++k) {
        double const want = hides(k) ? 0.0 : c.factor * y[k] * (dy[k] - inner);
        double const rounding = 1e-5 * std::fabs(c.factor) * y[k] * (std::fabs(dy[k]) + sizes);
        if (!(std::fabs(dx[k] - want) <= (hides(k) ? 0 : relative * std::fabs(want) + rounding + absolute)))
            throw std::runtime_error("wrong: gradients of row " + std::to_string(index) + ", column " +
                                     std::to_string(k) + ": " + std::to_string(dx[k]) + ", must be " +
                                     std::to_string(want));
    }
}

inline void verify(call const& c, host_masks const& masks) {
    int64 const rows = c.shape.batch * c.shape.heads * c.shape.queries;
    if (int64 const bad = count_nan(c.y, c.type, rows * c.shape.keys); bad != 0)
        throw std::runtime_error("wrong: " + std::to_string(bad) + " elements were not written, or are NaN");
    for (int64 const row : {int64{0}, rows / 3, rows / 2 + 1, rows - 2, rows - 1}) {
        if (row < 0 || row >= rows) continue;
        if (c.dy != nullptr) {
            verify_gradients(c, masks, row);
        } else {
            verify_row(c, masks, row);
        }
    }
}

}  // namespace bench
