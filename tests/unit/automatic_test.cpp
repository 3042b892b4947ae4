// automatic.hpp: every length has a kernel that can run it, on every device, and what else decides.
#include "smx/automatic.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "smx/mask/bias.hpp"
#include "smx/mask/causal.hpp"

namespace {

constexpr smx::row_shape row_of(smx::int64 cols) {
    smx::row_shape shape;
    shape.cols = cols;
    return shape;
}

// Every short length, and those at and round every number that a policy may switch at.
std::vector<smx::int64> lengths() {
    std::set<smx::int64> all{100000, 1000000, 10000000, smx::most_columns - 1, smx::most_columns};
    for (smx::int64 cols = 0; cols <= 64; ++cols) all.insert(cols);
    for (smx::int64 power = 128; power <= smx::most_columns; power *= 2) {
        for (smx::int64 near : {power - 1, power, power + 1, power + power / 2}) {
            if (near <= smx::most_columns) all.insert(near);
        }
    }
    return std::vector<smx::int64>(all.begin(), all.end());
}

template <class T>
class choose_policy : public ::testing::Test {};
using storage_types = ::testing::Types<float, double, smx::half, smx::bfloat16>;
TYPED_TEST_SUITE(choose_policy, storage_types);

// Every combination of what else decides.
std::vector<smx::row_shape> row_shapes() {
    std::vector<smx::row_shape> all;
    for (smx::int64 cols : lengths()) {
        for (bool rows_touch : {false, true}) {
            smx::row_shape shape = row_of(cols);
            shape.rows_touch = rows_touch;
            all.push_back(shape);
        }
    }
    return all;
}

// An injected limit of the device: less shared memory, no bulk copies or no clusters mean another body, never none.
TYPED_TEST(choose_policy, every_length_has_a_kernel_on_every_device) {
    for (int cluster_blocks : {1, 8, 16}) {
        bool const bulk_copies = cluster_blocks > 1;
        for (smx::int64 shared : {smx::int64{0}, smx::int64{48 * 1024}, smx::int64{99 * 1024}, smx::int64{227 * 1024},
                                  smx::int64{4294967297}}) {
            smx::device_limits limits;
            limits.shared_bytes_per_block = shared;
            limits.bulk_copies = bulk_copies;
            limits.cluster_blocks = cluster_blocks;
            for (smx::row_shape const& shape : row_shapes()) {
                smx::policy const p = smx::choose_policy<TypeParam>(shape, limits);
                ASSERT_GE(p.lanes, 1) << shape.cols;
                ASSERT_GE(p.threads, 1) << shape.cols;
                ASSERT_LE(p.threads, 1024) << shape.cols;
                ASSERT_LE(p.blocks, cluster_blocks) << shape.cols;
                if (p.blocks > 1) {
                    ASSERT_EQ(p.threads * p.blocks, p.lanes) << shape.cols;
                } else {
                    ASSERT_EQ(p.threads % p.lanes, 0) << shape.cols;
                }
                if (smx::holds_row(p.body)) {
                    ASSERT_LE(shape.cols, p.columns());
                }
                if (p.body == smx::body_kind::packed) {
                    ASSERT_TRUE(bulk_copies && shape.rows_touch);
                    ASSERT_LE(shape.cols * static_cast<smx::int64>(sizeof(TypeParam)), shared);
                }
                if (p.body == smx::body_kind::staged) {
                    ASSERT_LE(shape.cols * static_cast<smx::int64>(sizeof(smx::compute_of<TypeParam>)), shared);
                }
            }
        }
    }
}

// What is longer than a block's registers waits in a cluster's, of as few blocks as hold it, and then in their shared
// memory too.
TYPED_TEST(choose_policy, long_rows_take_a_cluster) {
    constexpr smx::int64 vec = smx::pack_columns_of<smx::dense_input<TypeParam>>;
    smx::device_limits limits;
    limits.shared_bytes_per_block = 227 * 1024;
    limits.bulk_copies = true;
    limits.cluster_blocks = 16;
    constexpr smx::int64 block = vec == 8 ? 320 * 7 * vec : 512 * 4 * vec, longest = 16 * 512 * 21 * vec;
    EXPECT_EQ(smx::choose_policy<TypeParam>(row_of(block), limits).blocks, 1);
    for (smx::int64 cols = block + 1; cols <= longest; cols += cols / 16) {
        smx::policy const p = smx::choose_policy<TypeParam>(row_of(cols), limits);
        bool const is_deep = cols > 16 * (vec == 8 ? 128 : 256) * 8 * vec;
        ASSERT_EQ(p.body, is_deep ? smx::body_kind::deep : smx::body_kind::compact) << cols;
        ASSERT_GT(p.blocks, 1) << cols;
        ASSERT_GE(p.columns(), cols);
        if (!is_deep) {
            ASSERT_LT((p.blocks - 1) * p.columns() / p.blocks, cols) << "one block less holds it";
        }
    }
    EXPECT_EQ(smx::choose_policy<TypeParam>(row_of(longest), limits).body, smx::body_kind::deep);
    smx::body_kind const longer = smx::choose_policy<TypeParam>(row_of(longest + 1), limits).body;
    EXPECT_TRUE(longer == smx::body_kind::staged || longer == smx::body_kind::online);
    limits.cluster_blocks = 8;
    constexpr smx::int64 of_eight =
        8 * 512 * 16 * vec;  // as much in shared memory as in registers, in blocks that leave no place empty
    EXPECT_EQ(smx::choose_policy<TypeParam>(row_of(of_eight), limits).blocks, 8);
    EXPECT_EQ(smx::choose_policy<TypeParam>(row_of(of_eight + 1), limits).blocks, 1);
    limits.cluster_blocks = 1;
    smx::policy const without = smx::choose_policy<TypeParam>(row_of(block + 1), limits);
    EXPECT_EQ(without.blocks, 1);
    EXPECT_EQ(without.body, smx::body_kind::compact);
}

// A call that does not fill the GPU takes more lanes a row. Without a number of rows, or of multiprocessors, it fills.
TYPED_TEST(choose_policy, few_rows_take_more_lanes) {
    smx::device_limits limits;
    limits.shared_bytes_per_block = 227 * 1024;
    limits.bulk_copies = true;
    limits.cluster_blocks = 16;
    limits.multiprocessors = 132;
    for (smx::int64 cols : {8, 100, 128, 512, 1000, 4096, 5000, 16384, 20000, 32768}) {
        if (cols > 16 * 256 * 2 * smx::pack_columns_of<smx::dense_input<TypeParam>>)
            continue;  // too long for two packs
        smx::row_shape shape = row_of(cols);
        smx::policy const many = smx::choose_policy<TypeParam>(shape, limits);
        shape.rows = smx::int64{1} << 40;
        EXPECT_EQ(smx::choose_policy<TypeParam>(shape, limits), many) << cols;
        shape.rows = 3;
        smx::policy const few = smx::choose_policy<TypeParam>(shape, limits);
        // Of floats a block, or each of a cluster, holds four packs a lane: faster than twice the blocks with two.
        bool const is_wide = sizeof(TypeParam) >= 4 && cols > 1000;
        EXPECT_TRUE(few.lanes > many.lanes || few == many || is_wide) << cols;
        EXPECT_LE(few.packs, is_wide ? 4 : 2) << cols;
        EXPECT_GE(few.columns(), cols);
        limits.multiprocessors = 0;
        EXPECT_EQ(smx::choose_policy<TypeParam>(shape, limits), many) << cols;
        limits.multiprocessors = 132;
    }
}

// What is compiled: a kernel that stands in the list twice, once.
constexpr int count_of(smx::kernel_list<>) { return 0; }
template <class Kernel, class... Others>
constexpr int count_of(smx::kernel_list<Kernel, Others...>) {
    bool const again = (std::is_same_v<typename Kernel::plain, typename Others::plain> || ...);
    return (again ? 0 : 1) + count_of(smx::kernel_list<Others...>());
}
template <class Choice, class T = smx::half>
constexpr int kernels_of = count_of(smx::detail::automatic_kernels<smx::dense_input<T>, smx::no_mask::row, Choice>());

// A range of columns leaves few kernels, and for each of its rows the one that all would give.
template <class T, class Choice>
void expect_same_kernels(smx::device_limits limits) {
    for (smx::int64 cols : lengths()) {
        if (cols < Choice::from || cols > Choice::to) continue;
        for (smx::int64 rows : {smx::int64{0}, smx::int64{3}, smx::int64{1} << 40}) {
            for (bool rows_touch : {false, true}) {
                smx::row_shape shape = row_of(cols);
                shape.rows = rows;
                shape.rows_touch = rows_touch;
                smx::policy const chosen = smx::choose_policy<T, smx::no_mask, Choice>(shape, limits);
                if (!Choice::looks_at_rows) shape.rows = 0;
                ASSERT_EQ(chosen, smx::choose_policy<T>(shape, limits)) << cols << " columns, " << rows << " rows";
            }
        }
    }
}

TYPED_TEST(choose_policy, a_choice_gives_the_kernels_that_all_would) {
    for (int cluster_blocks : {1, 8, 16}) {
        for (bool bulk_copies : {false, true}) {
            smx::device_limits limits;
            limits.shared_bytes_per_block = 227 * 1024;
            limits.bulk_copies = bulk_copies;
            limits.cluster_blocks = cluster_blocks;
            limits.multiprocessors = 132;
            expect_same_kernels<TypeParam, smx::for_columns<1, 128>>(limits);
            expect_same_kernels<TypeParam, smx::for_columns<1, 16>>(limits);
            expect_same_kernels<TypeParam, smx::for_columns<8, 8>>(limits);
            expect_same_kernels<TypeParam, smx::for_columns<13, 15>>(limits);
            expect_same_kernels<TypeParam, smx::for_columns<129, 1024>>(limits);
            expect_same_kernels<TypeParam, smx::for_columns<1025, 4096>>(limits);
            expect_same_kernels<TypeParam, smx::for_columns<4097, 16384>>(limits);
            expect_same_kernels<TypeParam, smx::for_columns<16385, smx::most_columns>>(limits);
            expect_same_kernels<TypeParam, smx::batch_invariant<>>(limits);
            expect_same_kernels<TypeParam, smx::batch_invariant<100, 3000>>(limits);
        }
    }
}

template <class T>
constexpr bool has_few_kernels() {
    return kernels_of<smx::every_kernel, T> <= 32 && kernels_of<smx::for_columns<1, 128>, T> <= 12 &&
           kernels_of<smx::for_columns<129, 1024>, T> <= 12 && kernels_of<smx::for_columns<1025, 4096>, T> <= 12 &&
           kernels_of<smx::for_columns<4097, 16384>, T> <= 12 &&
           kernels_of<smx::for_columns<16385, smx::most_columns>, T> <= 12;
}

TEST(kernel_choice, a_range_has_at_most_twelve_kernels) {
    static_assert(has_few_kernels<smx::half>() && has_few_kernels<float>() && has_few_kernels<double>());
    static_assert(kernels_of<smx::for_columns<2048, 2048>> <= kernels_of<smx::for_columns<2000, 4096>>);
    static_assert(kernels_of<smx::batch_invariant<>> < kernels_of<smx::every_kernel>);
}

// A mask leaves no registers for more, but where scores wait as they are stored.
TYPED_TEST(choose_policy, a_mask_takes_no_more_than_four_packs_of_numbers) {
    smx::device_limits limits;
    limits.bulk_copies = true;
    limits.cluster_blocks = 16;
    for (smx::row_shape const& shape : row_shapes()) {
        smx::policy const causal = smx::choose_policy<TypeParam, smx::causal_mask>(shape, limits);
        ASSERT_LE(causal.packs, causal.body == smx::body_kind::compact ? 8 : 4) << shape.cols;
        smx::policy const biased = smx::choose_policy<TypeParam, smx::bias_tensor<float>>(shape, limits);
        ASSERT_LE(biased.packs, 4) << shape.cols;
        ASSERT_NE(biased.body, smx::body_kind::packed);
    }
}

// Rows move as stretches where they are very short or do not fill whole 16 bytes, and only there.
TYPED_TEST(choose_policy, short_uneven_rows_move_as_stretches) {
    smx::device_limits limits;
    limits.bulk_copies = true;
    constexpr smx::int64 vec = smx::pack_columns_of<smx::dense_input<TypeParam>>, very_short = vec == 8 ? 24 : vec == 4 ? 16 : 6;
    for (smx::int64 cols = 1; cols <= 12 * vec; ++cols) {
        smx::row_shape shape = row_of(cols);
        EXPECT_EQ(smx::choose_policy<TypeParam>(shape, limits).body == smx::body_kind::packed,
                  cols <= very_short || cols % vec != 0)
            << cols;
        shape.rows_touch = false;
        EXPECT_EQ(smx::choose_policy<TypeParam>(shape, limits).body, smx::body_kind::resident) << cols;
    }
}

TYPED_TEST(choose_policy, is_known_to_the_compiler) {
    constexpr smx::policy p = smx::choose_policy<TypeParam>(row_of(1000));
    static_assert(p == smx::choose_policy<TypeParam>(row_of(1000)));
    EXPECT_GE(p.columns(), 1);
}

}  // namespace
