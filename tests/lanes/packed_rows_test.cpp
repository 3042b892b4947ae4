// row/packed_rows.hpp: rows that lie in one piece of memory, each by a group of its own, as a block runs them after its
// bulk copy.
#include "smx/row/packed_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/compare.hpp"
#include "support/emulated_group.hpp"
#include "support/mask_cases.hpp"

namespace {

// Rows [first, first + count) of x are copied to memory in the same phase of 16 bytes, run there in place, and
// compared.
template <int Lanes, class T>
void expect_stretch(int cols, int rows_in_block, long long first, std::size_t phase) {
    using tile = smx::tile<Lanes, 16 / int{sizeof(T)}, 8, smx::compute_of<T>, smx::kept::weights>;
    support::shape4 const shape{1, 2, 9, cols};
    support::mask_material const material(shape, 3);
    long long const rows = 18;
    auto const scores =
        support::make_scores<T>(support::pattern::mild, static_cast<std::size_t>(rows * cols), std::max(cols, 1), 7);
    std::vector<float> sums(18, 77.0f);
    T y_unused{};
    using kind = support::causal_and_padding_case;
    auto const o =
        smx::make_operands(smx::scores(scores.data(), {1, 2, 9, cols}), smx::fixed_scale(0.5), kind::mask(material),
                           smx::probabilities(&y_unused), smx::log_sum_exp(sums.data()));
    int const count = static_cast<int>(std::min<long long>(rows_in_block, rows - first));
    std::vector<T> const piece(scores.begin() + first * cols, scores.begin() + (first + count) * cols);
    support::guarded_buffer<T> memory(piece, phase);
    support::run_groups<Lanes>(rows_in_block, [&](auto& g, int group) {
        smx::run_stretch<tile>(g, o, memory.data(), memory.data(), first, count, group);
    });
    ASSERT_TRUE(memory.intact());
    auto const type = support::arithmetic_of<T>;
    for (int r = 0; r < rows; ++r) {
        auto const at = static_cast<std::size_t>(r);
        if (r < first || r >= first + count) {
            ASSERT_EQ(sums[at], 77.0f) << "row " << r << " is not of this stretch";
            continue;
        }
        auto const want = support::softmax_reference_at(
            shape, 0, r / 9, r % 9,
            [&](long long, long long, long long, int k) {
                return support::stored<T>::value(scores[static_cast<std::size_t>(r * cols + k)]);
            },
            0.5, support::no_bias{},
            [&](long long b, long long h, long long q, int k) { return kind::visible(material, b, h, q, k); },
            support::empty_gives::zeros, type);
        ASSERT_EQ(support::difference<T>(
                      want, [&](int k) { return memory[static_cast<std::size_t>((r - first) * cols + k)]; }, type),
                  "")
            << "row " << r << " of " << cols << " columns, phase " << phase;
        ASSERT_EQ(support::difference_of("log-sum-exp", static_cast<double>(sums[at]), want.log_sum_exp,
                                         want.largest_score + std::fabs(want.log_sum_exp),
                                         support::arithmetic::in_float, cols),
                  "");
    }
}

template <int Lanes, class T>
void expect_stretches() {
    for (int cols : {1, 2, 3, 7, 8, 9, 17, 31, 33, 63}) {
        if (cols > Lanes * (16 / int{sizeof(T)}) * 8) break;
        for (std::size_t phase = 0; phase < 16 / sizeof(T); ++phase) {
            expect_stretch<Lanes, T>(cols, 4, 0, phase);
            expect_stretch<Lanes, T>(cols, 4, 16, phase);  // the last block has two rows for four groups
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST(packed_rows, half_on_one_lane) { expect_stretches<1, smx::half>(); }
TEST(packed_rows, half_on_eight_lanes) { expect_stretches<8, smx::half>(); }
TEST(packed_rows, float_on_two_lanes) { expect_stretches<2, float>(); }
TEST(packed_rows, float_on_thirty_two_lanes) { expect_stretches<32, float>(); }
TEST(packed_rows, double_on_four_lanes) { expect_stretches<4, double>(); }

}  // namespace
