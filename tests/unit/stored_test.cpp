// Tiles that keep their scores as they are stored (kept::stored): the answers of a tile that keeps weights, to the bit
// where the factor can wait, and those of the reference with every other factor.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "smx/smx.hpp"
#include "support/compare.hpp"
#include "support/data.hpp"
#include "support/guarded_buffer.hpp"

namespace {

constexpr int vec = 8, packs = 5, longest = vec * packs;

template <class X, smx::hidden_packs Hidden>
using stored_tile = smx::tile<1, vec, packs, float, smx::kept::stored, Hidden, smx::product::until_weighed, X>;
template <smx::hidden_packs Hidden>
using weights_tile = smx::tile<1, vec, packs, float, smx::kept::weights, Hidden>;

template <class X, class Y>
struct row_of {
    std::vector<X> x;
    std::size_t x_offset, y_offset;  // elements past a multiple of 16 bytes
    double factor;
    smx::empty_row when_empty = smx::empty_row::zeros;
};

template <class Y>
struct answer {
    std::vector<Y> y;
    smx::statistics<float> stats;
};

template <class Tile, class X, class Y, class Mask>
answer<Y> run(row_of<X, Y> const& r, Mask const& mask, int query, int queries) {
    auto const cols = static_cast<int>(r.x.size());
    support::guarded_buffer<X> x(r.x.size(), r.x_offset);
    support::guarded_buffer<Y> y(r.x.size(), r.y_offset);
    std::copy(r.x.begin(), r.x.end(), x.data());
    smx::thread_group g;
    smx::row_id row{};
    row.query = query;
    row.cols = cols;
    answer<Y> got;
    got.stats = smx::softmax_row<Tile>(g, smx::dense_input<X>{x.data(), {0, 0, 0, 1}}, static_cast<float>(r.factor),
                                       mask, smx::dense_output<Y>{y.data(), {0, 0, 0, 1}}, row,
                                       smx::extents(1, 1, queries, cols), r.when_empty);
    got.y.assign(y.data(), y.data() + cols);
    EXPECT_TRUE(y.intact());
    return got;
}

struct pair_of_halves {
    using x = smx::half;
    using y = smx::half;
};
struct half_to_float {
    using x = smx::half;
    using y = float;
};
struct pair_of_bfloat16s {
    using x = smx::bfloat16;
    using y = smx::bfloat16;
};

template <class Pair>
class stored_scores : public ::testing::Test {
public:
    using x_type = typename Pair::x;
    using y_type = typename Pair::y;

    // visit(row, sentence) for lengths, patterns and addresses.
    template <class Visit>
    static void for_rows(std::vector<double> const& factors, Visit const& visit) {
        unsigned long long seed = 1;
        for (double factor : factors) {
            for (int cols : {1, 7, 8, 9, 16, 23, 31, 32, 33, 39, 40}) {
                for (support::pattern pattern : support::all_patterns) {
                    ++seed;
                    row_of<x_type, y_type> r{
                        support::make_scores<x_type>(pattern, static_cast<std::size_t>(cols), cols, seed), seed % 3,
                        seed % 5, factor, seed % 2 == 0 ? smx::empty_row::zeros : smx::empty_row::uniform};
                    // A head takes a pack's place where packs start later in the row.
                    if (static_cast<int>(r.x_offset) > 0 && cols > longest - vec) r.x_offset = 0;
                    visit(r, std::string(support::name_of(pattern)) + " scores, " + std::to_string(cols) +
                                 " columns, factor " + support::in_words(factor));
                    if (::testing::Test::HasFatalFailure()) return;
                }
            }
        }
    }

