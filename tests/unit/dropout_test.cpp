// dropout.hpp: draws are a function of seed, offset, row and column alone, as many are kept as should be, and 0 and 1
// are exact.
#include "smx/dropped.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "smx/store.hpp"
#include "support/data.hpp"
#include "support/dropout_reference.hpp"
#include "support/emulated_group.hpp"
#include "support/guarded_buffer.hpp"

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

smx::row_id row_of(smx::int64 index, int cols = 64) { return {0, 0, index, index, cols}; }

// Which of `Width` columns from `col` on are kept, by one call.
template <int Width, class Dropout>
std::vector<bool> kept_by(Dropout const& dropout, smx::int64 row, int col) {
    auto values = smx::filled_pack<Width>(1.0f);
    dropout.bind(row_of(row)).apply(values, col);
    std::vector<bool> kept;
    for (float value : values.data) {
        EXPECT_TRUE(value == 0 ||
                    value == static_cast<float>(1 / (1 - support::drawn_probability(dropout.probability))));
        kept.push_back(value != 0);
    }
    return kept;
}

template <int Width>
void expect_draws() {
    for (double p : {0.1, 0.5, 0.93}) {
        for (smx::int64 row : {0LL, 5LL, 0x123456789LL}) {
            for (unsigned long long offset : {0ULL, 7ULL, 0xfedcba9876543210ULL}) {
                for (int col : {0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 1000, 2147418104}) {
                    auto const kept = kept_by<Width>(smx::dropout(p, 0x0123456789abcdefULL, offset), row, col);
                    for (int i = 0; i < Width; ++i) {
                        ASSERT_EQ(kept[static_cast<std::size_t>(i)],
                                  support::is_kept(p, 0x0123456789abcdefULL, offset, row, col + i))
                            << "column " << col << " + " << i << ", " << p;
                    }
                }
            }
        }
    }
}

TEST(dropout, draws_are_of_columns_and_not_of_packs) {
    expect_draws<1>();
    expect_draws<2>();
    expect_draws<4>();
    expect_draws<8>();
    expect_draws<16>();
    expect_draws<32>();
}

// Numbers that a checkpoint may rely on: the first 32 columns of a row, a bit each.
TEST(dropout, draws_stay_what_they_are) {
    unsigned bits = 0;
    auto const kept = kept_by<32>(smx::dropout(0.5, 1234, 56), 789, 0);
    for (unsigned i = 0; i < 32; ++i) bits |= static_cast<unsigned>(kept[i]) << i;
    EXPECT_EQ(bits, 0xc2a03c75U);
}

TEST(dropout, seed_and_offset_from_memory) {
    long long const seed = -3, offset = 11;
    unsigned const short_seed = 5, short_offset = 6;
    auto const from_memory = smx::dropout(0.5, &seed, &offset, 4);
    EXPECT_EQ(kept_by<32>(from_memory, 3, 5), kept_by<32>(smx::dropout(0.5, static_cast<smx::uint64>(-3), 15), 3, 5));
    EXPECT_EQ(kept_by<32>(smx::dropout(0.5, &short_seed, &short_offset), 3, 5),
              kept_by<32>(smx::dropout(0.5, 5, 6), 3, 5));
}

TEST(dropout, probability_zero_changes_no_bit) {
    smx::pack<float, 8> const before{{1.0f, -0.0f, nan, -nan, 1e-45f, std::numeric_limits<float>::infinity(), 0, -3}};
    for (double p : {0.0, 1e-6}) {  // nearest to 0 of 65536
        smx::pack<float, 8> values = before;
        smx::dropout(p, 1, 2).bind(row_of(3)).apply(values, 3);
        EXPECT_EQ(std::memcmp(&values, &before, sizeof before), 0);
    }
}

