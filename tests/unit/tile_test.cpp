// tile.hpp: every column of a row lies in exactly one slot of one lane, whatever the lanes, packs, head and length.
#include "smx/tile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

// How often each column of [begin, end) is held by some lane, when all of it is visible.
template <class Tile>
std::vector<int> holders(int begin, int end, int head) {
    std::vector<int> count(static_cast<std::size_t>(end - begin), 0);
    auto const hold = [&](int column) {
        ASSERT_GE(column, begin);
        ASSERT_LT(column, end);
        ++count[static_cast<std::size_t>(column - begin)];
    };
    for (int rank = 0; rank < Tile::lanes; ++rank) {
        Tile t{};
        t.cover(rank, {begin, end}, head, {begin, end});
        int packs = 0, edges = 0;
        for (int p = 0; p < Tile::packs; ++p) {
            if (t.pack_column(p) >= t.map.last) continue;
            for (int i = 0; i < Tile::vec; ++i) hold(t.pack_column(p) + i);
            // A pack starts where an aligned address would be.
            EXPECT_EQ((t.pack_column(p) - begin - std::min(head, end - begin)) % Tile::vec, 0);
            ++packs;
        }
        for (int i = 0; i < Tile::edges; ++i) {
            if (t.edge_column(i) >= t.map.end) continue;
            hold(t.edge_column(i));
            EXPECT_TRUE(t.has_edges());
            ++edges;
        }
        // On the CPU the slots in use come first and no others are visited.
        EXPECT_EQ(t.packs_to_visit(), packs);
        EXPECT_EQ(t.edges_to_visit(), edges);
    }
    return count;
}

template <class Tile>
void expect_each_column_once(int begin, int end, int head) {
    for (int count : holders<Tile>(begin, end, head)) {
        ASSERT_EQ(count, 1) << Tile::lanes << " lanes, vec " << Tile::vec << ", packs " << Tile::packs << ", columns ["
                            << begin << ", " << end << "), head " << head;
    }
}

template <int Lanes, int Vec, int Packs>
void sweep() {
    using tile = smx::tile<Lanes, Vec, Packs>;
    static_assert(tile::capacity == Lanes * Vec * Packs);
    static_assert(tile::lanes == Lanes && tile::vec == Vec && tile::packs == Packs);
    int const step = std::max(1, tile::capacity / 97);
    std::set<int> lengths;
    for (int cols = 0; cols <= std::min(tile::capacity, 70); ++cols) lengths.insert(cols);
    for (int cols = 0; cols <= tile::capacity; cols += step) lengths.insert(cols);
    for (int cols : {tile::capacity - Vec, tile::capacity - 1, tile::capacity}) lengths.insert(std::max(cols, 0));
    for (int cols : lengths) {
        for (int head = 0; head < Vec; ++head) expect_each_column_once<tile>(0, cols, head);
        expect_each_column_once<tile>(1000, 1000 + cols, 0);  // a later chunk of a long row
    }
    // "All edge": an input that knows nothing of alignment gives a head that reaches behind the row.
    for (int cols = 0; cols <= std::min(tile::edges * Lanes, tile::capacity); ++cols) {
        expect_each_column_once<tile>(0, cols, std::max(cols, 1 << 20));
    }
}

TEST(tile, one_lane_holds_each_column_once) {
    sweep<1, 1, 1>();
    sweep<1, 1, 32>();
    sweep<1, 2, 7>();
    sweep<1, 4, 16>();
    sweep<1, 8, 8>();
    sweep<1, 16, 3>();
}
TEST(tile, two_to_sixteen_lanes_hold_each_column_once) {
    sweep<2, 4, 5>();
    sweep<2, 8, 2>();
    sweep<4, 8, 4>();
    sweep<8, 2, 3>();
    sweep<8, 8, 2>();
    sweep<16, 4, 1>();
    sweep<16, 8, 4>();
}
TEST(tile, a_warp_holds_each_column_once) {
    sweep<32, 1, 4>();
    sweep<32, 4, 2>();
    sweep<32, 8, 1>();
    sweep<32, 8, 4>();
    sweep<32, 16, 2>();
    sweep<32, 32, 1>();
}
TEST(tile, a_block_holds_each_column_once) {
    sweep<96, 8, 1>();
    sweep<128, 8, 2>();
    sweep<256, 4, 2>();
    sweep<1024, 8, 1>();
}

