// scale.hpp: factors from everywhere, products rounded once or left to the exponential, zero and negative factors.
#include "smx/scale.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "smx/mask/predicate.hpp"
#include "smx/row/resident.hpp"
#include "support/compare.hpp"
#include "support/data.hpp"
#include "support/emulated_group.hpp"

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

template <class Tile>
Tile tile_of(std::vector<typename Tile::compute> const& scores, int head) {
    Tile t{};
    int const cols = static_cast<int>(scores.size());
    t.cover(0, {0, cols}, head, {0, cols});
    for (int p = 0; p < t.packs_to_visit(); ++p) {
        for (int i = 0; i < Tile::vec; ++i) t.middle[p][i] = scores[static_cast<std::size_t>(t.pack_column(p) + i)];
    }
    for (int i = 0; i < t.edges_to_visit(); ++i) t.edge[i] = scores[static_cast<std::size_t>(t.edge_column(i))];
    return t;
}

template <class Tile>
std::vector<typename Tile::compute> scores_of(Tile const& t) {
    std::vector<typename Tile::compute> scores(static_cast<std::size_t>(t.map.end - t.map.begin));
    for (int p = 0; p < t.packs_to_visit(); ++p) {
        for (int i = 0; i < Tile::vec; ++i) scores[static_cast<std::size_t>(t.pack_column(p) + i)] = t.middle[p][i];
    }
    for (int i = 0; i < t.edges_to_visit(); ++i) scores[static_cast<std::size_t>(t.edge_column(i))] = t.edge[i];
    return scores;
}

template <class Compute>
void expect_rounded_products(Compute factor) {
    using tile = smx::tile<1, 4, 8, Compute>;
    support::random_stream random(1);
    for (int cols = 0; cols <= 35 - 3; ++cols) {
        std::vector<Compute> scores(static_cast<std::size_t>(cols));
        for (auto& score : scores) score = static_cast<Compute>(random.normal());
        tile t = tile_of<tile>(scores, 3);
        smx::scale(t, factor);
        auto const got = scores_of(t);
        for (std::size_t at = 0; at < scores.size(); ++at) {
            Compute const volatile want = scores[at] * factor;
            ASSERT_EQ(got[at], want);
        }
    }
}

TEST(scale, every_slot_is_multiplied) {
    for (double factor : {1.0, 0.125, -0.7, 0.0, 1e-5}) {
        expect_rounded_products(static_cast<float>(factor));
        expect_rounded_products(factor);
    }
}

TEST(scale, infinity_counts_after_the_scale) {
    using tile = smx::tile<1, 1, 4>;
    tile t = tile_of<tile>({-infinity, infinity, 1.0f}, 0);
    smx::scale(t, -2.0f);
    auto const got = scores_of(t);
    EXPECT_EQ(got[0], infinity);
    EXPECT_EQ(got[1], -infinity);
    t = tile_of<tile>({-infinity, 1.0f}, 0);
    smx::scale(t, 0.0f);
    EXPECT_TRUE(std::isnan(scores_of(t)[0]));
    EXPECT_EQ(scores_of(t)[1], 0.0f);
}

// Where weights will be kept a factor waits in the tile, if it is of a size that the exponential can take.
template <class Compute>
void expect_waits(Compute factor, bool waits) {
    using tile = smx::tile<1, 4, 2, Compute, smx::kept::weights>;
    std::vector<Compute> const scores{1, -2, 3, Compute(-0.5), 0, 6, -7, 8, Compute(0.1)};
    tile t = tile_of<tile>(scores, 1);
    smx::scale(t, factor);
    auto const got = scores_of(t);
    ASSERT_EQ(t.factor, waits ? factor : Compute(1)) << factor;
    for (std::size_t at = 0; at < scores.size(); ++at) {
        Compute const volatile product = scores[at] * factor;
        Compute const want = waits ? scores[at] : product;
        if (std::isnan(want)) {
            ASSERT_TRUE(std::isnan(got[at])) << factor;
        } else {
            ASSERT_EQ(got[at], want) << factor;
        }
    }
    // What must look at the scores themselves has it applied.
    t.settle_factor();
    EXPECT_EQ(t.factor, Compute(1));
    auto const settled = scores_of(t);
    for (std::size_t at = 0; at < scores.size(); ++at) {
        Compute const volatile product = scores[at] * factor;
        if (!std::isnan(product)) {
            ASSERT_EQ(settled[at], product) << factor;
        }
    }
    // A tile that keeps its scores never leaves them unscaled.
    using other_tile = smx::tile<1, 4, 2, Compute>;
    other_tile other = tile_of<other_tile>(scores, 1);
    smx::scale(other, factor);
    EXPECT_EQ(other.factor, Compute(1));
    other.settle_factor();
    if (!std::isnan(factor)) {
        ASSERT_EQ(scores_of(other)[0], factor);
    }
}