TEST(dropout, probability_one_leaves_zeros) {
    smx::pack<float, 8> values{{1.0f, -0.0f, nan, -nan, 1e-45f, std::numeric_limits<float>::infinity(), 0, -3}};
    smx::dropout(1, 1, 2).bind(row_of(3)).apply(values, 3);
    for (float value : values.data) {
        EXPECT_EQ(value, 0.0f);
        EXPECT_FALSE(std::signbit(value));
    }
    for (int row = 0; row < 2000; ++row) {
        for (bool kept : kept_by<32>(smx::dropout(1, 9, 2), row, 0)) ASSERT_FALSE(kept);
    }
}

TEST(dropout, nan_stays_where_it_is_kept) {
    auto values = smx::filled_pack<32>(nan);
    smx::dropout(0.5, 1, 2).bind(row_of(3)).apply(values, 0);
    for (int i = 0; i < 32; ++i) {
        if (support::is_kept(0.5, 1, 2, 3, i)) {
            EXPECT_TRUE(std::isnan(values[i]));
        } else {
            EXPECT_EQ(values[i], 0.0f);
        }
    }
}

// As many are kept as should be, to five standard deviations; and what is kept makes up for what is dropped.
TEST(dropout, keeps_as_many_as_it_should) {
    constexpr int rows = 4096, cols = 256;
    for (double p : {1.0 / 65536, 0.1, 0.5, 0.9, 65535.0 / 65536}) {
        double kept = 0, sum = 0;
        for (int row = 0; row < rows; ++row) {
            auto const of_row = smx::dropout(p, 42, 1).bind(row_of(row));
            for (int col = 0; col < cols; col += 32) {
                auto values = smx::filled_pack<32>(1.0);
                of_row.apply(values, col);
                for (double value : values.data) {
                    kept += value != 0 ? 1 : 0;
                    sum += value;
                }
            }
        }
        double const count = static_cast<double>(rows) * cols, deviation = std::sqrt(count * p * (1 - p));
        EXPECT_NEAR(kept, count * (1 - p), 5 * deviation) << p;
        EXPECT_NEAR(sum, count, 5 * deviation / (1 - p)) << p;
    }
}

// Each of the eight draws of a counter is as often kept, and neighbours of every kind are kept independently.
TEST(dropout, neighbours_do_not_know_of_each_other) {
    constexpr int rows = 2048, cols = 64;
    auto const kept = [](unsigned long long seed, unsigned long long offset, int row, int col) {
        return kept_by<1>(smx::dropout(0.5, seed, offset), row, col)[0] ? 1 : -1;
    };
    int of_place[8] = {}, next_column = 0, next_row = 0, next_seed = 0, next_offset = 0, next_counter = 0;
    for (int row = 0; row < rows; ++row) {
        for (int col = 0; col < cols; ++col) {
            int const one = kept(1, 1, row, col);
            of_place[col % 8] += one;
            next_column += one * kept(1, 1, row, col + 1);
            next_counter += one * kept(1, 1, row, col + 8);
            next_row += one * kept(1, 1, row + 1, col);
            next_seed += one * kept(2, 1, row, col);
            next_offset += one * kept(1, 2, row, col);
        }
    }
    double const deviation = std::sqrt(static_cast<double>(rows) * cols);
    for (int sum : of_place) EXPECT_LT(std::abs(sum), 5 * deviation / std::sqrt(8));
    for (int sum : {next_column, next_row, next_seed, next_offset, next_counter})
        EXPECT_LT(std::abs(sum), 5 * deviation);
}

// The verb: every column that can be seen, in packs and at the edges, of any map.
template <class Tile>
void expect_tile() {
    using compute = typename Tile::compute;
    for (int cols : {1, 7, 31, 32}) {
        for (int head : {0, 1, Tile::vec - 1}) {
            smx::interval const visible{cols / 4, cols - cols / 5};
            std::vector<double> got(static_cast<std::size_t>(cols), -1.0);
            support::run_lanes<Tile::lanes>([&](auto& g) {
                Tile t{};
                t.cover(g.rank(), {0, cols}, head, visible);
                t.for_columns([](int col, compute& value) { value = static_cast<compute>(col + 1); });
                smx::drop(t, smx::dropout(0.25, 4, 5).bind(row_of(6, cols)));
                t.for_columns([&](int col, compute& value) { got[static_cast<std::size_t>(col)] = double{value}; });
            });
            for (int k = visible.begin; k < visible.end; ++k) {
                ASSERT_NEAR(got[static_cast<std::size_t>(k)], (k + 1) * support::dropout_factor(0.25, 4, 5, 6, k), 1e-5)
                    << "column " << k << " of " << cols << ", head " << head;
            }
        }
    }
}