TEST(tile, edge_slots_follow_from_lanes) {
    static_assert(smx::tile<1, 8, 1>::edges == 14);
    static_assert(smx::tile<2, 8, 1>::edges == 7);
    static_assert(smx::tile<8, 8, 1>::edges == 2);
    static_assert(smx::tile<16, 8, 1>::edges == 1);
    static_assert(smx::tile<32, 8, 1>::edges == 1);
    static_assert(smx::tile<32, 1, 1>::edges == 0);
    static_assert(sizeof(smx::tile<32, 8, 2, double>) > sizeof(smx::tile<32, 8, 2, float>));
}

// Just below the longest row, column arithmetic does not wrap.
TEST(tile, columns_near_the_limit_do_not_wrap) {
    using tile = smx::tile<256, 8, 2>;
    int const end = static_cast<int>(smx::most_columns);
    for (int rank : {0, 255}) {
        tile t{};
        t.cover(rank, {end - 4096, end}, 0, {0, end});
        for (int p = 0; p < tile::packs; ++p) {
            EXPECT_GE(t.pack_column(p), end - 4096);
            if (t.pack_column(p) < t.map.last) {
                EXPECT_LE(t.pack_column(p), end - tile::vec);
            }
        }
        for (int i = 0; i < tile::edges; ++i) EXPECT_GE(t.edge_column(i), end - 4096);
    }
}

// A pack that holds a visible column is visited, and where a block is called whole no column of it is hidden.
template <int Lanes, int Vec, int Packs>
void expect_visible_packs_visited() {
    using tile = smx::tile<Lanes, Vec, Packs>;
    constexpr int cols = tile::capacity;
    for (int begin = 0; begin <= cols; begin += std::max(1, cols / 37)) {
        for (int end = 0; end <= cols; end += std::max(1, cols / 41)) {
            for (int head : {0, Vec - 1}) {
                for (int rank = 0; rank < Lanes; ++rank) {
                    tile t{};
                    t.cover(rank, {0, cols}, head, {begin, end});
                    std::set<int> visited;
                    t.for_live_packs([&](int p, auto&) { visited.insert(p); });
                    for (int p = 0; p < t.packs_to_visit(); ++p) {
                        int const col = t.pack_column(p);
                        bool const visible = begin < end && col < end && col + Vec > begin;
                        if (visible) {
                            ASSERT_EQ(visited.count(p), 1U) << "span [" << begin << ", " << end << "), pack at " << col;
                        }
                        if (t.is_whole(p / tile::packs_per_stripe)) {
                            ASSERT_GE(col, begin) << "span [" << begin << ", " << end << ")";
                            ASSERT_LE(col + Vec, end) << "span [" << begin << ", " << end << ")";
                        }
                    }
                }
            }
        }
    }
}

TEST(tile, packs_with_a_visible_column_are_visited) {
    expect_visible_packs_visited<1, 8, 32>();
    expect_visible_packs_visited<1, 1, 32>();
    expect_visible_packs_visited<4, 4, 5>();
    expect_visible_packs_visited<32, 8, 4>();
    expect_visible_packs_visited<32, 4, 2>();
    expect_visible_packs_visited<16, 2, 32>();
    expect_visible_packs_visited<8, 16, 3>();
}

