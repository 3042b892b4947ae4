// A mask's row against plain predicates: span, bits and biases of every row, pack width and column.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "smx/mask.hpp"
#include "support/reference.hpp"

namespace support {

namespace detail {

template <int V, class Seen, class Visible, class Bias>
void expect_packs(Seen const& seen, int keys, Visible const& visible, Bias const& bias) {
    smx::interval const span = seen.span();
    for (int col = 0; col + V <= keys; ++col) {
        if (col >= span.end || col + V <= span.begin) continue;  // never asked for
        unsigned bits = ~0U;
        if constexpr (smx::mask_tests<Seen>) bits = seen.template visible<V>(col);
        smx::pack<float, V> scores = smx::filled_pack<V>(2.0f);
        // A bias of -infinity hides whatever the score is.
        if (col % 3 == 0) scores = smx::filled_pack<V>(std::numeric_limits<float>::quiet_NaN());
        smx::pack<float, V> const before = scores;
        if constexpr (smx::mask_biases<Seen>) seen.add_to(scores, col);
        // What is read ahead gives the same answers.
        if constexpr (smx::mask_fetches<Seen, V>) {
            auto const fetched = seen.template fetch<V>(col);
            if constexpr (smx::mask_tests<Seen>) {
                ASSERT_EQ(seen.template visible<V>(col, fetched), bits) << "pack of " << V << " at " << col;
            }
            if constexpr (smx::mask_biases<Seen>) {
                smx::pack<float, V> again = before;
                seen.add_to(again, col, fetched);
                for (int i = 0; i < V; ++i) {
                    bool const same = again[i] == scores[i] || (std::isnan(again[i]) && std::isnan(scores[i]));
                    ASSERT_TRUE(same) << "column " << col + i << " in a pack of " << V << " at " << col;
                }
            }
        }
        for (int i = 0; i < V; ++i) {
            int const k = col + i;
            if (k < span.begin || k >= span.end) continue;  // bits outside the span are ignored
            double const added = bias(k);
            bool const hides = added == -std::numeric_limits<double>::infinity();
            ASSERT_EQ((bits >> i & 1U) != 0, visible(k)) << "column " << k << " in a pack of " << V << " at " << col;
            if (!visible(k)) continue;
            if (hides) {
                ASSERT_EQ(scores[i], -std::numeric_limits<float>::infinity())
                    << "column " << k << ", pack of " << V << " at " << col;
            } else if (std::isnan(before[i]) || std::isnan(added)) {
                ASSERT_TRUE(std::isnan(scores[i])) << "column " << k << ", pack of " << V << " at " << col;
            } else {
                ASSERT_EQ(scores[i], static_cast<float>(2.0 + added))
                    << "column " << k << ", pack of " << V << " at " << col;
            }
        }
    }
}

}  // namespace detail

// visible(b, h, q, k) and bias(b, h, q, k) say what every element must be.
template <class Mask, class Visible, class Bias = no_bias>
void expect_mask(Mask const& mask, shape4 const& shape, Visible const& visible, Bias const& bias = {}) {
    static_assert(std::is_trivially_copyable_v<Mask>, "a mask travels to a kernel by value");
    for (index b = 0; b < shape.batch; ++b) {
        for (index h = 0; h < shape.heads; ++h) {
            for (index q = 0; q < shape.queries; ++q) {
                SCOPED_TRACE(::testing::Message()
                             << "row (" << b << ", " << h << ", " << q << ") of " << shape.batch << " x " << shape.heads
                             << " x " << shape.queries << " x " << shape.keys);
                smx::row_id const row{b, h, q, (b * shape.heads + h) * shape.queries + q, shape.keys};
                auto const seen = mask.bind(row, smx::extents(shape.batch, shape.heads, shape.queries, shape.keys));
                using Seen = std::remove_const_t<decltype(seen)>;
                smx::interval const span = seen.span();
                if (span.begin < span.end) {
                    ASSERT_GE(span.begin, 0);
                    ASSERT_LE(span.end, shape.keys);
                }
                auto const is_visible = [&](int k) { return visible(b, h, q, k); };
                for (int k = 0; k < shape.keys; ++k) {
                    bool const inside = k >= span.begin && k < span.end;
                    if (!inside) {
                        ASSERT_FALSE(is_visible(k)) << "column " << k << " lies outside the span";
                    }
                    if (inside && !smx::mask_tests<Seen>) {
                        ASSERT_TRUE(is_visible(k)) << "column " << k << " lies in an exact span";
                    }
                }
                auto const added = [&](int k) { return bias(b, h, q, k); };
                detail::expect_packs<1>(seen, shape.keys, is_visible, added);
                detail::expect_packs<2>(seen, shape.keys, is_visible, added);
                detail::expect_packs<4>(seen, shape.keys, is_visible, added);
                detail::expect_packs<8>(seen, shape.keys, is_visible, added);
                detail::expect_packs<16>(seen, shape.keys, is_visible, added);
                detail::expect_packs<32>(seen, shape.keys, is_visible, added);
                if (::testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

}  // namespace support