TEST(dropout, of_a_tile) {
    expect_tile<smx::tile<1, 8, 4>>();
    expect_tile<smx::tile<4, 4, 2>>();
    expect_tile<smx::tile<2, 16, 1, double>>();
    expect_tile<smx::tile<8, 2, 2, double, smx::kept::terms>>();
}

// The output: what is dropped, and beside it what it was, each at an address of its own.
template <class Y, smx::hidden Hidden>
void expect_stores() {
    using tile = smx::tile<4, 8, 1>;
    for (int cols : {1, 8, 13, 32}) {
        for (std::size_t offset = 0; offset < 9; ++offset) {
            auto const count = static_cast<std::size_t>(cols);
            support::guarded_buffer<Y> y(count, offset), undropped(count, offset * 3 % 8);
            auto const output =
                smx::dropped(smx::dense_output<Y, Hidden>{y.data(), {0, 0, 0, 1}}, smx::dropout(0.5, 4, 5),
                             smx::dense_output<Y, Hidden>{undropped.data(), {0, 0, 0, 1}});
            smx::interval const visible{cols / 3, cols - cols / 4};
            support::run_lanes<4>([&](auto& g) {
                tile t{};
                t.cover(g.rank(), {0, cols}, static_cast<int>(offset % 8), visible);
                t.for_columns([](int col, float& value) { value = static_cast<float>(col + 1); });
                smx::store(g, t, output, row_of(0, cols), visible);
            });
            ASSERT_TRUE(y.intact() && undropped.intact());
            for (int k = 0; k < cols; ++k) {
                auto const at = static_cast<std::size_t>(k);
                if (Hidden == smx::hidden::keep && (k < visible.begin || k >= visible.end)) {
                    ASSERT_TRUE(y.is_poison(at) && undropped.is_poison(at));
                } else {
                    ASSERT_EQ(support::stored<Y>::value(undropped[at]), k + 1.0);
                    ASSERT_EQ(support::stored<Y>::value(y[at]), (k + 1) * support::dropout_factor(0.5, 4, 5, 0, k));
                }
            }
        }
    }
}

TEST(dropout, of_an_output) {
    expect_stores<float, smx::hidden::zeros>();
    expect_stores<float, smx::hidden::keep>();
    expect_stores<smx::half, smx::hidden::zeros>();
}

// Whole packs go through a dropout where both of its outputs take them; an output of the user's own is asked no such
// thing.
struct own_output {
    template <int Width, class Compute>
    void store(smx::row_id, int, smx::pack<Compute, Width> const&) const {}
};
template <class Output>
constexpr bool takes_whole_packs(Output const&) {
    using drawn = decltype(smx::some<Output>().template ahead<smx::tile<32, 8, 1>>(smx::row_id()));
    return smx::detail::has_whole_packs<decltype(smx::some<drawn>().bind(smx::row_id()).from(0)), 8>;
}
TEST(dropout, of_outputs_with_and_without_whole_packs) {
    auto const dropout = smx::dropout(0.1, 1, 2);
    smx::dense_output<float> const dense(nullptr, {0, 0, 8, 1});
    EXPECT_TRUE(takes_whole_packs(smx::dropped(dense, dropout)));
    EXPECT_TRUE(takes_whole_packs(smx::dropped(dense, dropout, dense)));
    EXPECT_FALSE(takes_whole_packs(smx::dropped(own_output(), dropout)));
    EXPECT_FALSE(takes_whole_packs(smx::dropped(dense, dropout, own_output())));
}

}  // namespace
