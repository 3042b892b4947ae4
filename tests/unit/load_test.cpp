// load.hpp: only what can be visible is read, everything else is finite, and each column comes from its own address.
#include "smx/load.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "smx/group.hpp"
#include "support/data.hpp"
#include "support/emulated_group.hpp"
#include "support/guarded_buffer.hpp"

// An element of one's own: eighths, which have no -infinity.
struct eighths {
    signed char count;
};
template <>
struct smx::dtype<eighths> {
    using compute = float;
    static float widen(eighths value) { return 0.125f * static_cast<float>(value.count); }
    static eighths narrow(float value) { return {static_cast<signed char>(value * 8.0f)}; }
    static eighths narrow(double value) { return {static_cast<signed char>(value * 8.0)}; }
};

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

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
                // Of a pack that is seen in part all is loaded.
                ASSERT_TRUE(static_cast<double>(score) == column + 1.0 ||
                            score == -std::numeric_limits<decltype(score)>::infinity())
                    << "column " << column << ": " << static_cast<double>(score);
            }
        };
        for (int p = 0; p < t.packs_to_visit(); ++p) {
            for (int i = 0; i < Tile::vec; ++i) {
                // What no later step looks at is held, but never set.
                bool const seen = t.is_live(p / Tile::packs_per_stripe);
                expect(t.pack_column(p) + i, seen ? t.middle[p][i] : smx::neg_inf<typename Tile::compute>());
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
    t.for_live_packs([&](int p, auto&) { ADD_FAILURE() << "nothing of this part is visible, but pack " << p; });
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

TEST(load, what_waited_in_the_tile_is_forgotten) {
    smx::thread_group g;
    smx::tile<1, 4, 3, float, smx::kept::weights> t;
    t.factor = 0.25f;
    smx::load(g, t, counted{}, smx::row_id{0, 0, 2, 2, 10}, {0, 10});
    EXPECT_EQ(t.factor, 1.0f);
}

// A row of an input that dequantises: fetched as it lies in memory.
struct quantised {
    using compute = float;
    signed char const* data;

    struct row {
        signed char const* start;
        using compute = float;
        template <int V>
        int head() const {
            return 0;
        }
        template <int V>
        smx::pack<signed char, V> fetch(int col) const {
            smx::pack<signed char, V> raw;
            for (int i = 0; i < V; ++i) raw[i] = start[col + i];
            return raw;
        }
        template <int V>
        static smx::pack<float, V> widen(smx::pack<signed char, V> const& raw) {
            smx::pack<float, V> values;
            for (int i = 0; i < V; ++i) values[i] = 0.5f * static_cast<float>(raw[i]);
            return values;
        }
    };
    row bind(smx::row_id id) const { return {data + id.query * id.cols}; }
};

// In a tile that computes its hidden packs, what is not fetched is -infinity: no verb looks whether it can be visible.
template <int Lanes, int Vec, int Packs, class Input>
void expect_hidden_packs(Input const& input, int cols, bool all) {
    using tile = smx::tile<Lanes, Vec, Packs, float, smx::kept::weights, smx::hidden_packs::computed>;
    smx::row_id const row{0, 0, 0, 0, cols};
    smx::interval const span{0, all ? cols : 0};
    std::vector<int> held(static_cast<std::size_t>(cols), 0);
    support::run_lanes<Lanes>([&](auto& g) {
        tile t;
        smx::load(g, t, input, row, span);
        t.for_columns([&](int col, float score) {
            ++held[static_cast<std::size_t>(col)];
            if (all) {
                ASSERT_TRUE(std::isfinite(score)) << "column " << col << " of " << cols;
            } else {
                ASSERT_EQ(score, -infinity) << "column " << col << " of " << cols;
            }
        });
    });
    for (int count : held) ASSERT_EQ(count, 1);
}

TEST(load, hidden_packs_that_are_computed) {
    std::vector<eighths> const few(70, eighths{3});
    std::vector<signed char> const bytes(70, 5);
    for (int cols : {0, 1, 4, 7, 16, 31, 32, 63, 64}) {
        support::guarded_buffer<float> const x(counting<float>(70), 3);
        for (bool all : {true, false}) {
            // Nothing of a hidden row is read.
            smx::dense_input<float> const floats{all ? x.data() : nullptr, {0, 0, 0, 1}};
            expect_hidden_packs<1, 4, 16>(floats, cols, all);
            expect_hidden_packs<8, 4, 2>(floats, cols, all);
            expect_hidden_packs<1, 1, 32>(floats, cols < 32 ? cols : 32, all);
            expect_hidden_packs<1, 8, 8>(smx::dense_input<eighths>{all ? few.data() : nullptr, {0, 0, 0, 1}}, cols,
                                         all);
            expect_hidden_packs<2, 8, 4>(quantised{all ? bytes.data() : nullptr}, cols, all);
            expect_hidden_packs<4, 2, 8>(counted{}, cols, all);
        }
    }
}

// What a GPU puts into its slots, which it widens all alike: -infinity for what was not fetched, from whatever row.
template <class Source>
void expect_stand_ins(Source const& source, bool knows_hidden) {
    using computed = smx::tile<1, 4, 2, float, smx::kept::weights, smx::hidden_packs::computed>;
    using biased =
        smx::tile<1, 4, 2, float, smx::kept::weights, smx::hidden_packs::computed, smx::product::until_biased>;
    EXPECT_EQ((smx::detail::has_neg_inf<Source, 4>), knows_hidden);
    auto const hidden = smx::detail::widened<computed, 4>(source, smx::detail::not_fetched<computed, 4>(source), false);
    for (float score : hidden.data) EXPECT_EQ(score, -infinity);
    // Where a factor of any kind waits for a bias the mask hides what stands there, which none may make a NaN of.
    auto const finite = smx::detail::widened<biased, 4>(source, smx::detail::not_fetched<biased, 4>(source), false);
    for (float score : finite.data) EXPECT_TRUE(std::isfinite(score));
    auto const one = smx::detail::widened<computed, 1>(source, smx::detail::not_fetched<computed, 1>(source), false);
    EXPECT_EQ(one[0], -infinity);
    auto const fetched = smx::detail::widened<computed, 4>(source, source.template fetch<4>(0), true);
    for (float score : fetched.data) EXPECT_TRUE(std::isfinite(score));
}

TEST(load, what_stands_for_a_pack_that_is_not_fetched) {
    smx::row_id const row{0, 0, 0, 0, 8};
    support::guarded_buffer<float> const floats(counting<float>(8), 0);
    support::guarded_buffer<smx::half> const halves(counting<smx::half>(8), 0);
    support::guarded_buffer<eighths> const few(std::vector<eighths>(8, eighths{3}), 0);
    std::vector<signed char> const bytes(8, 5);
    expect_stand_ins(smx::dense_input<float>{floats.data(), {0, 0, 0, 1}}.bind(row), true);
    expect_stand_ins(smx::dense_input<smx::half>{halves.data(), {0, 0, 0, 1}}.bind(row), true);
    expect_stand_ins(smx::dense_input<eighths>{few.data(), {0, 0, 0, 1}}.bind(row), false);
    expect_stand_ins(quantised{bytes.data()}.bind(row), false);
    counted const input;
    expect_stand_ins(smx::detail::input_row(input, row), true);
}

struct one_slice {
    int count, index;
    int slices() const { return count; }
    int slice() const { return index; }
};

smx::row_id row_of(int cols) { return {0, 0, 0, 0, cols}; }

// Every column is one slice's; slices begin where a pack may, and none has more than its share of the packs.
TEST(load, slices_share_out_a_row) {
    constexpr int vec = 8;
    for (int count = 1; count <= 16; ++count) {
        for (int head = 0; head < vec; ++head) {
            for (int cols = 0; cols < 300; ++cols) {
                int const packs = cols < head ? 0 : (cols - head) / vec, share = (packs + count - 1) / count;
                int next = 0;
                for (int index = 0; index < count; ++index) {
                    smx::interval const slice = smx::detail::slice_of<vec>(one_slice{count, index}, head, row_of(cols));
                    if (index == 0) {
                        ASSERT_EQ(slice.begin, 0);
                    } else if (slice.begin < slice.end) {
                        ASSERT_EQ((slice.begin - head) % vec, 0) << cols << " columns, slice " << index;
                    }
                    if (slice.begin == slice.end) continue;
                    ASSERT_EQ(slice.begin, next) << cols << " columns, head " << head << ", slice " << index;
                    next = slice.end;
                    int const first = index == 0 ? (head < cols ? head : cols) : slice.begin;
                    ASSERT_LE((slice.end - first) / vec, share);
                }
                ASSERT_EQ(next, cols) << count << " slices, head " << head;
            }
        }
    }
    EXPECT_EQ(smx::detail::slice_of<vec>(one_slice{16, 15}, 3, row_of(static_cast<int>(smx::most_columns))).end,
              smx::most_columns);
}

}  // namespace