// What every pack is asked, against what it means.
template <int Lanes, int Vec, int Packs, smx::hidden_packs Hidden>
void expect_places(int begin, int cols, int head, smx::interval visible) {
    using tile = smx::tile<Lanes, Vec, Packs, float, smx::kept::scores, Hidden>;
    int const end = begin + cols;
    int const first = begin + std::min(head, cols), last = first + (end - first) / Vec * Vec;
    for (int rank = 0; rank < Lanes; ++rank) {
        tile t{};
        t.cover(rank, {begin, end}, head, visible);
        for (int p = 0; p < Packs; ++p) {
            int const col = first + (p * Lanes + rank) * Vec;
            ASSERT_EQ(t.pack_column(p), col);
            bool touches = false, within = col + Vec <= last;
            for (int k = col; k < col + Vec; ++k) {
                bool const seen = k < last && k >= visible.begin && k < visible.end;
                touches = touches || seen;
                within = within && seen;
            }
            SCOPED_TRACE(::testing::Message()
                         << "pack of " << Vec << " at " << col << " of [" << begin << ", " << end << "), head " << head
                         << ", span [" << visible.begin << ", " << visible.end << ")");
            ASSERT_EQ(t.exists(p), col < last);
            ASSERT_EQ(t.touches_seen(p), touches);
            ASSERT_EQ(t.within_seen(p), within);
            if constexpr (!tile::skips) {
                ASSERT_TRUE(t.is_live(p / tile::packs_per_stripe)) << "hidden packs are computed";
            } else if (touches) {
                ASSERT_TRUE(t.is_live(p / tile::packs_per_stripe));
            }
            if (t.is_whole(p / tile::packs_per_stripe)) {
                ASSERT_TRUE(within);
            }
        }
        bool holds_end = false;
        for (int p = 0; p < Packs; ++p) holds_end = holds_end || (t.touches_seen(p) && !t.within_seen(p));
        ASSERT_EQ(t.holds_end(), holds_end)
            << "lane " << rank << ", span [" << visible.begin << ", " << visible.end << ")";
        for (int i = 0; i < tile::edges; ++i) {
            int const col = t.edge_column(i);
            ASSERT_EQ(t.edge_is_seen(col), col < end && col >= visible.begin && col < visible.end)
                << "edge element " << col;
        }
    }
}

template <int Lanes, int Vec, int Packs>
void sweep_places() {
    constexpr int capacity = Lanes * Vec * Packs;
    std::set<int> lengths{0, 1, Vec, capacity / 2 + 1, capacity - 1, capacity};
    for (int cols : lengths) {
        for (int begin : {0, 96, static_cast<int>(smx::most_columns) - capacity}) {
            for (int head : {0, 1, Vec - 1}) {
                if (head >= Vec || (begin != 0 && head != 0)) continue;
                int const row_end = begin + cols + 5;
                using smx::hidden_packs;
                expect_places<Lanes, Vec, Packs, hidden_packs::all_or_none>(begin, cols, head, {0, row_end});
                expect_places<Lanes, Vec, Packs, hidden_packs::all_or_none>(begin, cols, head, {0, 0});
                expect_places<Lanes, Vec, Packs, hidden_packs::computed>(begin, cols, head, {0, row_end});
                expect_places<Lanes, Vec, Packs, hidden_packs::computed>(begin, cols, head, {begin + 3, begin + 1});
                int const step = std::max(1, cols / 9);
                for (int from = 0; from <= cols; from += step) {
                    for (int to = from; to <= cols; to += step) {
                        expect_places<Lanes, Vec, Packs, hidden_packs::skipped>(begin, cols, head,
                                                                                {begin + from, begin + to});
                        expect_places<Lanes, Vec, Packs, hidden_packs::computed>(begin, cols, head,
                                                                                 {begin + from, begin + to});
                    }
                }
                expect_places<Lanes, Vec, Packs, hidden_packs::skipped>(begin, cols, head, {0, row_end});
            }
        }
    }
}

TEST(tile, packs_know_their_place) {
    sweep_places<1, 8, 4>();
    sweep_places<1, 1, 32>();
    sweep_places<1, 2, 7>();
    sweep_places<4, 4, 5>();
    sweep_places<8, 8, 2>();
    sweep_places<16, 2, 8>();
    sweep_places<2, 16, 32>();
}

TEST(tile, nothing_waits_for_a_factor_at_first) {
    smx::tile<1, 4, 1, float, smx::kept::weights> t;
    EXPECT_EQ(t.factor, 1.0f);
}

}  // namespace
