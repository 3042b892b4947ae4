// Faults of published versions of this operator, each as the input that shows it. Where a group can be broken the same
// way, the comparison is shown to notice.
#include <cstring>

#include "lanes/row_sweep.hpp"
#include "support/compare.hpp"

namespace {

using support::index;
using support::shape4;

// A group whose all_reduce goes wrong as Break::repair says: (right value, own value, rank).
template <class Group, class Break>
class broken_group {
public:
    static constexpr int size = Group::size;
    struct storage {};
    explicit broken_group(Group& g) : g_(g) {}
    int rank() const { return g_.rank(); }
    void sync() { g_.sync(); }
    template <class Value, class Op>
    Value all_reduce(Value value, Op op) {
        return Break::all_reduce(g_, value, op);
    }

private:
    Group& g_;
};

// Carriers for check_row: fibers whose groups are broken.
template <class Break>
struct broken_fibers {
    template <int Lanes, class Function>
    static void run(Function&& function) {
        support::run_lanes<Lanes>([&](auto& g) {
            broken_group<std::remove_reference_t<decltype(g)>, Break> broken(g);
            function(broken);
        });
    }
};

// Only lane 0 has the result, the others go on with what they had.
struct result_in_lane_zero {
    template <class Group, class Value, class Op>
    static Value all_reduce(Group& g, Value value, Op op) {
        Value const all = g.all_reduce(value, op);
        return g.rank() == 0 ? all : value;
    }
};

// Each 32 lanes reduce among themselves.
struct each_warp_alone {
    template <class Value>
    struct per_warp {
        Value of[8];
    };
    template <class Group, class Value, class Op>
    static Value all_reduce(Group& g, Value value, Op op) {
        per_warp<Value> mine;
        for (Value& one : mine.of) one = smx::neg_inf<Value>();
        bool const sums = op(Value(1), Value(1)) == Value(2);
        if (sums) mine = {};
        mine.of[g.rank() / 32] = value;
        auto const each = [op](per_warp<Value> a, per_warp<Value> const& b) {
            for (int warp = 0; warp < 8; ++warp) a.of[warp] = op(a.of[warp], b.of[warp]);
            return a;
        };
        return g.all_reduce(mine, each).of[g.rank() / 32];
    }
};

template <class Carrier, class Numbers>
std::string row_with_maximum_at(int cols, int column) {
    support::mask_material const material(shape4{1, 1, 1, cols}, 1);
    auto scores = support::make_scores<float>(support::pattern::mild, static_cast<std::size_t>(cols), cols, 2);
    scores[static_cast<std::size_t>(column)] = 60;
    return lanes::check_row(lanes::runner<Carrier, lanes::resident_body, Numbers>(), lanes::mask_named("no_mask"),
                            material, scores, 0, 0, 0);
}

// "__shared__ float row_max used by a block whose four warps each hold a different row"
TEST(published_faults, warps_of_a_block_hold_rows_of_their_own) {
    using tile = smx::tile<32, 4, 1>;
    constexpr int cols = 100;
    float const level[] = {0, 1000, -1000, 3e30f};
    std::vector<float> x, y(4 * cols, -1.0f);
    for (float base : level) {
        auto const row = support::make_scores<float>(support::pattern::mild, cols, cols, 4);
        for (float score : row) x.push_back(score + base);
    }
    smx::dense_input<float> const input{x.data(), {0, 0, cols, 1}};
    smx::dense_output<float> const output{y.data(), {0, 0, cols, 1}};
    for (auto order : {support::lane_order::ascending, support::lane_order::descending}) {
        support::run_groups<32>(
            4,
            [&](auto& g, int row) {
                smx::softmax_row<tile>(g, input, 1.0f, smx::no_mask(), output, smx::row_id{0, 0, row, row, cols},
                                       smx::extents(4, cols));
            },
            order);
        for (int row = 0; row < 4; ++row) {
            auto const want = support::softmax_reference(
                cols, [&](int k) { return static_cast<double>(x[static_cast<std::size_t>(row * cols + k)]); }, 1.0,
                support::no_bias{}, support::none_hidden{});
            EXPECT_EQ(support::difference<float>(
                          want, [&](int k) { return y[static_cast<std::size_t>(row * cols + k)]; },
                          support::arithmetic::in_float),
                      "")
                << "row " << row;
        }
    }
}

// "if (row >= rows) return; before __syncthreads()"
TEST(published_faults, groups_without_a_row_leave_whole) {
    using tile = smx::tile<8, 4, 1>;
    constexpr int rows = 3, cols = 5;  // four groups a block
    float const x[rows * cols] = {};
    float y[(rows + 1) * cols];
    for (float& one : y) one = -1;
    auto const o =
        smx::make_operands(smx::scores(x, {rows, cols}), smx::fixed_scale(1), smx::no_mask(), smx::probabilities(y));
    EXPECT_NO_THROW(support::run_groups<8>(4, [&](auto& g, int group) {
        if (group < o.rows.count()) smx::run_resident<tile>(g, o, group);
    }));
    for (int at = 0; at < rows * cols; ++at) EXPECT_EQ(y[at], 0.2f);
    for (int at = rows * cols; at < (rows + 1) * cols; ++at) EXPECT_EQ(y[at], -1.0f);
    // Lanes of one group that leave alone are a divergent collective.
    EXPECT_THROW(support::run_lanes<8>([&](auto& g) {
                     if (g.rank() < 5) smx::run_resident<tile>(g, o, 0);
                 }),
                 support::divergent_collective);
}

// "reduction by shuffle-down, then every lane uses its own value"
TEST(published_faults, every_lane_has_the_maximum) {
    using tile = smx::tile<32, 1, 4>;
    for (int column = 0; column < 128; column += 5)
        EXPECT_EQ((row_with_maximum_at<lanes::fibers, tile>(128, column)), "");
    EXPECT_NE((row_with_maximum_at<broken_fibers<result_in_lane_zero>, tile>(128, 64)), "")
        << "the comparison must notice";
}

// "reduction within each warp only"
TEST(published_faults, rows_wider_than_a_warp_are_reduced_whole) {
    using tile = smx::tile<128, 1, 1>;
    for (int column : {0, 31, 32, 63, 64, 100, 127})
        EXPECT_EQ((row_with_maximum_at<lanes::fibers, tile>(128, column)), "");
    EXPECT_NE((row_with_maximum_at<broken_fibers<each_warp_alone>, tile>(128, 40)), "") << "the comparison must notice";
}

// "shuffling packed half values without widening"
TEST(published_faults, halves_of_a_word_keep_their_places) {
    auto const runner = lanes::runner<lanes::fibers, lanes::resident_body, smx::tile<4, 8, 5>, smx::half>();
    lanes::any_mask const& mask = lanes::mask_named("no_mask");
    // Neighbours differ by a factor of e: a swap shows anywhere, at any address.
    for (int cols : {2, 3, 8, 31, 64, 129}) {
        std::vector<smx::half> scores;
        for (int k = 0; k < cols; ++k) scores.push_back(support::stored<smx::half>::make(k % 2 == 0 ? 1.0 : 2.0));
        support::mask_material const material(shape4{1, 1, 1, cols}, 1);
        for (std::size_t offset = 0; offset < 8; ++offset) {
            lanes::row_options options;
            options.x_offset = offset;
            options.y_offset = (offset * 3) % 8;
            ASSERT_EQ(lanes::check_row(runner, mask, material, scores, 0, 0, 0, options), "")
                << cols << " columns, offset " << offset;
        }
    }
}

template <class Mask>
std::vector<float> rows_of(std::vector<float> const& x, smx::extents const& shape, Mask const& mask,
                           double factor = 1.0) {
    std::vector<float> y(x.size(), -7.0f);
    EXPECT_TRUE(smx::softmax_on_host(smx::scores(x.data(), shape), smx::fixed_scale(factor), mask,
                                     smx::probabilities(y.data())));
    return y;
}

// "mask pointer advanced as if the mask had x's full shape"
TEST(published_faults, broadcast_masks_end_where_they_end) {
    constexpr int batches = 2, heads = 3, queries = 5;
    for (int keys : {7, 1500}) {
        auto const x = support::make_scores<float>(support::pattern::mild,
                                                   static_cast<std::size_t>(batches * heads * queries * keys), keys, 1);
        smx::extents const shape(batches, heads, queries, keys);
        // [B, 1, 1, K], a different set for each batch, and nothing readable behind it.
        support::fenced_buffer<unsigned char> flags(static_cast<std::size_t>(batches * keys));
        for (int at = 0; at < batches * keys; ++at)
            flags[static_cast<std::size_t>(at)] = at % (at < keys ? 2 : 3) == 0 ? 1 : 0;
        auto const y = rows_of(x, shape, smx::mask_tensor(flags.data(), smx::broadcast({batches, 1, 1, keys})));
        for (int row = 0; row < batches * heads * queries; ++row) {
            int const batch = row / (heads * queries);
            for (int k = 0; k < keys; ++k) {
                bool const visible = flags[static_cast<std::size_t>(batch * keys + k)] != 0;
                ASSERT_EQ(y[static_cast<std::size_t>(row * keys + k)] > 0, visible)
                    << "row " << row << ", column " << k;
            }
        }
        // On lanes, with a mask that ends at its last byte.
        lanes::sweep(lanes::runner<lanes::fibers, lanes::online_body, smx::tile<32, 8, 2>>(),
                     lanes::mask_named("mask_tensor"), {keys});
    }
}

// "fully masked row: -inf - -inf"
TEST(published_faults, a_fully_masked_row_is_zeros) {
    for (int cols : {1, 4, 31, 33, 1024, 1025, 8192, 100000}) {
        std::vector<float> x(static_cast<std::size_t>(cols));
        for (int k = 0; k < cols; ++k) x[static_cast<std::size_t>(k)] = static_cast<float>(k);
        std::vector<unsigned char> const none(x.size(), 0);
        for (float y : rows_of(x, {1, cols}, smx::mask_tensor(none.data(), {0, 0, 0, 1}))) ASSERT_EQ(y, 0.0f);
        int const length = 0;
        for (float y : rows_of(x, {1, cols}, smx::key_lengths(&length))) ASSERT_EQ(y, 0.0f);
        for (float y : rows_of(x, {1, cols}, smx::causal_mask::diagonal(-1))) ASSERT_EQ(y, 0.0f);
    }
}

// A lane, or 255 of them, may see nothing although the row does.
TEST(published_faults, lanes_that_see_nothing_do_no_harm) {
    float const hidden = -std::numeric_limits<float>::infinity();
    auto const block = lanes::runner<lanes::fibers, lanes::resident_body, smx::tile<256, 4, 1>>();
    auto const warp = lanes::runner<lanes::fibers, lanes::staged_body, smx::tile<32, 4, 1>>();
    for (int cols : {8, 1000, 1024}) {
        for (int column : {0, cols / 2, cols - 1}) {
            std::vector<float> scores(static_cast<std::size_t>(cols), hidden);
            scores[static_cast<std::size_t>(column)] = 10;
            support::mask_material const material(shape4{1, 1, 1, cols}, 1);
            lanes::any_mask const& mask = lanes::mask_named("no_mask");
            EXPECT_EQ(lanes::check_row(block, mask, material, scores, 0, 0, 0), "");
            EXPECT_EQ(lanes::check_row(warp, mask, material, scores, 0, 0, 0), "");
        }
    }
}

// "fill of -1e4 or -1e9 instead of exclusion"
TEST(published_faults, hidden_is_excluded_not_filled) {
    unsigned char const keep_first[] = {1, 0};
    auto const y = rows_of({-20000, 5}, {1, 2}, smx::mask_tensor(keep_first, {0, 0, 0, 1}));
    EXPECT_EQ(y[0], 1.0f);
    EXPECT_EQ(y[1], 0.0f);
    auto const huge = rows_of({-3e38f, 3e38f}, {1, 2}, smx::mask_tensor(keep_first, {0, 0, 0, 1}));
    EXPECT_EQ(huge[0], 1.0f);
    EXPECT_EQ(huge[1], 0.0f);
    // A small scale does not bring the hidden back.
    auto const scaled = rows_of({0, 0}, {1, 2}, smx::mask_tensor(keep_first, {0, 0, 0, 1}), 1e-5);
    EXPECT_EQ(scaled[0], 1.0f);
    EXPECT_EQ(scaled[1], 0.0f);
    // An additive -65504 in half is a number: it is added in float, where it does not round to -infinity.
    smx::half const x[] = {support::stored<smx::half>::make(-16), support::stored<smx::half>::make(-20)};
    smx::half const lowest[] = {support::stored<smx::half>::make(-65504), support::stored<smx::half>::make(-65504)};
    float sums[2];
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(x, {1, 2}), smx::fixed_scale(1),
                                     smx::bias_tensor(lowest, {0, 0, 0, 1}), smx::probabilities(sums)));
    EXPECT_NEAR(static_cast<double>(sums[0]), 0.982014, 1e-4);
    EXPECT_NEAR(static_cast<double>(sums[1]), 0.017986, 1e-4);
}