TEST(scale, a_factor_waits_where_the_exponential_can_take_it) {
    using single = std::numeric_limits<float>;
    for (float factor : {1.0f, 0.125f, 1e-30f, 1e30f, 0x1p126f, 0x1p-120f}) expect_waits(factor, true);
    for (float factor :
         {0.0f, -0.0f, -1.0f, -1e-30f, -single::max(), std::nextafter(0x1p126f, infinity), single::max(), infinity,
          -infinity, single::quiet_NaN(), std::nextafter(0x1p-120f, 0.0f), single::min(), single::denorm_min()}) {
        expect_waits(factor, false);
    }
    using twice = std::numeric_limits<double>;
    for (double factor : {1.0, 1e-300, 1e300, 0x1p1022, 0x1p-1012}) expect_waits(factor, true);
    for (double factor : {0.0, -0.0, -2.0, std::nextafter(0x1p1022, twice::infinity()), twice::max(), twice::infinity(),
                          twice::quiet_NaN(), std::nextafter(0x1p-1012, 0.0), twice::denorm_min()}) {
        expect_waits(factor, false);
    }
}

// A scale of a scale is the product of both, whichever of them waited.
template <class Tile>
void expect_product_of_scales() {
    float const pairs[][2] = {
        {2, 3}, {2, -3}, {-2, 3}, {-2, -3}, {0.5f, 0}, {0x1p125f, 0x1p-125f}, {0x1p-125f, 0x1p125f}};
    for (auto const& pair : pairs) {
        Tile t = tile_of<Tile>({1.5f, -2.0f, 3.0f, 7.0f, 0.25f}, 1);
        smx::scale(t, pair[0]);
        smx::scale(t, pair[1]);
        t.settle_factor();
        auto const got = scores_of(t);
        float const want[] = {1.5f, -2.0f, 3.0f, 7.0f, 0.25f};
        for (std::size_t at = 0; at < 5; ++at) {
            ASSERT_EQ(got[at], want[at] * pair[0] * pair[1]) << pair[0] << " and " << pair[1];
        }
    }
}

TEST(scale, twice_is_the_product) {
    expect_product_of_scales<smx::tile<1, 4, 1>>();
    expect_product_of_scales<smx::tile<1, 4, 1, float, smx::kept::weights>>();
}

// Slots that nothing was loaded for hold -infinity in a tile that computes its hidden packs: no factor touches them.
template <smx::kept Kept>
void expect_hidden_slots_left() {
    using tile = smx::tile<2, 4, 4, float, Kept, smx::hidden_packs::computed>;
    for (float factor : {-2.0f, 0.0f, std::numeric_limits<float>::quiet_NaN(), -infinity}) {
        for (int rank : {0, 1}) {
            tile t{};
            t.cover(rank, {0, 23}, 3, {0, 0});
            for (auto& pack : t.middle) pack = smx::filled_pack<4>(-infinity);
            for (float& one : t.edge.data) one = -infinity;
            smx::scale(t, factor);
            for (auto const& pack : t.middle) {
                for (float score : pack.data) ASSERT_EQ(score, -infinity) << factor;
            }
            for (float score : t.edge.data) ASSERT_EQ(score, -infinity) << factor;
        }
    }
}

TEST(scale, slots_that_were_not_loaded_stay_hidden) {
    expect_hidden_slots_left<smx::kept::scores>();
    expect_hidden_slots_left<smx::kept::weights>();
}

// A row by the whole algorithm, on as many lanes as the tile has.
template <class Compute>
struct answer {
    std::vector<Compute> y;
    smx::statistics<Compute> stats;
};

template <class Tile, class Mask>
answer<typename Tile::compute> answer_of(std::vector<typename Tile::compute> const& x, typename Tile::compute factor,
                                         Mask const& mask, smx::empty_row when_empty = smx::empty_row::zeros) {
    using compute = typename Tile::compute;
    answer<compute> result{std::vector<compute>(x.size()), {}};
    int const cols = static_cast<int>(x.size());
    auto const run = [&](auto& g) {
        auto const stats = smx::softmax_row<Tile>(g, smx::dense_input<compute>{x.data(), {0, 0, 0, 1}}, factor, mask,
                                                  smx::dense_output<compute>{result.y.data(), {0, 0, 0, 1}},
                                                  smx::row_id{0, 0, 0, 0, cols}, smx::extents(1, cols), when_empty);
        if (g.rank() == 0) result.stats = stats;
    };
    if constexpr (Tile::lanes == 1) {
        smx::thread_group g;
        run(g);
    } else {
        support::run_lanes<Tile::lanes>(run);
    }
    return result;
}

