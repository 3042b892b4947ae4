// load_pair.hpp: two rows come into tiles with one map, each column from its own address, in packs or without.
#include "smx/load_pair.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/emulated_group.hpp"
#include "support/guarded_buffer.hpp"
#include "support/stored.hpp"

namespace {

// Column k is k + 1 in the one row and -2k in the other; both end where memory ends.
template <class First, class Second, class Tile>
void expect_both(int cols, smx::interval span, int more) {
    std::vector<First> counting;
    std::vector<Second> falling;
    for (int k = 0; k < cols + more; ++k) counting.push_back(support::stored<First>::make(k - more + 1));
    for (int k = 0; k < cols; ++k) falling.push_back(support::stored<Second>::make(-2 * k));
    support::fenced_buffer<First> const a(counting);
    support::fenced_buffer<Second> const b(falling);
    // `more` columns into a: its packs lie elsewhere than those of b.
    smx::dense_input<First> const first{a.data() + more, {0, 0, 0, 1}};
    smx::dense_input<Second> const second{b.data(), {0, 0, 0, 1}};
    int found = 0;
    support::run_lanes<Tile::lanes>([&](auto& g) {
        Tile x, y;
        smx::load_pair(g, x, first, y, second, smx::row_id{0, 0, 0, 0, cols}, span);
        ASSERT_EQ(x.map.first, y.map.first);
        auto const expect = [&](int k, double one, double other) {
            if (k < span.begin || k >= span.end) return;
            ++found;
            ASSERT_EQ(one, k + 1.0) << "column " << k << " of " << cols;
            ASSERT_EQ(other, -2.0 * k) << "column " << k << " of " << cols;
        };
        x.for_live_registers([&](int p) {
            for (int i = 0; i < Tile::vec; ++i) {
                double const one = static_cast<double>(x.middle[p][i]), other = static_cast<double>(y.middle[p][i]);
                if (x.touches_seen(p)) {
                    expect(x.pack_column(p) + i, one, other);
                } else {
                    ASSERT_TRUE(one == 0.0 && other == 0.0) << "what is not loaded is 0";
                }
            }
        });
        for (int i = 0; i < x.edges_to_visit(); ++i)
            expect(x.edge_column(i), static_cast<double>(x.edge[i]), static_cast<double>(y.edge[i]));
    });
    ASSERT_EQ(found, span.end - span.begin);
}

template <class First, class Second>
void expect_all_lengths() {
    using compute = std::conditional_t<sizeof(First) == 8 || sizeof(Second) == 8, double, float>;
    for (int cols = 0; cols <= 70; ++cols) {
        for (int more : {0, 1, 3, 4}) {
            for (smx::interval span :
                 {smx::interval{0, cols}, smx::interval{cols / 3, cols}, smx::interval{0, cols / 2}}) {
                expect_both<First, Second, smx::tile<1, 8, 10, compute, smx::kept::terms>>(cols, span, more);
                expect_both<First, Second, smx::tile<4, 4, 5, compute, smx::kept::terms, smx::hidden_packs::computed>>(
                    cols, span, more);
                if (::testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

TEST(load_pair, of_one_type) {
    expect_all_lengths<float, float>();
    expect_all_lengths<smx::half, smx::half>();
}
TEST(load_pair, of_two_types) {
    expect_all_lengths<smx::half, float>();
    expect_all_lengths<float, smx::bfloat16>();
}
TEST(load_pair, in_the_wider_type) {
    expect_all_lengths<float, double>();
    expect_all_lengths<double, smx::half>();
}

}  // namespace
