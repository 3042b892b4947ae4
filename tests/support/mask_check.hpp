// A mask's row against plain predicates: span, bits and biases of every row, pack width and column.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "smx/mask.hpp"
#include "support/reference.hpp"

namespace support {

namespace detail {

// What every column of a row must be, and where its mask says they lie.
struct expected_row {
    smx::interval span;
    std::vector<bool> visible;
    std::vector<double> bias;
};

// A mask's answers about one pack at `col`; `again` is what it says from what it read ahead.
struct pack_answers {
    int col, width;
    unsigned bits, bits_again;
    float const *before, *scores, *again;
};

inline bool same_value(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// A sentence about the first wrong answer, or nothing.
inline std::string wrong_answer(expected_row const& row, pack_answers const& got) {
    for (int i = 0; i < got.width; ++i) {
        int const k = got.col + i;
        auto const at = static_cast<std::size_t>(k);
        auto const wrong = [&](std::string const& what) {
            return "column " + std::to_string(k) + " in a pack of " + std::to_string(got.width) + " at " +
                   std::to_string(got.col) + ": " + what;
        };
        if (got.bits != got.bits_again) return wrong("other bits from what was read ahead");
        if (!same_value(got.scores[i], got.again[i])) return wrong("another bias from what was read ahead");
        if (k < row.span.begin || k >= row.span.end) continue;  // bits outside the span are ignored
        bool const seen = (got.bits >> i & 1U) != 0;
        if (seen != row.visible[at]) return wrong(seen ? "visible" : "hidden");
        if (!seen) continue;
        bool const hides = row.bias[at] == -std::numeric_limits<double>::infinity();
        float const want = hides                       ? -std::numeric_limits<float>::infinity()
                           : std::isnan(got.before[i]) ? got.before[i]
                                                       : static_cast<float>(2.0 + row.bias[at]);
        if (!same_value(got.scores[i], want))
            return wrong("score " + std::to_string(got.scores[i]) + ", want " + std::to_string(want));
    }
    return {};
}

template <int V, class Seen>
std::string wrong_pack(Seen const& seen, expected_row const& row) {
    for (int col = 0; col + V <= static_cast<int>(row.visible.size()); ++col) {
        if (col >= row.span.end || col + V <= row.span.begin) continue;  // never asked for
        unsigned bits = ~0U, bits_again = ~0U;
        // A bias of -infinity hides whatever the score is.
        smx::pack<float, V> const before =
            smx::filled_pack<V>(col % 3 == 0 ? std::numeric_limits<float>::quiet_NaN() : 2.0f);
        smx::pack<float, V> scores = before, again = before;
        if constexpr (smx::mask_tests<Seen>) bits = bits_again = seen.template visible<V>(col);
        if constexpr (smx::mask_biases<Seen>) {
            seen.add_to(scores, col);
            again = scores;
        }
        if constexpr (smx::mask_fetches<Seen, V>) {
            auto const fetched = seen.template fetch<V>(col);
            if constexpr (smx::mask_tests<Seen>) bits_again = seen.template visible<V>(col, fetched);
            if constexpr (smx::mask_biases<Seen>) {
                again = before;
                seen.add_to(again, col, fetched);
            }
        }
        std::string sentence = wrong_answer(row, {col, V, bits, bits_again, before.data, scores.data, again.data});
        if (!sentence.empty()) return sentence;
    }
    return {};
}

// What must hold of the span itself.
inline std::string wrong_span(expected_row const& row, bool tests) {
    int const keys = static_cast<int>(row.visible.size());
    smx::interval const span = row.span;
    if (span.begin < span.end && (span.begin < 0 || span.end > keys)) return "the span leaves the row";
    for (int k = 0; k < keys; ++k) {
        bool const inside = k >= span.begin && k < span.end, visible = row.visible[static_cast<std::size_t>(k)];
        if (!inside && visible) return "column " + std::to_string(k) + " lies outside the span";
        if (inside && !tests && !visible) return "column " + std::to_string(k) + " lies in an exact span";
    }
    return {};
}

template <class Seen>
std::string wrong_row(Seen const& seen, expected_row const& row) {
    std::string sentence = wrong_span(row, smx::mask_tests<Seen>);
    if (sentence.empty()) sentence = wrong_pack<1>(seen, row);
    if (sentence.empty()) sentence = wrong_pack<2>(seen, row);
    if (sentence.empty()) sentence = wrong_pack<4>(seen, row);
    if (sentence.empty()) sentence = wrong_pack<8>(seen, row);
    if (sentence.empty()) sentence = wrong_pack<16>(seen, row);
    if (sentence.empty()) sentence = wrong_pack<32>(seen, row);
    return sentence;
}

}  // namespace detail

// visible(b, h, q, k) and bias(b, h, q, k) say what every element must be.
template <class Mask, class Visible, class Bias = no_bias>
void expect_mask(Mask const& mask, shape4 const& shape, Visible const& visible, Bias const& bias = {}) {
    static_assert(std::is_trivially_copyable_v<Mask>, "a mask travels to a kernel by value");
    for (index b = 0; b < shape.batch; ++b) {
        for (index h = 0; h < shape.heads; ++h) {
            for (index q = 0; q < shape.queries; ++q) {
                smx::row_id const row{b, h, q, (b * shape.heads + h) * shape.queries + q, shape.keys};
                auto const seen = mask.bind(row, smx::extents(shape.batch, shape.heads, shape.queries, shape.keys));
                detail::expected_row want{seen.span(), {}, {}};
                for (int k = 0; k < shape.keys; ++k) {
                    want.visible.push_back(visible(b, h, q, k));
                    want.bias.push_back(bias(b, h, q, k));
                }
                ASSERT_EQ(detail::wrong_row(seen, want), "")
                    << "row (" << b << ", " << h << ", " << q << ") of " << shape.batch << " x " << shape.heads << " x "
                    << shape.queries << " x " << shape.keys;
            }
        }
    }
}

}  // namespace support
