// reduce.hpp: (max, sum) is a monoid, also over -infinity, NaN and +infinity, and any split of a row gives the same
// statistics.
#include "smx/reduce.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "smx/group.hpp"
#include "smx/scale.hpp"
#include "support/data.hpp"
#include "support/emulated_group.hpp"

namespace {

template <class Real>
class reduce : public ::testing::Test {
public:
    static constexpr Real infinity = std::numeric_limits<Real>::infinity();
    static constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();
    using statistics = smx::statistics<Real>;

    // The statistics of one visible score.
    static statistics of(Real score) {
        Real const anchored = smx::anchor(score);
        return {std::isnan(score) ? -infinity : score, smx::weight(score, anchored)};
    }
    static statistics of(std::vector<Real> const& scores) {
        statistics all;
        for (Real score : scores) all = smx::merge(all, of(score));
        return all;
    }
    static void expect_same(statistics a, statistics b) {
        if (std::isnan(b.sum)) {
            EXPECT_TRUE(std::isnan(a.sum));
            return;
        }
        EXPECT_EQ(a.max, b.max);
        EXPECT_NEAR(static_cast<double>(a.sum), static_cast<double>(b.sum),
                    static_cast<double>(b.sum) * 64 * std::numeric_limits<Real>::epsilon());
    }
};
using reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(reduce, reals);

TYPED_TEST(reduce, the_empty_set_is_neutral) {
    using s = smx::statistics<TypeParam>;
    s const none;
    EXPECT_EQ(none.max, -this->infinity);
    EXPECT_EQ(none.sum, TypeParam(0));
    EXPECT_TRUE(none.empty());
    for (TypeParam score :
         {TypeParam(0), TypeParam(-3e4), TypeParam(77), -this->infinity, std::numeric_limits<TypeParam>::lowest(),
          std::numeric_limits<TypeParam>::max(), std::numeric_limits<TypeParam>::denorm_min()}) {
        s const one = this->of(score);
        s const left = smx::merge(none, one), right = smx::merge(one, none);
        EXPECT_EQ(left.max, one.max);
        EXPECT_EQ(left.sum, one.sum);
        EXPECT_EQ(right.max, one.max);
        EXPECT_EQ(right.sum, one.sum);
    }
    s const two = smx::merge(none, none);
    EXPECT_EQ(two.max, -this->infinity) << "a merge whose maximum is still -infinity must not fix it at 0";
    EXPECT_EQ(two.sum, TypeParam(0));
}

TYPED_TEST(reduce, minus_infinity_adds_nothing) {
    EXPECT_TRUE(this->of(std::vector<TypeParam>(5, -this->infinity)).empty());
    auto const row = this->of(std::vector<TypeParam>{-this->infinity, TypeParam(-2), -this->infinity, TypeParam(-2)});
    EXPECT_EQ(row.max, TypeParam(-2));
    EXPECT_EQ(row.sum, TypeParam(2));
    EXPECT_FALSE(row.empty());
}

TYPED_TEST(reduce, a_very_negative_score_is_not_an_empty_row) {
    auto const row = this->of(std::vector<TypeParam>{std::numeric_limits<TypeParam>::lowest()});
    EXPECT_FALSE(row.empty());
    EXPECT_EQ(row.sum, TypeParam(1));
    EXPECT_EQ(smx::reciprocal(row), TypeParam(1));
}

TYPED_TEST(reduce, merge_is_commutative_and_associative) {
    support::random_stream random(4);
    for (int turn = 0; turn < 2000; ++turn) {
        smx::statistics<TypeParam> parts[3];
        for (auto& part : parts) {
            std::vector<TypeParam> scores(static_cast<std::size_t>(random.below(5)));
            for (auto& score : scores) {
                score = random.coin(0.2) ? -this->infinity
                                         : static_cast<TypeParam>(random.normal() * (random.coin() ? 30 : 1));
            }
            part = this->of(scores);
        }
        this->expect_same(smx::merge(parts[0], parts[1]), smx::merge(parts[1], parts[0]));
        this->expect_same(smx::merge(smx::merge(parts[0], parts[1]), parts[2]),
                          smx::merge(parts[0], smx::merge(parts[1], parts[2])));
    }
}

// A NaN survives any order of merges, and a sum that holds one is not empty.
TYPED_TEST(reduce, nan_and_plus_infinity_survive) {
    for (TypeParam poison : {this->nan, this->infinity}) {
        std::vector<TypeParam> scores{TypeParam(1), TypeParam(2), -this->infinity, TypeParam(50)};
        for (std::size_t at = 0; at <= scores.size(); ++at) {
            std::vector<TypeParam> with = scores;
            with.insert(with.begin() + static_cast<std::ptrdiff_t>(at), poison);
            auto const row = this->of(with);
            EXPECT_TRUE(std::isnan(row.sum));
            EXPECT_FALSE(row.empty());
            EXPECT_TRUE(std::isnan(smx::reciprocal(row)));
            EXPECT_TRUE(std::isnan(smx::log_sum_exp_of(row)));
        }
        // Also where nothing else is visible.
        auto const alone = this->of(std::vector<TypeParam>{-this->infinity, poison, -this->infinity});
        EXPECT_TRUE(std::isnan(alone.sum));
        EXPECT_FALSE(alone.empty());
        EXPECT_TRUE(std::isnan(smx::log_sum_exp_of(alone)));
    }
}

TYPED_TEST(reduce, log_sum_exp) {
    EXPECT_EQ(smx::log_sum_exp_of(smx::statistics<TypeParam>()), -this->infinity);
    auto const two = this->of(std::vector<TypeParam>{TypeParam(0), TypeParam(0)});
    EXPECT_NEAR(static_cast<double>(smx::log_sum_exp_of(two)), 0.6931471805599453, 1e-7);  // natural, not base two
    auto const high = this->of(std::vector<TypeParam>{TypeParam(1000), TypeParam(1000)});
    EXPECT_NEAR(static_cast<double>(smx::log_sum_exp_of(high)), 1000.6931471805599, 1e-4);
    auto const low = this->of(std::vector<TypeParam>{TypeParam(-50001), TypeParam(-50002), TypeParam(-50003)});
    EXPECT_NEAR(static_cast<double>(smx::log_sum_exp_of(low)), -50001 + 0.40760596444438, 5e-3);
}

TYPED_TEST(reduce, reciprocal) {
    EXPECT_EQ(smx::reciprocal(smx::statistics<TypeParam>()), TypeParam(0));
    EXPECT_EQ(smx::reciprocal(smx::statistics<TypeParam>{TypeParam(3), TypeParam(4)}), TypeParam(0.25));
}

// A row in one tile, whole, and in pieces merged afterwards.
TYPED_TEST(reduce, any_split_gives_the_same_statistics) {
    using tile = smx::tile<1, 8, 16, TypeParam>;
    auto const statistics_of = [](std::vector<TypeParam> const& scores, int head) {
        tile t{};
        int const cols = static_cast<int>(scores.size());
        t.cover(0, {0, cols}, head, {0, cols});
        for (int p = 0; p < t.packs_to_visit(); ++p) {
            for (int i = 0; i < 8; ++i) t.middle[p][i] = scores[static_cast<std::size_t>(t.pack_column(p) + i)];
        }
        for (int i = 0; i < t.edges_to_visit(); ++i) t.edge[i] = scores[static_cast<std::size_t>(t.edge_column(i))];
        return smx::lane_statistics(t);
    };
    support::random_stream random(9);
    for (int cols = 0; cols <= 100; ++cols) {
        std::vector<TypeParam> scores(static_cast<std::size_t>(cols));
        for (auto& score : scores)
            score = random.coin(0.3) ? -this->infinity : static_cast<TypeParam>(5 * random.normal());
        auto const whole = statistics_of(scores, random.below(8));
        int const cut = random.below(cols + 1);
        auto const middle = scores.begin() + cut;
        auto const first = statistics_of(std::vector<TypeParam>(scores.begin(), middle), random.below(8));
        auto const second = statistics_of(std::vector<TypeParam>(middle, scores.end()), random.below(8));
        this->expect_same(smx::merge(first, second), whole);
        this->expect_same(this->of(scores), whole);
    }
}

// Ones: exact as long as every partial sum is, and every lane has the result.
TYPED_TEST(reduce, lanes_agree) {
    support::run_lanes<32>([&](auto& g) {
        smx::statistics<TypeParam> const mine = g.rank() % 3 == 0
                                                    ? smx::statistics<TypeParam>()
                                                    : smx::statistics<TypeParam>{TypeParam(g.rank()), TypeParam(1)};
        auto const all = smx::all_reduce(g, mine);
        EXPECT_EQ(all.max, TypeParam(31));
        double want = 0;
        for (int rank = 0; rank < 32; ++rank) want += rank % 3 == 0 ? 0 : std::exp(rank - 31.0);
        EXPECT_NEAR(static_cast<double>(all.sum), want, 1e-6);
    });
}

TYPED_TEST(reduce, lanes_without_anything_visible_do_not_disturb) {
    support::run_lanes<8>([&](auto& g) {
        auto const one = smx::all_reduce(
            g, g.rank() == 5 ? smx::statistics<TypeParam>{TypeParam(-7), TypeParam(1)} : smx::statistics<TypeParam>());
        EXPECT_EQ(one.max, TypeParam(-7));
        EXPECT_EQ(one.sum, TypeParam(1));
        auto const none = smx::all_reduce(g, smx::statistics<TypeParam>());
        EXPECT_TRUE(none.empty());
        EXPECT_EQ(none.max, -this->infinity);
        // A lane whose only visible score is a NaN has no maximum, and still poisons the row.
        auto const poisoned =
            smx::all_reduce(g, g.rank() == 2 ? smx::statistics<TypeParam>{-this->infinity, this->nan}
                                             : smx::statistics<TypeParam>{TypeParam(1), TypeParam(1)});
        EXPECT_TRUE(std::isnan(poisoned.sum));
    });
}

// Lanes [first, first + Lanes) of a larger group, which all meet: each gives its value, and its own part is folded.
template <class Whole, int Lanes>
class part_of_lanes {
public:
    static constexpr int size = Lanes;