template <int Lanes, int Vec, int Packs, class Compute>
struct tiles {
    using scores = smx::tile<Lanes, Vec, Packs, Compute>;
    using weights = smx::tile<Lanes, Vec, Packs, Compute, smx::kept::weights>;
    using computed = smx::tile<Lanes, Vec, Packs, Compute, smx::kept::weights, smx::hidden_packs::computed>;
};

template <class Compute>
std::vector<Compute> all_factors() {
    using limits = std::numeric_limits<Compute>;
    bool const twice = sizeof(Compute) == 8;
    Compute const largest = twice ? static_cast<Compute>(0x1p1022) : static_cast<Compute>(0x1p126);
    Compute const smallest = twice ? static_cast<Compute>(0x1p-1012) : static_cast<Compute>(0x1p-120);
    std::vector<Compute> factors{1,
                                 Compute(0.125),
                                 3,
                                 Compute(1e-30),
                                 Compute(1e30),
                                 Compute(1e-38),
                                 3 / limits::max(),
                                 smallest,
                                 std::nextafter(smallest, Compute(0)),
                                 7 * limits::denorm_min(),
                                 limits::denorm_min(),
                                 largest,
                                 std::nextafter(largest, limits::max()),
                                 limits::max(),
                                 limits::infinity(),
                                 0};
    auto const count = factors.size();
    for (std::size_t at = 0; at < count; ++at) factors.push_back(-factors[at]);
    factors.push_back(limits::quiet_NaN());
    return factors;
}

template <class Compute>
std::vector<std::vector<Compute>> all_rows() {
    using limits = std::numeric_limits<Compute>;
    Compute const top = limits::max(), hides = -limits::infinity();
    std::vector<std::vector<Compute>> rows{
        {top},
        {-top},
        {hides},
        {limits::denorm_min()},
        {top, -top},
        {top, top / 2, hides, -top, 0, top},
        {-top, -top / 2, -top / 4},
        {-top, -top, -top, -top, hides},
        {top, 1, limits::infinity(), hides},
        {1, limits::quiet_NaN(), 2},
        {hides, hides, limits::quiet_NaN()},
        {limits::min(), -limits::min(), limits::denorm_min(), 0, Compute(-0.0)},
        std::vector<Compute>(40, hides),
    };
    support::random_stream random(8);
    for (int cols : {1, 7, 16, 41, 64}) {
        std::vector<Compute> mild(static_cast<std::size_t>(cols));
        for (auto& score : mild) score = static_cast<Compute>(random.normal());
        rows.push_back(mild);
        for (auto& score : mild) score = random.coin() ? score : hides;
        rows.push_back(mild);
        for (auto& score : mild) score *= top / 8;
        rows.push_back(mild);
    }
    return rows;
}

// A sentence about the first number of an answer that is not the reference's.
template <class Compute>
std::string wrong_in(answer<Compute> const& got, support::reference_row const& want) {
    auto const type = sizeof(Compute) == 8 ? support::arithmetic::in_double : support::arithmetic::in_float;
    int const keys = static_cast<int>(got.y.size());
    std::string const sentence = support::difference<Compute>(
        want, [&](int k) { return got.y[static_cast<std::size_t>(k)]; }, type);
    if (!sentence.empty()) return sentence;
    if (want.kind == support::row_kind::empty && !got.stats.empty()) return "an empty row has a sum";
    return support::difference_of("log-sum-exp", static_cast<double>(smx::log_sum_exp_of(got.stats)), want.log_sum_exp,
                                  want.largest_score + std::fabs(want.log_sum_exp), type, keys);
}

template <class Tile>
void expect_reference() {
    using compute = typename Tile::compute;
    auto const type = sizeof(compute) == 8 ? support::arithmetic::in_double : support::arithmetic::in_float;
    for (auto const& row : all_rows<compute>()) {
        for (compute factor : all_factors<compute>()) {
            auto const want = support::softmax_reference(
                static_cast<int>(row.size()),
                [&](int k) { return static_cast<double>(row[static_cast<std::size_t>(k)]); },
                static_cast<double>(factor), support::no_bias(), support::none_hidden(), support::empty_gives::uniform,
                type);
            ASSERT_EQ(wrong_in(answer_of<Tile>(row, factor, smx::no_mask(), smx::empty_row::uniform), want), "")
                << "factor " << factor << ", " << row.size() << " columns from " << row[0] << " on " << Tile::lanes
                << " lanes";
        }
    }
}

