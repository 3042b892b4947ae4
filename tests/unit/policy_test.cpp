// policy.hpp: kernel types are numbers that compare, and every length has a kernel that can run it.
#include "smx/policy.hpp"

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

// An injected limit of the device: less shared memory or no bulk copies mean another body, never none.
TYPED_TEST(choose_policy, every_length_has_a_kernel_on_every_device) {
    for (bool bulk_copies : {false, true}) {
        for (smx::int64 shared : {smx::int64{0}, smx::int64{48 * 1024}, smx::int64{99 * 1024}, smx::int64{227 * 1024},
                                  smx::int64{4294967297}}) {
            smx::device_limits limits;
            limits.shared_bytes_per_block = shared;
            limits.bulk_copies = bulk_copies;
            for (smx::row_shape const& shape : row_shapes()) {
                smx::policy const p = smx::choose_policy<TypeParam>(shape, limits);
                ASSERT_GE(p.lanes, 1) << shape.cols;
                ASSERT_GE(p.threads, 1) << shape.cols;
                ASSERT_LE(p.threads, 1024) << shape.cols;
                ASSERT_EQ(p.threads % p.lanes, 0) << shape.cols;
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

TYPED_TEST(choose_policy, is_known_to_the_compiler) {
    constexpr smx::policy p = smx::choose_policy<TypeParam>(row_of(1000));
    static_assert(p == smx::choose_policy<TypeParam>(row_of(1000)));
    EXPECT_GE(p.columns(), 1);
}

}  // namespace
