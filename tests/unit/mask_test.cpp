// mask.hpp: masks that compose, by span and by bits, and the verb that makes hidden scores -infinity.
#include "smx/mask.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "smx/mask/bias.hpp"
#include "smx/mask/bits.hpp"
#include "smx/mask/causal.hpp"
#include "smx/mask/lengths.hpp"
#include "smx/mask/predicate.hpp"
#include "smx/mask/tensor.hpp"
#include "smx/row/resident.hpp"
#include "support/compare.hpp"
#include "support/emulated_group.hpp"
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
TEST(mask, both_of_spans_and_bits) { expect_case<support::structured_bits_case>(); }
TEST(mask, either_of_span_and_bits) { expect_case<support::either_bits_case>(); }
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

// A tile of one lane that holds columns [0, cols) with every slot that is loaded set to `score`, the others as load
// leaves them.
template <class Tile>
Tile filled_tile(int cols, int head, float score, smx::interval visible) {
    Tile t{};
    t.cover(0, {0, cols}, head, visible);
    for (int p = 0; p < Tile::packs; ++p)
        t.middle[p] = smx::filled_pack<Tile::vec>(t.touches_seen(p) ? score : -infinity);
    for (int i = 0; i < Tile::edges; ++i) t.edge[i] = t.edge_is_seen(t.edge_column(i)) ? score : -infinity;
    return t;
}

