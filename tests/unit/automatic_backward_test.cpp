// automatic_backward.hpp: every row has a kernel that a backward pass can run, with half the packs of a forward pass.
#include "smx/automatic_backward.hpp"

#include <gtest/gtest.h>

#include "smx/mask/bias.hpp"
#include "smx/mask/causal.hpp"
#include "smx/row/summed_backward.hpp"

namespace {

constexpr smx::device_limits h200{227 * 1024, true, 16, 132}, old{48 * 1024, false, 1, 40};

template <class Element, class Mask = smx::no_mask>
smx::policy chosen(smx::int64 cols, smx::device_limits limits = h200) {
    smx::row_shape shape;
    shape.cols = cols;
    return smx::choose_backward_policy<Element, Mask>(shape, limits);
}

template <class Element>
void expect_fitting_kernels() {
    for (smx::device_limits const& limits : {h200, old}) {
        for (smx::int64 cols = 0; cols <= 600000; cols += cols < 9000 ? 1 : 997) {
            for (smx::policy const& p : {chosen<Element>(cols, limits), chosen<Element, smx::causal_mask>(cols, limits),
                                         chosen<Element, smx::bias_tensor<Element>>(cols, limits)}) {
                ASSERT_TRUE(p.body == smx::body_kind::resident || p.body == smx::body_kind::compact ||
                            p.body == smx::body_kind::online)
                    << cols;
                ASSERT_TRUE(p.body == smx::body_kind::online || cols <= p.columns()) << cols;
                ASSERT_LE(p.blocks, limits.cluster_blocks) << cols;
                ASSERT_LE(p.vec * p.packs, p.body == smx::body_kind::compact ? 64 : 32) << cols;
                // No more than four times the columns there are, above the shortest rows.
                ASSERT_TRUE(p.body == smx::body_kind::online || cols <= 64 || p.columns() <= 4 * cols) << cols;
            }
        }
    }
}

TEST(automatic_backward, every_row_has_a_kernel_that_holds_it) {
    expect_fitting_kernels<float>();
    expect_fitting_kernels<smx::half>();
    expect_fitting_kernels<double>();
}

TEST(automatic_backward, long_rows_are_read_twice) {
    EXPECT_EQ(chosen<float>(smx::most_columns).body, smx::body_kind::online);
    EXPECT_EQ(chosen<smx::half>(20000, old).body, smx::body_kind::online);
}

// A range of columns compiles fewer kernels.
template <class... Kernels>
constexpr int count_of(smx::kernel_list<Kernels...>) {
    return int{sizeof...(Kernels)};
}
TEST(automatic_backward, a_choice_compiles_what_it_reaches) {
    using input = smx::dense_input<smx::half>;
    using operands = smx::backward_operands<input, input, smx::fixed_scale, smx::no_mask, smx::dense_output<smx::half>>;
    constexpr int all = count_of(smx::detail::automatic_backward_kernels<operands>());
    constexpr int few = count_of(smx::detail::automatic_backward_kernels<operands, smx::for_columns<1000, 2000>>());
    EXPECT_LE(all, 20);
    EXPECT_LE(few, 4);
    EXPECT_GE(few, 1);
}

// With sums a lane holds a number more a column, as a number: no kernel keeps what is stored, and no lane of 512 has 4
// packs.
template <class Kernel>
void expect_room_for_sums(int held_bytes) {
    EXPECT_TRUE(Kernel::value.body == smx::body_kind::resident || Kernel::value.body == smx::body_kind::online);
    EXPECT_LE(Kernel::value.vec * Kernel::value.packs * held_bytes / 4, 96);
    EXPECT_LE(Kernel::value.threads * Kernel::value.vec * Kernel::value.packs, 8192);
}
template <class... Kernels>
void expect_room_for_sums(smx::kernel_list<Kernels...>, int held_bytes) {
    (expect_room_for_sums<Kernels>(held_bytes), ...);
}
TEST(automatic_backward, sums_have_room) {
    using input = smx::dense_input<smx::half>;
    using each = smx::backward_operands<input, input, smx::fixed_scale, smx::no_mask, smx::dense_output<smx::half>>;
    using summed = smx::summed_operands<each, smx::bias_sums<float>, smx::no_scale_gradients>;
    EXPECT_EQ((smx::resident<smx::warp_group<32>, 8, 2>::held_bytes<each>), 8);
    EXPECT_EQ((smx::resident<smx::warp_group<32>, 8, 2>::held_bytes<summed>), 12);
    EXPECT_EQ((smx::compact<smx::warp_group<32>, 8, 2>::held_bytes<summed>), 8);
    expect_room_for_sums(smx::detail::automatic_backward_kernels<summed>(), 12);
    EXPECT_LE(count_of(smx::detail::automatic_backward_kernels<summed>()), 20);
}

}  // namespace
