// load.hpp: only what can be visible is read, everything else is finite, and each column comes from its own address.
#include "smx/load.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "smx/group.hpp"
#include "support/data.hpp"
#include "support/emulated_group.hpp"
#include "support/guarded_buffer.hpp"

namespace {

// Score k is k + 1.
template <class T>
std::vector<T> counting(int cols) {
    std::vector<T> scores(static_cast<std::size_t>(cols));
    for (int k = 0; k < cols; ++k) scores[static_cast<std::size_t>(k)] = support::stored<T>::make(k + 1);
    return scores;
}

template <class T, class Tile>
void expect_loaded(int cols, std::size_t offset, smx::interval visible) {
    support::guarded_buffer<T> const x(counting<T>(cols), offset);
    smx::dense_input<T> const input{x.data(), {0, 0, 0, 1}};
    smx::row_id const row{0, 0, 0, 0, cols};
    std::vector<int> held(static_cast<std::size_t>(cols), 0);
    support::run_lanes<Tile::lanes>([&](auto& g) {
        Tile t;
        smx::load(g, t, input, row, visible);
        auto const expect = [&](int column, auto score) {
            ++held[static_cast<std::size_t>(column)];
            bool const inside = column >= visible.begin && column < visible.end;
            if (inside) {
                ASSERT_EQ(static_cast<double>(score), column + 1.0) << "column " << column;
            } else {
                ASSERT_TRUE(std::isfinite(score)) << "column " << column;
            }
        };
        for (int p = 0; p < t.packs_to_visit(); ++p) {
            for (int i = 0; i < Tile::vec; ++i) {
                // What no later step looks at is held, but never set.
                bool const seen = t.is_live(p / Tile::packs_per_block);
                expect(t.pack_column(p) + i, seen ? t.middle[p][i] : typename Tile::compute(0));
            }
            // Packs start where their address is aligned.
            EXPECT_EQ(reinterpret_cast<std::size_t>(x.data() + t.pack_column(p)) %
                          (Tile::vec * sizeof(T) < 16 ? Tile::vec * sizeof(T) : 16),
                      0U);
        }
        for (int i = 0; i < t.edges_to_visit(); ++i) expect(t.edge_column(i), t.edge[i]);
    });
    for (int k = 0; k < cols; ++k) ASSERT_EQ(held[static_cast<std::size_t>(k)], 1) << "column " << k;
}

template <class T, class Tile>
void expect_all_loaded() {
    for (int cols : {0, 1, 5, 8, 13, 16, 24, 31, 32}) {
        for (std::size_t offset = 0; offset < 9; ++offset) {
            expect_loaded<T, Tile>(cols, offset, {0, cols});
            expect_loaded<T, Tile>(cols, offset, {cols / 3, cols - cols / 4});
            expect_loaded<T, Tile>(cols, offset, {cols, cols});
        }
    }
}

TEST(load, half) {
    expect_all_loaded<smx::half, smx::tile<1, 8, 4>>();
    expect_all_loaded<smx::half, smx::tile<4, 8, 1>>();
}
TEST(load, bfloat16) { expect_all_loaded<smx::bfloat16, smx::tile<2, 16, 1>>(); }
TEST(load, single) { expect_all_loaded<float, smx::tile<8, 4, 1>>(); }
TEST(load, double_precision) { expect_all_loaded<double, smx::tile<4, 2, 4, double>>(); }

// Hidden elements are not even read: their memory may be anything, or nothing.
TEST(load, what_cannot_be_visible_is_not_read) {
    support::fenced_buffer<float> const x(counting<float>(12));
    smx::dense_input<float> const input{x.data(), {0, 0, 0, 1}};
    smx::row_id const row{0, 0, 0, 0, 4096 * 3};  // of which all but 12 lie where nothing can be read
    smx::thread_group g;
    smx::tile<1, 4, 32> t;
    smx::load(g, t, input, row, {0, 12}, {0, 128});
    EXPECT_EQ(t.middle[2][3], 12.0f);
    smx::load(g, t, input, row, {0, 12}, {128, 256});
    t.for_live_packs([&](int p) { ADD_FAILURE() << "nothing of this part is visible, but pack " << p; });
}

// An input of one's own needs no more than load().
struct counted {
    using compute = float;
    template <int V>
    smx::pack<float, V> load(smx::row_id row, int col) const {
        smx::pack<float, V> result;
        for (int i = 0; i < V; ++i) result[i] = static_cast<float>(row.query * 1000 + col + i);
        return result;
    }
};

TEST(load, an_input_of_ones_own) {
    smx::thread_group g;
    smx::tile<1, 4, 3> t;
    smx::load(g, t, counted{}, smx::row_id{0, 0, 2, 2, 10}, {0, 10});
    EXPECT_EQ(t.map.first, 0);
    EXPECT_EQ(t.middle[1][3], 2007.0f);
    EXPECT_EQ(t.edge_column(1), 9);
    EXPECT_EQ(t.edge[1], 2009.0f);
}

}  // namespace