template <class Tiles>
void expect_reference_of_all() {
    expect_reference<typename Tiles::scores>();
    expect_reference<typename Tiles::weights>();
    expect_reference<typename Tiles::computed>();
}

// Where a product overflows, to either side, or takes every score to -infinity, too.
TEST(scale, any_factor_and_any_scores) {
    expect_reference_of_all<tiles<1, 8, 8, float>>();
    expect_reference_of_all<tiles<8, 4, 2, float>>();
    expect_reference_of_all<tiles<1, 4, 16, double>>();
    expect_reference_of_all<tiles<8, 2, 4, double>>();
}

template <class Tiles>
void expect_close_to_scores_kept() {
    using compute = typename Tiles::scores::compute;
    support::random_stream random(3);
    for (compute factor : all_factors<compute>()) {
        if (!(factor > 0 && factor < std::numeric_limits<compute>::infinity())) continue;
        std::vector<compute> x(61);
        // Of products about 1, as far as the factor allows.
        compute const size = std::fmin(1 / factor, std::numeric_limits<compute>::max() / 8);
        for (auto& score : x) score = static_cast<compute>(random.normal()) * size;
        auto const plain = answer_of<typename Tiles::scores>(x, factor, smx::no_mask());
        auto const close = [&](answer<compute> const& got) {
            compute const few = 16 * std::numeric_limits<compute>::epsilon();
            for (std::size_t at = 0; at < x.size(); ++at) ASSERT_NEAR(got.y[at], plain.y[at], plain.y[at] * few);
            EXPECT_EQ(got.stats.max, plain.stats.max);
            EXPECT_NEAR(got.stats.sum, plain.stats.sum, plain.stats.sum * few);
        };
        SCOPED_TRACE(::testing::Message() << "factor " << factor);
        close(answer_of<typename Tiles::weights>(x, factor, smx::no_mask()));
        close(answer_of<typename Tiles::computed>(x, factor, smx::no_mask()));
        if (::testing::Test::HasFatalFailure()) return;
    }
}

TEST(scale, what_waits_is_as_good_as_what_is_applied_at_once) {
    expect_close_to_scores_kept<tiles<1, 8, 8, float>>();
    expect_close_to_scores_kept<tiles<8, 4, 2, float>>();
    expect_close_to_scores_kept<tiles<1, 4, 16, double>>();
    expect_close_to_scores_kept<tiles<8, 2, 4, double>>();
}

// Equal scores, 2^n of them, are exact whatever they are: one visible column is 1. Hidden columns may hold anything.
template <class Tile>
void expect_exact_shares() {
    using compute = typename Tile::compute;
    using limits = std::numeric_limits<compute>;
    for (compute factor : all_factors<compute>()) {
        for (compute score :
             {compute(1), compute(-1), compute(0.1), compute(-77), compute(0), limits::max(), limits::lowest(),
              limits::min(), limits::denorm_min(), compute(1e-30), compute(-1e30), compute(3e4)}) {
            compute const volatile product = score * factor;
            if (!std::isfinite(product)) continue;
            for (int apart : {1, 2, 4, 64}) {
                std::vector<compute> x(64, limits::quiet_NaN());
                for (std::size_t at = 0; at < 64; ++at) x[at] = at % 2 == 1 ? x[at] : -limits::infinity();
                for (int at = apart - 1; at < 64; at += apart) x[static_cast<std::size_t>(at)] = score;
                auto const mask = smx::visible_where([=](smx::row_id, int col) { return col % apart == apart - 1; });
                auto const got = answer_of<Tile>(x, factor, mask);
                ASSERT_EQ(got.stats.max, product);
                ASSERT_EQ(got.stats.sum, compute(64 / apart)) << "factor " << factor << ", score " << score;
                for (int at = 0; at < 64; ++at) {
                    compute const want = at % apart == apart - 1 ? compute(apart) / 64 : compute(0);
                    ASSERT_EQ(got.y[static_cast<std::size_t>(at)], want) << "factor " << factor << ", score " << score;
                }
            }
        }
    }
}

