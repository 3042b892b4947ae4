// mask.hpp: masks that compose, by span and by bits, and the verb that makes hidden scores -infinity.
#include "smx/mask.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "smx/mask/bias.hpp"
#include "smx/mask/causal.hpp"
#include "smx/mask/lengths.hpp"
#include "smx/mask/predicate.hpp"
#include "smx/mask/tensor.hpp"
#include "support/mask_cases.hpp"
#include "support/mask_check.hpp"

namespace {

using support::index;
using support::shape4;

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(mask, no_mask_sees_everything) { support::expect_mask(smx::no_mask{}, {2, 2, 3, 37}, support::none_hidden{}); }

template <class Case>
void expect_case() {
    for (auto const& shape :
         {shape4{3, 2, 5, 37}, shape4{2, 2, 37, 5}, shape4{2, 1, 3, 100}, shape4{1, 1, 40, 40}, shape4{2, 1, 2, 0}}) {
        for (unsigned long long seed = 1; seed <= 4; ++seed) {
            support::mask_material const material(shape, seed);
            support::expect_mask(
                Case::mask(material), shape,
                [&](index b, index h, index q, int k) { return Case::visible(material, b, h, q, k); },
                [&](index b, index h, index q, int k) {
                    return static_cast<double>(static_cast<float>(Case::bias(material, b, h, q, k)));
                });
        }
    }
}

TEST(mask, both_of_two_spans) { expect_case<support::causal_and_padding_case>(); }
TEST(mask, either_of_span_flags_and_window) { expect_case<support::either_case>(); }
TEST(mask, either_in_both) { expect_case<support::two_ends_case>(); }
TEST(mask, a_mask_of_ones_own) { expect_case<support::written_window_case>(); }
TEST(mask, a_predicate) { expect_case<support::written_predicate_case>(); }

TEST(mask, both_of_spans_stays_a_span) {
    using both = decltype(smx::both(smx::causal_mask::top_left(), smx::no_mask()).bind({}, {}));
    static_assert(!smx::mask_tests<both> && !smx::mask_biases<both>, "absent features leave nothing behind");
    int const length = 3;
    using three =
        decltype(smx::both(smx::causal_mask::top_left(), smx::key_lengths(&length), smx::no_mask()).bind({}, {}));
    static_assert(!smx::mask_tests<three> && !smx::mask_biases<three>);
    EXPECT_EQ(
        smx::both(smx::causal_mask::diagonal(4), smx::key_lengths(&length)).bind({0, 0, 0, 0, 10}, {1, 10}).span().end,
        3);
}

// Answers "visible" for anything it is asked, and its span is [4, 8).
struct careless {
    struct row {
        static constexpr bool tests = true;
        smx::interval span() const { return {4, 8}; }
        template <int V>
        unsigned visible(int col) const {
            EXPECT_LT(col, 8);
            EXPECT_GT(col + V, 4);
            return ~0U;
        }
    };
    row bind(smx::row_id, smx::extents) const { return {}; }
};

TEST(mask, either_asks_each_part_only_inside_its_own_span) {
    support::expect_mask(smx::either(careless{}, smx::causal_mask::diagonal(-20)), {1, 1, 3, 40},
                         [](index, index, index, int k) { return k >= 4 && k < 8; });
    support::expect_mask(smx::either(careless{}, smx::causal_mask::diagonal(20)), {1, 1, 3, 40},
                         [](index, index, index q, int k) { return (k >= 4 && k < 8) || k <= q + 20; });
}

TEST(mask, intersections_without_common_columns_are_empty) {
    int const length = 5;
    auto const mask = smx::both(smx::causal_mask::top_left(), smx::key_lengths(&length, smx::padding::left));
    support::expect_mask(mask, {1, 1, 4, 40}, [](index, index, index, int) { return false; });
}

TEST(mask, biases_of_both_are_added) {
    float const first[] = {1.0f, -infinity, 2.0f, -infinity, 0.5f};
    float const second[] = {0.25f, 1.0f, -infinity, -infinity, std::numeric_limits<float>::quiet_NaN()};
    double const want[] = {1.25, -INFINITY, -INFINITY, -INFINITY, NAN};
    smx::strides const step{0, 0, 0, 1};
    auto const bias = [&](index, index, index, int k) { return want[k]; };
    support::expect_mask(smx::both(smx::bias_tensor(first, step), smx::bias_tensor(second, step)), {1, 1, 1, 5},
                         support::none_hidden{}, bias);
    support::expect_mask(smx::both(smx::bias_tensor(second, step), smx::bias_tensor(first, step)), {1, 1, 1, 5},
                         support::none_hidden{}, bias);
}

// A bias of -infinity selects, also over a NaN: whichever of the two comes first.
TEST(mask, biases_of_both_do_not_depend_on_their_order) {
    float const hides[] = {-infinity, -infinity};
    float const poisons[] = {std::numeric_limits<float>::quiet_NaN(), infinity};
    smx::strides const step{0, 0, 0, 1};
    auto const bias = [](index, index, index, int) { return -INFINITY; };
    support::expect_mask(smx::both(smx::bias_tensor(poisons, step), smx::bias_tensor(hides, step)), {1, 1, 1, 2},
                         support::none_hidden{}, bias);
    support::expect_mask(smx::both(smx::bias_tensor(hides, step), smx::bias_tensor(poisons, step)), {1, 1, 1, 2},
                         support::none_hidden{}, bias);
}

// A tile of one lane that holds columns [0, cols) with every slot set to `score`.
template <class Tile>
Tile filled_tile(int cols, int head, float score, smx::interval visible) {
    Tile t{};
    t.cover(0, {0, cols}, head, visible);
    for (auto& pack : t.middle) pack = smx::filled_pack<Tile::vec>(score);
    for (float& one : t.edge.data) one = score;
    return t;
}

// Packs that no later step looks at are left out.
template <class Tile, class Check>
void for_each_column(Tile const& t, Check const& check) {
    t.for_live_packs([&](int p) {
        for (int i = 0; i < Tile::vec; ++i) check(t.pack_column(p) + i, t.middle[p][i]);
    });
    for (int i = 0; i < t.edges_to_visit(); ++i) check(t.edge_column(i), t.edge[i]);
}

TEST(mask, the_verb_makes_hidden_scores_minus_infinity) {
    using tile = smx::tile<1, 8, 4>;
    for (int cols = 0; cols <= tile::capacity; ++cols) {
        for (int head : {0, 3}) {
            for (int end = 0; end <= cols; ++end) {
                smx::extents const shape(1, cols);
                auto const seen = smx::causal_mask::diagonal(end - 1).bind({0, 0, 0, 0, cols}, shape);
                auto t = filled_tile<tile>(cols, head, std::numeric_limits<float>::quiet_NaN(), seen.span());
                smx::mask(t, seen);
                for_each_column(t, [&](int column, float score) {
                    if (column < end) {
                        ASSERT_TRUE(std::isnan(score)) << column << " of " << cols << ", span ends at " << end;
                    } else {
                        ASSERT_EQ(score, -infinity) << column << " of " << cols << ", span ends at " << end;
                    }
                });
            }
        }
    }
}

TEST(mask, the_verb_leaves_visible_scores_alone) {
    auto t = filled_tile<smx::tile<1, 4, 3>>(11, 1, 1.5f, {0, 11});
    smx::mask(t, smx::no_mask{}.bind({0, 0, 0, 0, 11}, {1, 11}));
    for_each_column(t, [](int, float score) { EXPECT_EQ(score, 1.5f); });
}

}  // namespace