// "columns must be a multiple of 4"
TEST(published_faults, any_number_of_columns) {
    auto const runner = lanes::runner<lanes::fibers, lanes::resident_body, smx::tile<32, 8, 1>, smx::half>();
    for (int cols = 1; cols <= 129; ++cols) {
        support::mask_material const material(shape4{1, 1, 1, cols}, 1);
        auto const scores =
            support::make_scores<smx::half>(support::pattern::mild, static_cast<std::size_t>(cols), cols, 5);
        ASSERT_EQ(lanes::check_row(runner, lanes::mask_named("no_mask"), material, scores, 0, 0, 0), "") << cols;
    }
}

// "contiguity assumed"
TEST(published_faults, sliced_and_transposed_views) {
    constexpr int batches = 2, heads = 3, queries = 4, keys = 9;
    // [B, Q, H, K + 2] in memory, sliced to K and read as [B, H, Q, K].
    auto const stored =
        support::make_scores<float>(support::pattern::mild, batches * queries * heads * (keys + 2), keys + 2, 6);
    smx::strides const step{queries * heads * (keys + 2), keys + 2, heads * (keys + 2), 1};
    std::vector<float> packed, y(batches * heads * queries * keys);
    for (int b = 0; b < batches; ++b) {
        for (int h = 0; h < heads; ++h) {
            for (int q = 0; q < queries; ++q) {
                for (int k = 0; k < keys; ++k) {
                    packed.push_back(
                        stored[static_cast<std::size_t>(b * step.batch + h * step.head + q * step.query + k)]);
                }
            }
        }
    }
    smx::extents const shape(batches, heads, queries, keys);
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(stored.data(), shape, step), smx::fixed_scale(1), smx::no_mask(),
                                     smx::probabilities(y.data())));
    auto const want = rows_of(packed, shape, smx::no_mask());
    for (std::size_t at = 0; at < y.size(); ++at)
        ASSERT_NEAR(static_cast<double>(y[at]), static_cast<double>(want[at]), 1e-6);
    // A column stride is refused, never ignored.
    EXPECT_EQ(smx::check(smx::scores(stored.data(), shape, {1, 1, 1, 2}), smx::fixed_scale(1), smx::no_mask(),
                         smx::probabilities(y.data()))
                  .code,
              smx::errc::bad_stride);
}

// NaN under the mask, and garbage of every bit pattern, stay there.
TEST(published_faults, what_is_hidden_cannot_leak) {
    unsigned char const flags[] = {1, 0, 1};
    float const nan = std::numeric_limits<float>::quiet_NaN();
    float const infinity = std::numeric_limits<float>::infinity();
    for (float garbage : {nan, infinity, -infinity, 3e38f, -nan}) {
        auto const y = rows_of({1, garbage, 2}, {1, 3}, smx::mask_tensor(flags, {0, 0, 0, 1}));
        EXPECT_NEAR(static_cast<double>(y[0]), 0.268941, 1e-6);
        EXPECT_EQ(y[1], 0.0f);
        EXPECT_NEAR(static_cast<double>(y[2]), 0.731059, 1e-6);
    }
    // A scale of zero makes a NaN of a hidden infinity, which must not count either.
    auto const zero = rows_of({1, infinity, 2}, {1, 3}, smx::mask_tensor(flags, {0, 0, 0, 1}), 0.0);
    EXPECT_EQ(zero[0], 0.5f);
    EXPECT_EQ(zero[1], 0.0f);
}

}  // namespace