    template <smx::hidden_packs Hidden, class Mask>
    static void expect_bits_of_weights(Mask const& mask) {
        for_rows({1.0, 0.125, 3.0}, [&](auto const& r, std::string const& words) {
            for (int query : {0, 5, 12, 39}) {
                auto const one = run<stored_tile<x_type, Hidden>>(r, mask, query, 40);
                auto const other = run<weights_tile<Hidden>>(r, mask, query, 40);
                // In a NaN row hidden columns may be 0 or NaN, and any NaN will do.
                ASSERT_EQ(std::isnan(one.stats.sum), std::isnan(other.stats.sum)) << words;
                if (std::isnan(one.stats.sum)) continue;
                ASSERT_EQ(std::memcmp(one.y.data(), other.y.data(), one.y.size() * sizeof(y_type)), 0)
                    << words << ", query " << query;
                ASSERT_EQ(std::memcmp(&one.stats, &other.stats, sizeof one.stats), 0) << words;
            }
        });
    }
};

using pairs = ::testing::Types<pair_of_halves, half_to_float, pair_of_bfloat16s>;
TYPED_TEST_SUITE(stored_scores, pairs);

TYPED_TEST(stored_scores, have_the_bits_of_weights) {
    this->template expect_bits_of_weights<smx::hidden_packs::all_or_none>(smx::no_mask{});
    this->template expect_bits_of_weights<smx::hidden_packs::skipped>(smx::causal_mask::top_left());
    this->template expect_bits_of_weights<smx::hidden_packs::computed>(smx::causal_mask::top_left());
}

TYPED_TEST(stored_scores, are_hidden_by_flags) {
    std::vector<unsigned char> flags(40 * 40);
    support::random_stream random(3);
    for (auto& flag : flags) flag = random.coin(0.7) ? 1 : 0;
    int const length = 29;
    auto const both =
        smx::both(smx::mask_tensor(flags.data(), {0, 0, 40, 1}), smx::key_lengths(&length, smx::padding::left));
    this->template expect_bits_of_weights<smx::hidden_packs::skipped>(both);
    this->template expect_bits_of_weights<smx::hidden_packs::all_or_none>(
        smx::mask_tensor(flags.data(), {0, 0, 40, 1}));
}

// Factors that cannot wait: zero, negative, tiny, huge, infinite and NaN.
TYPED_TEST(stored_scores, take_any_factor) {
    using X = typename TestFixture::x_type;
    using Y = typename TestFixture::y_type;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> const factors{0.0,    -0.0, -1.0,  -0.125, 1e-37,    -1e-37,    1e-42,
                                      -3e-45, 1e38, -2e38, 3.4e38, infinity, -infinity, std::nan("")};
    auto const expect = [](auto const& got, auto const& mask, auto const& r, std::string const& words) {
        auto const want = support::softmax_reference(
            static_cast<int>(r.x.size()),
            [&](int k) { return support::stored<X>::value(r.x[static_cast<std::size_t>(k)]); },
            static_cast<double>(static_cast<float>(r.factor)), [](int) { return 0.0; }, mask,
            r.when_empty == smx::empty_row::zeros ? support::empty_gives::zeros : support::empty_gives::uniform);
        ASSERT_EQ(support::difference<Y>(
                      want, [&](int k) { return got.y[static_cast<std::size_t>(k)]; }, support::arithmetic::in_float),
                  "")
            << words;
    };
    this->for_rows(factors, [&](auto const& r, std::string const& words) {
        expect(
            run<stored_tile<X, smx::hidden_packs::all_or_none>>(r, smx::no_mask{}, 0, 1), [](int) { return true; }, r,
            words);
        if (::testing::Test::HasFatalFailure()) return;
        expect(
            run<stored_tile<X, smx::hidden_packs::skipped>>(r, smx::causal_mask::top_left(), 12, 40),
            [](int k) { return k <= 12; }, r, words + ", causal");
    });
}

// Two scales one after the other are one.
TYPED_TEST(stored_scores, are_scaled_twice) {
    using X = typename TestFixture::x_type;
    std::vector<X> const x = support::make_scores<X>(support::pattern::mild, 16, 16, 5);
    smx::thread_group g;
    smx::row_id row{};
    row.cols = 16;
    stored_tile<X, smx::hidden_packs::all_or_none> once, twice;
    for (auto* t : {&once, &twice})
        smx::load(g, *t, smx::dense_input<X>{x.data(), {0, 0, 0, 1}}, row, smx::interval{0, 16});
    smx::scale(once, -0.5f);
    smx::scale(twice, -2.0f);
    smx::scale(twice, 0.25f);
    auto const a = smx::reduce(g, once), b = smx::reduce(g, twice);
    EXPECT_EQ(a.max, b.max);
    EXPECT_EQ(a.sum, b.sum);
}

TEST(split_factor, is_a_product) {
    for (float factor : {1.0f, -1.0f, 0.5f, -3.0f, 1e-37f, -1e-39f, 3e38f, -2e38f}) {
        smx::split_factor<float> const split(factor);
        EXPECT_EQ(static_cast<double>(split.for_stored) * static_cast<double>(split.waiting),
                  static_cast<double>(factor));
        EXPECT_GT(split.waiting, 1e-38f);
        EXPECT_LE(split.waiting, smx::largest_waiting_factor<float>());
    }
    for (float factor : {0.0f, -0.0f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
        smx::split_factor<float> const split(factor);
        EXPECT_EQ(split.waiting, 1.0f);
        EXPECT_EQ(std::memcmp(&split.for_stored, &factor, sizeof factor), 0);
    }
}

}  // namespace