TEST(scale, equal_scores_have_equal_shares_to_the_bit) {
    expect_exact_shares<tiles<1, 8, 8, float>::scores>();
    expect_exact_shares<tiles<1, 8, 8, float>::weights>();
    expect_exact_shares<tiles<1, 8, 8, float>::computed>();
    expect_exact_shares<tiles<8, 4, 2, float>::computed>();
    expect_exact_shares<tiles<1, 4, 16, double>::computed>();
    expect_exact_shares<tiles<8, 2, 4, double>::weights>();
}

TEST(scale, fixed) {
    smx::row_id const row{};
    EXPECT_EQ(smx::fixed_scale(0.1).value<double>(row), 0.1);
    EXPECT_EQ(smx::fixed_scale(0.1).value<float>(row), 0.1f);
    EXPECT_EQ(smx::inv_sqrt(64).value<float>(row), 0.125f);
    EXPECT_EQ(smx::inv_sqrt(128).value<double>(row), 1.0 / std::sqrt(128.0));
}

TEST(scale, read_when_the_row_runs) {
    float number = 2.0f;
    smx::device_scale const factor(&number);
    number = 3.0f;
    EXPECT_EQ(factor.value<float>({}), 3.0f);
    EXPECT_EQ(factor.value<double>({}), 3.0);
    double const wide = 0.1;
    EXPECT_EQ(smx::device_scale(&wide).value<double>({}), 0.1);
    EXPECT_EQ(smx::device_scale(&wide).value<float>({}), 0.1f);
    smx::half const half{0x3800};  // 0.5
    EXPECT_EQ(smx::device_scale(&half).value<float>({}), 0.5f);
}

TEST(scale, one_number_a_head) {
    float const numbers[] = {1.0f, -2.0f, 0.0f};
    smx::head_scale const factor(numbers);
    for (int head = 0; head < 3; ++head) EXPECT_EQ(factor.value<float>(smx::row_id{5, head, 7, 0, 1}), numbers[head]);
}

#if defined(__x86_64__)
// Every pass over a row must see the same score, whatever the compiler does with the sums that follow: were one product
// fused into the subtraction after it, the difference of the largest score to itself would not be 0.
template <class Compute>
__attribute__((target("fma,avx2"))) Compute distance_to_own_maximum(std::vector<Compute> const& values,
                                                                    Compute factor) {
    using tile = smx::tile<1, 8, 4, Compute>;
    tile t{};
    int const cols = static_cast<int>(values.size());
    t.cover(0, {0, cols}, 0, {0, cols});
    for (int p = 0; p < t.packs_to_visit(); ++p) {
        for (int i = 0; i < 8; ++i) t.middle[p][i] = values[static_cast<std::size_t>(t.pack_column(p) + i)];
    }
    smx::scale(t, factor);
    Compute top = t.middle[0][0];
    for (int p = 0; p < t.packs_to_visit(); ++p) {
        for (int i = 0; i < 8; ++i) top = t.middle[p][i] > top ? t.middle[p][i] : top;
    }
    Compute closest = Compute(1);
    for (int p = 0; p < t.packs_to_visit(); ++p) {
        for (int i = 0; i < 8; ++i) {
            Compute const distance = top - t.middle[p][i];
            closest = distance < closest ? distance : closest;
        }
    }
    return closest;
}

TEST(scale, passes_see_the_same_score) {
    if (!__builtin_cpu_supports("fma") || !__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this machine has no FMA";
    support::random_stream random(6);
    for (int turn = 0; turn < 200; ++turn) {
        std::vector<float> singles(32);
        std::vector<double> doubles(32);
        for (auto& value : singles) value = static_cast<float>(random.normal());
        for (auto& value : doubles) value = random.normal();
        ASSERT_EQ(distance_to_own_maximum(singles, 0.37f), 0.0f);
        ASSERT_EQ(distance_to_own_maximum(doubles, 0.37), 0.0);
    }
}
#endif

// A factor of this size can wait until the difference of two scores: it stays finite in the exponent, and where the
// difference overflows the weight is 0 anyway.
template <class Real>
void expect_waiting_factors() {
    Real const top = std::numeric_limits<Real>::max();
    Real const largest = smx::largest_waiting_factor<Real>(), smallest = smx::smallest_waiting_factor<Real>();
    EXPECT_TRUE(std::isfinite(largest * Real(1.4426950408889634)));
    EXPECT_GT(largest, top / 8);
    EXPECT_EQ(smx::exponential(-top * smallest * 2), Real(0));
    EXPECT_TRUE(std::isnormal(smallest));
    EXPECT_LT(smallest * top, Real(10000));
}

TEST(scale, factors_that_can_wait) {
    expect_waiting_factors<float>();
    expect_waiting_factors<double>();
}

}  // namespace
