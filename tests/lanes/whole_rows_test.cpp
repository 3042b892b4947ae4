// Rows of whole packs by their own way, on emulated lanes: the probabilities and log-sum-exps of the host path.
#include <gtest/gtest.h>

#include <cmath>

#include "lanes/slice_group.hpp"
#include "smx/kernel_lists.hpp"
#include "support/data.hpp"
#include "support/guarded_buffer.hpp"
#include "support/mask_cases.hpp"

namespace lanes {

namespace {

// Every row of a call by a kernel's tile, on `Slices` times its lanes.
template <class T, class Kernel, int Slices, class Mask>
void expect_the_host_path(smx::extents shape, Mask const& mask) {
    auto const count = static_cast<std::size_t>(shape.batch * shape.heads * shape.queries * shape.keys);
    auto const rows = static_cast<std::size_t>(shape.batch * shape.heads * shape.queries);
    auto const scores = support::make_scores<T>(support::pattern::peaky, count, static_cast<int>(shape.keys), 5);
    support::guarded_buffer<T> const x(scores, 0);
    support::guarded_buffer<T> y(count, 0), expected(count, 0);
    support::guarded_buffer<float> sums(rows, 0), expected_sums(rows, 0);
    smx::fixed_scale const scale(0.37);

    auto o = smx::make_operands(smx::scores(x.data(), shape), scale, mask, smx::probabilities(y.data()),
                                smx::log_sum_exp(sums.data()));
    ASSERT_EQ(o.whole.count, rows) << "memory that is no multiple of 16 bytes?";
    o.rows.share(Slices, Kernel::value.vec);
    o.whole.launch_as(Slices > 1 ? o.rows.slice_columns() : 0, false, true);
    using tile = typename Kernel::template tile_of<decltype(o)>;
    for (unsigned row = 0; row < o.whole.count; ++row) {
        if constexpr (Slices == 1) {
            support::run_lanes<tile::lanes>([&](auto& g) { smx::run_whole_row<tile>(g, o, row); });
        } else {
            slices<Slices>::template run<tile::lanes>([&](auto& g) { smx::run_whole_row<tile>(g, o, row); });
        }
    }

    ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), shape), scale, mask, smx::probabilities(expected.data()),
                                     smx::log_sum_exp(expected_sums.data())));
    double const unit = sizeof(T) == 2 ? 1e-3 : 1e-6;
    for (std::size_t i = 0; i < count; ++i) {
        double const value = smx::dtype<T>::widen(y[i]), other = smx::dtype<T>::widen(expected[i]);
        ASSERT_NEAR(value, other, unit * std::abs(other) + 1e-7) << shape.keys << " columns, element " << i;
    }
    for (std::size_t i = 0; i < rows; ++i) {
        if (std::isinf(expected_sums[i])) {
            ASSERT_EQ(sums[i], expected_sums[i]);
        } else {
            ASSERT_NEAR(sums[i], expected_sums[i], 1e-5 * std::abs(expected_sums[i]) + 1e-6);
        }
    }
}

template <class T, class Kernel, int Slices = 1>
void expect_every_mask(std::vector<int> const& lengths) {
    for (int cols : lengths) {
        smx::extents const shape{2, 2, 3, cols};
        support::mask_material const material(support::shape4{2, 2, 3, cols}, 9);
        auto const flags = smx::mask_tensor(material.flags.data(), material.flag_steps);
        auto const bias = smx::bias_tensor(material.biases.data(), material.bias_steps);
        auto const lengths_of_keys = smx::key_lengths(material.lengths.data());
        expect_the_host_path<T, Kernel, Slices>(shape, smx::no_mask());
        expect_the_host_path<T, Kernel, Slices>(shape, smx::causal_mask::top_left());
        expect_the_host_path<T, Kernel, Slices>(shape, lengths_of_keys);
        expect_the_host_path<T, Kernel, Slices>(shape, flags);
        expect_the_host_path<T, Kernel, Slices>(
            shape, smx::both(smx::causal_mask::bottom_right(), lengths_of_keys, flags, bias));
    }
}

TEST(whole_rows, half_on_a_part_of_a_warp) {
    expect_every_mask<smx::half, smx::resident<smx::warp_group<16>, 8, 1>>({8, 16, 64, 120, 128});
    expect_every_mask<smx::half, smx::resident<smx::warp_group<8>, 8, 2>>({8, 72, 128});
}
TEST(whole_rows, float_on_a_warp) {
    expect_every_mask<float, smx::resident<smx::warp_group<32>, 4, 2>>({4, 100, 128, 132, 256});
}
TEST(whole_rows, half_as_stored) { expect_every_mask<smx::half, smx::compact<smx::warp_group<4>, 8, 3>>({8, 40, 96}); }
TEST(whole_rows, in_slices) {
    expect_every_mask<float, smx::resident<smx::warp_group<4>, 4, 2>, 3>({4, 16, 32, 36, 64, 96});
    expect_every_mask<smx::half, smx::resident<smx::warp_group<4>, 8, 2>, 2>({8, 24, 64, 72, 128});
}

}  // namespace

}  // namespace lanes
