// Compiled with --use_fast_math, as some projects compile everything: what is hidden, empty or not finite is as exact
// as ever (B077).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "device/support.cuh"
#include "smx/smx.cuh"
#include "support/reference.hpp"
#include "support/stored.hpp"

namespace {

using device::device_array;
using support::stored;

class fast_math : public ::testing::Test {
protected:
    void SetUp() override {
        std::string const why = device::why_no_gpu();
        if (!why.empty()) GTEST_SKIP() << why;
    }
};

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int rows = 9;

double score(int row, int k) {
    switch (row) {
        case 1:
            return -1000.0 - k % 16;
        case 2:
            return -49152.0;
        case 3:
            return 0.0;
        case 4:
            return k == 7 ? std::nan("") : 1.0;
        case 5:
            return k == 7 ? infinity : 1.0;
        case 6:
            return -infinity;
        default:
            return 0.25 * ((k * 37 + row * 11) % 41) - 5;
    }
}

bool visible(int row, int k) { return row == 0 ? k % 3 != 1 : row < 8; }

// Every score of a hidden column is NaN. Bound: of the exponentials that fast math makes.
template <class Kernel, class T>
void expect_rows(int cols) {
    auto const at = [&](int row, int k) { return static_cast<std::size_t>(row * cols + k); };
    std::vector<T> scores(at(rows, 0));
    std::vector<unsigned char> flags(scores.size());
    for (int row = 0; row < rows; ++row) {
        for (int k = 0; k < cols; ++k) {
            scores[at(row, k)] = stored<T>::make(visible(row, k) ? score(row, k) : std::nan(""));
            flags[at(row, k)] = visible(row, k) ? 1 : 0;
        }
    }
    device_array<T> x(scores.size()), y(scores.size());
    device_array<unsigned char> mask(scores.size());
    device_array<float> sums(rows);
    x.upload(scores);
    mask.upload(flags);
    for (auto rule : {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan}) {
        y.poison();
        smx::status const s =
            smx::launch<Kernel>(nullptr, smx::scores<T>(x.data(), {rows, cols}), smx::fixed_scale(0.5),
                                smx::mask_tensor<unsigned char>(mask.data(), smx::packed_strides({rows, cols})),
                                smx::probabilities(y.data()), rule, smx::log_sum_exp(sums.data()));
        ASSERT_TRUE(s.ok()) << s.argument << ": " << s.requirement;
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        std::vector<T> const got = y.download();
        std::vector<float> const sum = sums.download();
        for (int row = 0; row < rows; ++row) {
            auto const want = support::softmax_reference(
                cols, [&](int k) { return stored<T>::value(scores[at(row, k)]); }, 0.5, support::no_bias{},
                [&](int k) { return visible(row, k); },
                rule == smx::empty_row::zeros     ? support::empty_gives::zeros
                : rule == smx::empty_row::uniform ? support::empty_gives::uniform
                                                  : support::empty_gives::nan);
            for (int k = 0; k < cols; ++k) {
                double const is = stored<T>::value(got[at(row, k)]), wanted = want.y[static_cast<std::size_t>(k)];
                bool const right =
                    std::isnan(wanted) ? std::isnan(is)
                    : wanted == 0
                        ? is == 0
                        : std::fabs(is - wanted) <= 1e-5 * wanted + 1.001 * stored<T>::half_step_at(wanted) + 0x1p-126;
                ASSERT_TRUE(right) << "row " << row << ", column " << k << " of " << cols << ": got " << is << ", want "
                                   << wanted;
            }
            double const total = static_cast<double>(sum[static_cast<std::size_t>(row)]);
            if (want.kind == support::row_kind::undefined) {
                EXPECT_TRUE(std::isnan(total)) << "row " << row;
            } else if (want.kind == support::row_kind::empty) {
                EXPECT_EQ(total, -infinity) << "row " << row;
            } else {
                EXPECT_NEAR(total, want.log_sum_exp, 1e-4 + 1e-6 * std::fabs(want.log_sum_exp)) << "row " << row;
            }
        }
    }
}

// Kernels of this file alone: nothing links them with ones that were compiled otherwise.
TEST_F(fast_math, by_one_lane) { expect_rows<smx::resident<smx::thread_group, 4, 7>, float>(19); }
TEST_F(fast_math, by_a_warp) { expect_rows<smx::resident<smx::warp_group<32>, 8, 3>, smx::half>(500); }
TEST_F(fast_math, by_a_block) { expect_rows<smx::resident<smx::block_group<96>, 4, 3>, float>(1001); }
TEST_F(fast_math, as_stored) { expect_rows<smx::compact<smx::block_group<96>, 8, 6>, smx::bfloat16>(4001); }
TEST_F(fast_math, staged) { expect_rows<smx::chunked_staged<smx::block_group<96>, 4, 3>, float>(5003); }
TEST_F(fast_math, read_twice) { expect_rows<smx::chunked_online<smx::block_group<96>, 8, 3>, smx::half>(9001); }

}  // namespace
