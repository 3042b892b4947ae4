// policy.hpp and automatic.hpp: kernel types are numbers that compare, and every length has a kernel that can run it.
#include "smx/automatic.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace {

constexpr smx::row_shape row_of(smx::int64 cols) {
    smx::row_shape shape;
    shape.cols = cols;
    return shape;
}

TEST(policy, a_kernel_type_is_its_numbers) {
    using kernel = smx::resident<smx::block_group<128>, 8, 2>;
    static_assert(kernel::value.lanes == 128 && kernel::value.vec == 8 && kernel::value.packs == 2);
    static_assert(kernel::value.threads == 128);
    static_assert(kernel::value.body == smx::body_kind::resident);
    static_assert(kernel::value.columns() == 2048);
    static_assert(kernel::value == smx::resident<smx::block_group<128>, 8, 2>::value);
    static_assert(kernel::value != smx::resident<smx::block_group<128>, 8, 1>::value);
    static_assert(kernel::value != smx::chunked_online<smx::block_group<128>, 8, 2>::value);
    static_assert(kernel::shared_bytes(row_of(2048)) == 0);
    static_assert(kernel::can_run(row_of(2048), {}) && !kernel::can_run(row_of(2049), {}));
}

TEST(policy, a_cluster_is_its_lanes_and_its_blocks) {
    using kernel = smx::resident<smx::cluster_group<256, 8>, 8, 8>;
    static_assert(kernel::value.lanes == 2048 && kernel::value.threads == 256 && kernel::value.blocks == 8);
    static_assert(kernel::value.columns() == 131072 && kernel::rows_per_block == 1);
    static_assert(smx::resident<smx::block_group<256>, 8, 8>::value.blocks == 1);
    static_assert(kernel::value == smx::resident<smx::cluster_group<256, 8>, 8, 8>::value);
    static_assert(kernel::value != smx::resident<smx::cluster_group<512, 4>, 8, 8>::value);
    constexpr smx::policy one_block{smx::body_kind::resident, 2048, 256, 8, 8};
    static_assert(kernel::value != one_block);
    constexpr smx::device_limits none{}, eight{48 * 1024, true, 8}, four{48 * 1024, true, 4};
    static_assert(!kernel::can_run(row_of(100000), none) && !kernel::can_run(row_of(100000), four));
    static_assert(kernel::can_run(row_of(131072), eight) && !kernel::can_run(row_of(131073), eight));
    static_assert(!smx::chunked_online<smx::cluster_group<256, 8>, 4, 4>::can_run(row_of(1), none));
    static_assert(smx::chunked_online<smx::cluster_group<256, 8>, 4, 4>::can_run(row_of(1000000), eight));
}

TEST(policy, compute_capability_says_how_large_a_cluster_may_be) {
    EXPECT_EQ(smx::cluster_blocks_of(7), 1);
    EXPECT_EQ(smx::cluster_blocks_of(8), 1);
    EXPECT_EQ(smx::cluster_blocks_of(9), 16);
    EXPECT_EQ(smx::cluster_blocks_of(10), 16);
    EXPECT_EQ(smx::cluster_blocks_of(12), 8);
}

// Lengths at and round every number that a policy may switch at.
std::vector<smx::int64> lengths() {
    std::set<smx::int64> all{0, 1, 2, 3, 100000, 1000000, 10000000, smx::most_columns - 1, smx::most_columns};
    for (smx::int64 power = 4; power <= smx::most_columns; power *= 2) {
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
                if (p.body == smx::body_kind::resident || p.body == smx::body_kind::packed) {
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

// What is longer than a block's registers waits in a cluster's, as few blocks as hold it.
TYPED_TEST(choose_policy, long_rows_take_a_cluster) {
    constexpr smx::int64 vec = smx::pack_columns_of<smx::dense_input<TypeParam>>;
    smx::device_limits limits;
    limits.shared_bytes_per_block = 227 * 1024;
    limits.bulk_copies = true;
    limits.cluster_blocks = 16;
    constexpr smx::int64 block = 256 * 8 * vec;
    EXPECT_EQ(smx::choose_policy<TypeParam>(row_of(block), limits).blocks, 1);
    int before = 1;
    for (smx::int64 cols = block + 1; cols <= 16 * block; cols += block / 8) {
        smx::policy const p = smx::choose_policy<TypeParam>(row_of(cols), limits);
        ASSERT_EQ(p.body, smx::body_kind::resident) << cols;
        ASSERT_GE(p.columns(), cols);
        ASSERT_LT((p.blocks / 2) * block, cols) << "half as many blocks hold it";
        ASSERT_GE(p.blocks, before) << cols;
        before = p.blocks;
    }
    EXPECT_EQ(before, 16);
    for (smx::int64 cols : {block + 1, 2 * block, 4 * block, 8 * block, 16 * block}) {
        EXPECT_EQ(smx::choose_policy<TypeParam>(row_of(cols), limits).body, smx::body_kind::resident) << cols;
    }
    smx::body_kind const longer = smx::choose_policy<TypeParam>(row_of(16 * block + 1), limits).body;
    EXPECT_TRUE(longer == smx::body_kind::staged || longer == smx::body_kind::online);
    limits.cluster_blocks = 8;
    EXPECT_EQ(smx::choose_policy<TypeParam>(row_of(8 * block), limits).blocks, 8);
    EXPECT_EQ(smx::choose_policy<TypeParam>(row_of(8 * block + 1), limits).blocks, 1);
    limits.cluster_blocks = 1;
    smx::policy const without = smx::choose_policy<TypeParam>(row_of(2 * block), limits);
    EXPECT_EQ(without.blocks, 1);
    EXPECT_EQ(without.body, smx::body_kind::resident);
}

TYPED_TEST(choose_policy, is_known_to_the_compiler) {
    constexpr smx::policy p = smx::choose_policy<TypeParam>(row_of(1000));
    static_assert(p == smx::choose_policy<TypeParam>(row_of(1000)));
    EXPECT_GE(p.columns(), 1);
}

}  // namespace