    explicit part_of_lanes(Whole& whole) : whole_(&whole) {}
    int rank() const { return whole_->rank() % Lanes; }

    template <class Value, class Op>
    Value all_reduce(Value value, Op op) {
        auto const all = whole_->gather(value);
        int const first = whole_->rank() / Lanes * Lanes;
        Value result = all[static_cast<std::size_t>(first)];
        for (int lane = 1; lane < Lanes; ++lane) result = op(result, all[static_cast<std::size_t>(first + lane)]);
        return result;
    }

private:
    Whole* whole_;
};

// A group whose lanes meet in parts, as the warps of a block and the blocks of a cluster do. There may be fewer parts
// than lanes that hold their values.
template <class Lanes, int Parts, int Places>
class group_of_parts {
public:
    static constexpr int size = Lanes::size;
    static constexpr int lanes_of_part = size / Parts;

    explicit group_of_parts(Lanes& lanes) : lanes_(&lanes) {}
    int rank() const { return lanes_->rank(); }

    part_of_lanes<group_of_parts, lanes_of_part> part() { return part_of_lanes<group_of_parts, lanes_of_part>(*this); }
    // Places divides the lanes of a part, so that each of these lies in one.
    part_of_lanes<group_of_parts, Places> across() const {
        return part_of_lanes<group_of_parts, Places>(const_cast<group_of_parts&>(*this));
    }
    template <class Value>
    Value exchange(Value value, Value neutral) {
        auto const all = gather(value);
        int const part = rank() % Places;
        return part < Parts ? all[static_cast<std::size_t>(part * lanes_of_part)] : neutral;
    }

