// Rows of heads that share a long mask are taken in panels: to the bit what each head gives by itself, which is taken
// by index.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "device/support.cuh"
#include "smx/smx.cuh"

namespace {

using smx::int64;

constexpr int64 heads = 3, queries = 2048;

// A bias of 8 bytes a number, so that few rows are long: 16 MB and more that the heads share.
class panels : public ::testing::Test {
protected:
    void SetUp() override {
        std::string const why = device::why_no_gpu();
        if (!why.empty()) GTEST_SKIP() << why;
    }

    // launch(x, mask, y, sums) of all heads at once and of one after another.
    template <class Launch>
    static void expect_same_bits(int64 cols, int64 x_gap, Launch const& launch) {
        int64 const step = cols + x_gap;
        auto const count = static_cast<std::size_t>(heads * queries);
        device::device_array<float> x(count * static_cast<std::size_t>(step)),
            y(count * static_cast<std::size_t>(cols)), expected(count * static_cast<std::size_t>(cols)), sums(count),
            expected_sums(count);
        device::device_array<double> bias(static_cast<std::size_t>(queries * cols));
        std::mt19937 random(5);
        std::normal_distribution<float> scores(0, 3);
        std::vector<float> numbers(count * static_cast<std::size_t>(step));
        for (float& one : numbers) one = scores(random);
        x.upload(numbers);
        std::vector<double> biases(static_cast<std::size_t>(queries * cols));
        for (double& one : biases) one = static_cast<double>(scores(random));
        bias.upload(biases);

        auto const x_step = [&](int64 of_heads) {
            return smx::strides{of_heads * queries * step, queries * step, step, 1};
        };
        smx::bias_tensor const shared(bias.data(), {0, 0, cols, 1});
        ASSERT_GT(smx::detail::shared_row_bytes(shared, {1, heads, queries, cols}) * queries, 12 << 20);
        ASSERT_TRUE(launch(smx::scores(x.data(), {1, heads, queries, cols}, x_step(heads)), shared,
                           smx::probabilities(y.data()), smx::log_sum_exp(sums.data())));
        for (int64 head = 0; head < heads; ++head) {
            ASSERT_TRUE(launch(smx::scores(x.data() + head * queries * step, {1, 1, queries, cols}, x_step(1)), shared,
                               smx::probabilities(expected.data() + head * queries * cols),
                               smx::log_sum_exp(expected_sums.data() + head * queries)));
        }
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        std::vector<float> const is = y.download(), must_be = expected.download();
        EXPECT_EQ(std::memcmp(is.data(), must_be.data(), is.size() * sizeof(float)), 0);
        std::vector<float> const are = sums.download(), must_all_be = expected_sums.download();
        EXPECT_EQ(std::memcmp(are.data(), must_all_be.data(), are.size() * sizeof(float)), 0);
    }

    template <class Kernel>
    static void expect_same_bits_of(int64 cols, int64 x_gap) {
        expect_same_bits(cols, x_gap, [](auto const& x, auto const& bias, auto const& y, auto const& sums) {
            return smx::launch<Kernel>(nullptr, x, smx::fixed_scale(0.5), bias, y, sums);
        });
    }
};

TEST_F(panels, of_whole_rows) {
    using kernel = smx::detail::with_whole_rows<smx::resident<smx::block_group<128>, 4, 4>>;
    expect_same_bits_of<kernel>(1024, 0);
    expect_same_bits_of<kernel>(1024, 4);
}
TEST_F(panels, of_rows_by_blocks) {
    expect_same_bits_of<smx::resident<smx::block_group<128>, 4, 4>>(1025, 0);
    expect_same_bits_of<smx::resident<smx::block_group<128>, 4, 4>>(1024, 1);
}
TEST_F(panels, of_rows_by_warps) { expect_same_bits_of<smx::resident<smx::warp_group<32>, 4, 8>>(1001, 3); }
TEST_F(panels, of_rows_read_twice) { expect_same_bits_of<smx::chunked_online<smx::block_group<128>, 4, 2>>(1031, 0); }
// These move the rows of a block as one piece, and lie in the order of their index.
TEST_F(panels, are_not_for_packed_rows) {
    expect_same_bits(1021, 0, [](auto const& x, auto const& bias, auto const& y, auto const& sums) {
        smx::status const s =
            smx::launch<smx::packed<smx::warp_group<32>, 1, 32>>(nullptr, x, smx::fixed_scale(0.5), bias, y, sums);
        return s.code == smx::errc::device_limit ? smx::launch<smx::resident<smx::warp_group<32>, 4, 8>>(
                                                       nullptr, x, smx::fixed_scale(0.5), bias, y, sums)
                                                 : s;
    });
}
TEST_F(panels, of_the_kernels_that_launch_auto_takes) {
    expect_same_bits(1040, 0, [](auto const& x, auto const& bias, auto const& y, auto const& sums) {
        return smx::launch_auto<smx::batch_invariant<1025, 1100>>(nullptr, x, smx::fixed_scale(0.5), bias, y, sums);
    });
}

}  // namespace