// Packs that no later step looks at are left out.
template <class Tile, class Check>
void for_each_column(Tile const& t, Check const& check) {
    t.for_live_registers([&](int p) {
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

template <class Mask>
constexpr bool spans_row_of(Mask const&) {
    return smx::spans_row<decltype(std::declval<Mask const&>().bind({}, {}))>;
}

TEST(mask, which_masks_see_the_row_or_nothing) {
    int const length = 3;
    float const bias = 0;
    unsigned char const flag = 1;
    auto const flags = smx::mask_tensor(&flag, {0, 0, 0, 0});
    unsigned const word = 1;
    auto const bits = smx::mask_bits(&word, {0, 0, 0, 1});
    auto const biases = smx::bias_tensor(&bias, {0, 0, 0, 0});
    auto const predicate = smx::visible_where([](smx::row_id, int) { return true; });
    auto const causal = smx::causal_mask::top_left();
    smx::key_lengths const lengths(&length);
    EXPECT_TRUE(spans_row_of(smx::no_mask()) && spans_row_of(flags) && spans_row_of(biases) && spans_row_of(predicate));
    EXPECT_FALSE(spans_row_of(causal) || spans_row_of(lengths) || spans_row_of(careless()));
    EXPECT_TRUE(spans_row_of(bits) && spans_row_of(smx::both(bits, flags)));
    EXPECT_TRUE(spans_row_of(smx::both(flags, biases, predicate)) && spans_row_of(smx::either(flags, predicate)));
    EXPECT_FALSE(spans_row_of(smx::both(flags, causal)) || spans_row_of(smx::both(lengths, flags)));
    EXPECT_FALSE(spans_row_of(smx::either(flags, causal)) || spans_row_of(smx::either(lengths, flags)));
}

// A scale that waits in the tile is applied before a bias is added to the scores, by masks without biases not at all.
TEST(mask, the_scale_comes_before_a_bias) {
    using tile = smx::tile<1, 4, 3, float, smx::kept::weights>;
    std::vector<float> const values(11, 5.0f);
    smx::row_id const row{0, 0, 0, 0, 11};
    auto t = filled_tile<tile>(11, 1, 3.0f, {0, 11});
    smx::scale(t, 0.5f);
    smx::mask(t, smx::bias_tensor(values.data(), {0, 0, 0, 1}).bind(row, {1, 11}));
    EXPECT_EQ(t.factor, 1.0f);
    for_each_column(t, [](int, float score) { EXPECT_EQ(score, 6.5f); });
    t = filled_tile<tile>(11, 1, 3.0f, {0, 11});
    smx::scale(t, 0.5f);
    std::vector<unsigned char> const flags(11, 1);
    smx::mask(t, smx::mask_tensor(flags.data(), {0, 0, 0, 1}).bind(row, {1, 11}));
    EXPECT_EQ(t.factor, 0.5f);
    for_each_column(t, [](int, float score) { EXPECT_EQ(score, 3.0f); });
}

// A row of which nothing can be visible.
struct unasked {
    static constexpr bool tests = true;
    static constexpr bool biases = true;
    static constexpr bool spans_row = true;
    smx::interval span() const { return {0, 0}; }
    template <int V>
    unsigned visible(int col) const {
        ADD_FAILURE() << "asked about " << col;
        return ~0U;
    }
    void add_to(smx::pack<float, 4>&, int col) const { ADD_FAILURE() << "asked about " << col; }
    void add_to(smx::pack<float, 1>&, int col) const { ADD_FAILURE() << "asked about " << col; }
};

// Where hidden packs are computed, no mask asks about what was not loaded.
TEST(mask, packs_that_were_not_loaded_are_not_asked_about) {
    using tile = smx::tile<1, 4, 3, float, smx::kept::scores, smx::hidden_packs::computed>;
    auto t = filled_tile<tile>(11, 1, -infinity, {0, 0});
    smx::mask(t, unasked());
    for_each_column(t, [](int, float score) { EXPECT_EQ(score, -infinity); });
    // Nor about anything, where nothing is hidden.
    t = filled_tile<tile>(11, 1, 2.0f, {0, 11});
    smx::mask(t, smx::no_mask{}.bind({0, 0, 0, 0, 11}, {1, 11}));
    for_each_column(t, [](int, float score) { EXPECT_EQ(score, 2.0f); });
}

using bias_of = std::function<double(int)>;
using visible_in = std::function<bool(int)>;

// One row, hidden elements of x being NaN and infinities; run(x, factor, y) is what is tested.
void expect_nothing_leaks_by(std::function<void(float const*, float, float*)> const& run, int cols, int lanes,
                             bias_of const& bias, visible_in const& visible) {
    support::random_stream random(static_cast<unsigned long long>(cols));
    float const garbage[] = {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity, 3e38f};
    std::vector<float> x(static_cast<std::size_t>(cols));
    for (int k = 0; k < cols; ++k) {
        bool const shown = visible(k) && bias(k) != -std::numeric_limits<double>::infinity();
        x[static_cast<std::size_t>(k)] = shown ? static_cast<float>(random.normal()) : garbage[k % 4];
    }
    support::guarded_buffer<float> const input(x, 1);
    for (float factor : {0.5f, -0.5f, 0.0f, -0.0f, 1e-30f, 0x1p126f, std::numeric_limits<float>::max(), -infinity}) {
        support::guarded_buffer<float> y(x.size(), 1);
        run(input.data(), factor, y.data());
        auto const want = support::softmax_reference(
            cols, [&](int k) { return static_cast<double>(x[static_cast<std::size_t>(k)]); },
            static_cast<double>(factor), bias, visible, support::empty_gives::uniform);
        ASSERT_TRUE(y.intact());
        ASSERT_EQ(support::difference<float>(
                      want, [&](int k) { return y[static_cast<std::size_t>(k)]; }, support::arithmetic::in_float),
                  "")
            << cols << " columns on " << lanes << " lanes, factor " << factor;
    }
}

// On one kind of tile: all that is compiled anew for each.
template <int Lanes, smx::kept Kept, smx::hidden_packs Hidden, smx::product Product, class Mask>
void expect_nothing_leaks_from(int cols, Mask const& mask, bias_of const& bias, visible_in const& visible) {
    using tile = smx::tile<Lanes, 4, Lanes == 1 ? 16 : 2, float, Kept, Hidden, Product>;
    auto const run = [&](float const* x, float factor, float* y) {
        support::run_lanes<Lanes>([&](auto& g) {
            smx::softmax_row<tile>(g, smx::dense_input<float>{x, {0, 0, 0, 1}}, factor, mask,
                                   smx::dense_output<float>{y, {0, 0, 0, 1}}, smx::row_id{0, 0, 0, 0, cols},
                                   smx::extents(1, cols), smx::empty_row::uniform);
        });
    };
    expect_nothing_leaks_by(run, cols, Lanes, bias, visible);
}

// Tiles that a mask goes over: the one a kernel has for it, and where it sees a part of its row the other one that a
// kernel may have; or all that can be composed by hand.
enum class tiles { of_kernels, any };

template <int Lanes, smx::kept Kept, tiles Tiles, class Mask>
void expect_nothing_leaks(int cols, Mask const& mask, bias_of const& bias, visible_in const& visible) {
    using smx::hidden_packs;
    using smx::product;
    using seen = decltype(mask.bind(smx::row_id(), smx::extents()));
    constexpr auto weighed = product::until_weighed;
    constexpr auto latest = smx::mask_biases<seen> ? product::until_biased : weighed;
    if constexpr (smx::spans_row<seen>) {
        expect_nothing_leaks_from<Lanes, Kept, hidden_packs::all_or_none, latest>(cols, mask, bias, visible);
    }
    if constexpr (!smx::spans_row<seen> || Tiles == tiles::any) {
        expect_nothing_leaks_from<Lanes, Kept, hidden_packs::computed, latest>(cols, mask, bias, visible);
        expect_nothing_leaks_from<Lanes, Kept, hidden_packs::skipped, latest>(cols, mask, bias, visible);
    }
    if constexpr (smx::mask_biases<seen> && Tiles == tiles::any) {
        expect_nothing_leaks_from<Lanes, Kept, hidden_packs::computed, weighed>(cols, mask, bias, visible);
        expect_nothing_leaks_from<Lanes, Kept, hidden_packs::skipped, weighed>(cols, mask, bias, visible);
        if constexpr (smx::spans_row<seen>) {
            expect_nothing_leaks_from<Lanes, Kept, hidden_packs::all_or_none, weighed>(cols, mask, bias, visible);
        }
    }
}

template <int Lanes, smx::kept Kept, tiles Tiles>
void expect_nothing_leaks_of_any() {
    for (int cols : {1, 3, 8, 29, 64}) {
        support::random_stream random(7);
        std::vector<unsigned char> flags(static_cast<std::size_t>(cols));
        std::vector<float> biases(flags.size());
        for (auto& flag : flags) flag = random.coin() ? 1 : 0;
        for (auto& bias : biases) bias = random.coin(0.3) ? -infinity : static_cast<float>(random.normal());
        auto const flag_at = [&](int k) { return flags[static_cast<std::size_t>(k)] != 0; };
        auto const bias_at = [&](int k) { return static_cast<double>(biases[static_cast<std::size_t>(k)]); };
        auto const shown = smx::mask_tensor(flags.data(), {0, 0, 0, 1});
        auto const added = smx::bias_tensor(biases.data(), {0, 0, 0, 1});
        support::none_hidden const all;
        support::no_bias const unbiased;
        expect_nothing_leaks<Lanes, Kept, Tiles>(cols, smx::no_mask(), unbiased, all);
        expect_nothing_leaks<Lanes, Kept, Tiles>(cols, shown, unbiased, flag_at);
        expect_nothing_leaks<Lanes, Kept, Tiles>(cols, smx::hidden_where(flags.data(), {0, 0, 0, 1}), unbiased,
                                                 [&](int k) { return !flag_at(k); });
        std::vector<unsigned> words(static_cast<std::size_t>(smx::words_for<unsigned>(cols)));
        for (unsigned& word : words) word = static_cast<unsigned>(random.bits());
        auto const bit_at = [&](int k) { return (words[static_cast<std::size_t>(k / 32)] >> k % 32 & 1) != 0; };
        auto const bits = smx::mask_bits(words.data(), {0, 0, 0, 1});
        expect_nothing_leaks<Lanes, Kept, Tiles>(cols, bits, unbiased, bit_at);
        expect_nothing_leaks<Lanes, Kept, Tiles>(cols, added, bias_at, all);
        expect_nothing_leaks<Lanes, Kept, Tiles>(cols, smx::both(shown, added), bias_at, flag_at);
        // A part of the row.
        for (int const length : {0, 1, cols / 3, cols / 2 + 1, cols}) {
            auto const first = smx::key_lengths(&length), last = smx::key_lengths(&length, smx::padding::left);
            auto const in_first = [&](int k) { return k < length; };
            auto const in_last = [&](int k) { return k >= cols - length; };
            expect_nothing_leaks<Lanes, Kept, Tiles>(cols, first, unbiased, in_first);
            expect_nothing_leaks<Lanes, Kept, Tiles>(cols, last, unbiased, in_last);
            expect_nothing_leaks<Lanes, Kept, Tiles>(cols, smx::both(first, last), unbiased,
                                                     [&](int k) { return in_first(k) && in_last(k); });
            expect_nothing_leaks<Lanes, Kept, Tiles>(cols, smx::both(last, shown), unbiased,
                                                     [&](int k) { return in_last(k) && flag_at(k); });
            expect_nothing_leaks<Lanes, Kept, Tiles>(cols, smx::both(last, bits), unbiased,
                                                     [&](int k) { return in_last(k) && bit_at(k); });
            expect_nothing_leaks<Lanes, Kept, Tiles>(cols, smx::both(first, added), bias_at, in_first);
            expect_nothing_leaks<Lanes, Kept, Tiles>(cols, smx::both(last, shown, added), bias_at,
                                                     [&](int k) { return in_last(k) && flag_at(k); });
        }
        // One flag for the row: the row, or nothing.
        for (unsigned char const flag : {static_cast<unsigned char>(0), static_cast<unsigned char>(1)}) {
            auto const of_row = smx::mask_tensor(&flag, {0, 0, 0, 0});
            auto const flagged = [&](int) { return flag != 0; };
            expect_nothing_leaks<Lanes, Kept, Tiles>(cols, of_row, unbiased, flagged);
            expect_nothing_leaks<Lanes, Kept, Tiles>(cols, smx::both(of_row, added), bias_at, flagged);
            expect_nothing_leaks<Lanes, Kept, Tiles>(cols, smx::either(of_row, shown), unbiased,
                                                     [&](int k) { return flag != 0 || flag_at(k); });
        }
    }
}

TEST(mask, hidden_elements_never_leak) {
    expect_nothing_leaks_of_any<1, smx::kept::weights, tiles::of_kernels>();
    expect_nothing_leaks_of_any<8, smx::kept::scores, tiles::of_kernels>();
    expect_nothing_leaks_of_any<8, smx::kept::weights, tiles::any>();
}

// A tile goes through a row in chunks: what was fetched for the packs of one says nothing of those of the next.
TEST(mask, biases_of_the_chunk_before_are_forgotten) {
    std::vector<float> const biases(64, 1.0f);
    auto const mask = smx::bias_tensor(biases.data(), {0, 0, 0, 1});
    smx::row_id const row{0, 0, 0, 0, 64};
    auto const bound = mask.bind(row, {1, 64});
    using tile =
        smx::tile<2, 4, 4, float, smx::kept::weights, smx::hidden_packs::all_or_none, smx::product::until_biased>;
    smx::read_ahead<tile, decltype(mask.bind(row, {1, 64}))> seen(bound);
    ASSERT_TRUE(decltype(seen)::fetches);
    tile t{};
    t.cover(0, {0, 32}, 0, {0, 64});
    seen.fetch(t);
    t.cover(0, {32, 40}, 0, {0, 64});
    seen.fetch(t);
    for (int p = 0; p < tile::packs; ++p) {
        auto scores = smx::filled_pack<4>(0.0f);
        bound.add_to(scores, 0, seen.fetched[p]);
        for (float const score : scores.data) EXPECT_EQ(score, p == 0 ? 1.0f : -infinity) << "pack " << p;
    }
}

}  // namespace