    template <class Value>
    std::array<Value, size> gather(Value value) {
        struct entries {
            std::array<Value, size> values;
            std::array<bool, size> present;
        };
        entries mine{};
        mine.values[static_cast<std::size_t>(rank())] = value;
        mine.present[static_cast<std::size_t>(rank())] = true;
        return lanes_
            ->all_reduce(mine,
                         [](entries a, entries const& b) {
                             for (std::size_t at = 0; at < size; ++at) {
                                 if (b.present[at]) {
                                     a.values[at] = b.values[at];
                                     a.present[at] = true;
                                 }
                             }
                             return a;
                         })
            .values;
    }

private:
    Lanes* lanes_;
};

template <class Real, int Parts, int Places>
void expect_parts_to_agree() {
    support::run_lanes<48>([](auto& lanes) {
        group_of_parts<std::remove_reference_t<decltype(lanes)>, Parts, Places> g(lanes);
        static_assert(smx::detail::exchanges_parts<decltype(g)>);
        for (int turn = 0; turn < 3; ++turn) {
            smx::statistics<Real> const mine = (g.rank() + turn) % 3 == 0
                                                   ? smx::statistics<Real>()
                                                   : smx::statistics<Real>{Real(g.rank() % 20), Real(1)};
            auto const by_parts = smx::all_reduce(g, mine), at_once = smx::all_reduce(lanes, mine);
            EXPECT_EQ(by_parts.max, at_once.max);
            EXPECT_NEAR(static_cast<double>(by_parts.sum), static_cast<double>(at_once.sum),
                        1e-6 * static_cast<double>(at_once.sum));
            double const sum = static_cast<double>(by_parts.sum);
            EXPECT_EQ(lanes.all_reduce(sum, smx::maximum()), sum) << "another lane has other bits";
        }
        EXPECT_TRUE(smx::all_reduce(g, smx::statistics<Real>()).empty());
    });
}

TYPED_TEST(reduce, parts_agree_with_all_lanes_at_once) {
    expect_parts_to_agree<TypeParam, 2, 2>();
    expect_parts_to_agree<TypeParam, 3, 4>();  // a place without a part
    expect_parts_to_agree<TypeParam, 3, 16>();
    expect_parts_to_agree<TypeParam, 6, 8>();
}

// A float stops counting ones at 2^24: partial sums of a tile never get there.
TEST(reduce_long, a_full_tile_counts_its_ones) {
    using tile = smx::tile<1, 16, 32>;
    tile t{};
    t.cover(0, {0, tile::capacity}, 0, {0, tile::capacity});
    for (auto& pack : t.middle) pack = smx::filled_pack<16>(-3.5f);
    auto const stats = smx::lane_statistics(t);
    EXPECT_EQ(stats.sum, static_cast<float>(tile::capacity));
    EXPECT_EQ(stats.max, -3.5f);
}

TEST(reduce_weights, a_tile_may_keep_its_exponentials) {
    using tile = smx::tile<1, 4, 2, float, smx::kept::weights>;
    tile t{};
    t.cover(0, {0, 9}, 1, {0, 9});
    for (auto& pack : t.middle) pack = smx::filled_pack<4>(2.0f);
    for (float& edge : t.edge.data) edge = 3.0f;
    auto const stats = smx::lane_statistics(t);
    EXPECT_EQ(stats.max, 3.0f);
    EXPECT_EQ(t.max, 3.0f);
    EXPECT_EQ(t.edge[0], 1.0f);
    EXPECT_NEAR(static_cast<double>(t.middle[0][0]), std::exp(-1.0), 1e-7);
    EXPECT_NEAR(static_cast<double>(stats.sum), 1 + 8 * std::exp(-1.0), 1e-6);
}

// A tile whose scale still waits: the maximum is a product, the weights are of products.
TYPED_TEST(reduce, a_factor_that_waits_is_in_the_statistics) {
    using tile = smx::tile<1, 4, 2, TypeParam, smx::kept::weights>;
    tile t{};
    t.cover(0, {0, 9}, 1, {0, 9});
    for (auto& pack : t.middle) pack = smx::filled_pack<4>(TypeParam(2));
    for (TypeParam& edge : t.edge.data) edge = TypeParam(4);
    t.factor = TypeParam(0.3);
    TypeParam const volatile product = TypeParam(4) * TypeParam(0.3);
    auto const stats = smx::lane_statistics(t);
    EXPECT_EQ(stats.max, product);
    EXPECT_EQ(t.max, product);
    EXPECT_EQ(t.edge[0], TypeParam(1));
    EXPECT_NEAR(static_cast<double>(t.middle[1][3]), std::exp(-0.6), 1e-7);
    double const sum = 1 + 8 * std::exp(-0.6);
    EXPECT_NEAR(static_cast<double>(stats.sum), sum, 1e-6);
    EXPECT_NEAR(static_cast<double>(smx::log_sum_exp_of(stats)), 1.2 + std::log(sum), 1e-6);
}

TYPED_TEST(reduce, a_slope_is_a_factor_of_the_exponent) {
    TypeParam const slope = smx::slope_of(TypeParam(0.25));
    EXPECT_NEAR(static_cast<double>(smx::weight(TypeParam(3), TypeParam(7), slope)), std::exp(-1.0), 1e-7);
    EXPECT_EQ(smx::weight(TypeParam(7), TypeParam(7), slope), TypeParam(1));
    EXPECT_EQ(smx::weight(-this->infinity, TypeParam(7), slope), TypeParam(0));
    EXPECT_NEAR(static_cast<double>(smx::weight(TypeParam(6), TypeParam(7))), std::exp(-1.0), 1e-7);
    // No factor that may wait makes anything else of these.
    for (TypeParam factor : {smx::largest_waiting_factor<TypeParam>(), smx::smallest_waiting_factor<TypeParam>()}) {
        TypeParam const top = std::numeric_limits<TypeParam>::max();
        EXPECT_EQ(smx::weight(top, top, smx::slope_of(factor)), TypeParam(1));
        EXPECT_EQ(smx::weight(-top, top, smx::slope_of(factor)), TypeParam(0));
        EXPECT_TRUE(std::isnan(smx::weight(this->infinity, this->infinity, smx::slope_of(factor))));
    }
}

// A scale that took the maximum to an infinity left weights that were finite: one lane answers as many do.
template <class Group, class Real>
void expect_overflows_seen(Group& g) {
    Real const infinity = std::numeric_limits<Real>::infinity(), nan = std::numeric_limits<Real>::quiet_NaN();
    using statistics = smx::statistics<Real>;
    auto const none = smx::all_reduce(g, statistics{-infinity, Real(5)});
    EXPECT_EQ(none.max, -infinity);
    EXPECT_EQ(none.sum, Real(0));
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(smx::reciprocal(none), Real(0));
    EXPECT_EQ(smx::log_sum_exp_of(none), -infinity);
    for (auto const& poisoned : {statistics{infinity, Real(2)}, statistics{-infinity, nan}, statistics{Real(1), nan}}) {
        auto const all = smx::all_reduce(g, poisoned);
        EXPECT_TRUE(std::isnan(all.sum));
        EXPECT_FALSE(all.empty());
        EXPECT_TRUE(std::isnan(smx::log_sum_exp_of(all)));
    }
    auto const plain = smx::all_reduce(g, statistics{std::numeric_limits<Real>::lowest(), Real(0.75)});
    EXPECT_EQ(plain.max, std::numeric_limits<Real>::lowest());
    EXPECT_EQ(plain.sum, Real(0.75) * Group::size);
    // In chunks of a row, too.
    EXPECT_TRUE(smx::merge(statistics(), statistics{-infinity, Real(5)}).empty());
    EXPECT_EQ(smx::merge(statistics{Real(2), Real(1)}, statistics{-infinity, Real(5)}).sum, Real(1));
}

TYPED_TEST(reduce, a_maximum_that_overflowed) {
    smx::thread_group one;
    expect_overflows_seen<smx::thread_group, TypeParam>(one);
    support::run_lanes<8>([](auto& g) { expect_overflows_seen<support::emulated_group<8>, TypeParam>(g); });
}

// Every score of a row, times its factor, is -infinity.
TYPED_TEST(reduce, a_factor_that_waits_can_empty_a_row) {
    using tile = smx::tile<1, 4, 2, TypeParam, smx::kept::weights>;
    tile t{};
    t.cover(0, {0, 8}, 0, {0, 8});
    for (auto& pack : t.middle) pack = smx::filled_pack<4>(std::numeric_limits<TypeParam>::lowest());
    t.factor = TypeParam(2);
    smx::thread_group g;
    auto const stats = smx::reduce(g, t);
    EXPECT_EQ(stats.max, -this->infinity);
    EXPECT_TRUE(stats.empty());
}

}  // namespace
