// whole_rows.hpp: which calls have rows of whole packs, and which row is which.
#include "smx/whole_rows.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "smx/smx.hpp"

namespace {

// A call whose rows are whole packs, to be changed in one thing at a time. Nothing of its memory is looked at.
template <class X, class Y = X>
struct whole_call {
    smx::extents shape{2, 3, 5, 64};
    smx::strides x_step = smx::contiguous, y_step = smx::contiguous;
    smx::int64 x_address = 0x10000, y_address = 0x40000;
    double scale = 0.125;
    smx::empty_row when_empty = smx::empty_row::zeros;

    template <class Mask = smx::no_mask>
    auto operands(Mask const& mask = {}) const {
        return smx::make_operands(smx::scores(reinterpret_cast<X const*>(x_address), shape, x_step),
                                  smx::fixed_scale(scale), mask,
                                  smx::probabilities(reinterpret_cast<Y*>(y_address), y_step), when_empty);
    }
    unsigned count() const { return operands().whole.count; }
};

using storage_types = testing::Types<float, double, smx::half, smx::bfloat16>;
template <class T>
class whole_rows : public testing::Test {};
TYPED_TEST_SUITE(whole_rows, storage_types);

TYPED_TEST(whole_rows, packed_tensors_have_them) {
    whole_call<TypeParam> c;
    auto const o = c.operands();
    EXPECT_EQ(o.whole.count, 30U);
    EXPECT_EQ(o.whole.cols, 64);
    EXPECT_EQ(o.whole.x_step, 64 * sizeof(TypeParam));
    EXPECT_EQ(o.whole.y_step, 64 * sizeof(TypeParam));
    EXPECT_EQ(reinterpret_cast<smx::int64>(o.whole.x), c.x_address);
    EXPECT_EQ(reinterpret_cast<smx::int64>(o.whole.y), c.y_address);
}

TYPED_TEST(whole_rows, begin_at_sixteen_bytes_and_end_there) {
    constexpr auto bytes = static_cast<smx::int64>(sizeof(TypeParam)), of_pack = 16 / bytes;
    whole_call<TypeParam> c;
    c.x_address += bytes;
    EXPECT_EQ(c.count(), 0U);
    c = {};
    c.y_address += 8;
    EXPECT_EQ(c.count(), 0U);
    c = {};
    c.shape.keys = 64 + of_pack - 1;
    EXPECT_EQ(c.count(), 0U);
    c.shape.keys = 64 + of_pack;
    EXPECT_EQ(c.count(), 30U);
    c.x_step = {3 * 5 * 100 * of_pack, 5 * 100 * of_pack, 100 * of_pack, 1};  // gaps of whole packs
    EXPECT_EQ(c.count(), 30U);
    EXPECT_EQ(c.operands().whole.x_step, 1600U);
    c.x_step = {3 * 5 * 801, 5 * 801, 801, 1};
    EXPECT_EQ(c.count(), 0U);
}

TYPED_TEST(whole_rows, follow_each_other_by_one_step) {
    whole_call<TypeParam> c;
    c.y_step = {5 * 3 * 64, 64, 3 * 64, 1};  // heads within queries
    EXPECT_EQ(c.count(), 0U);
    c.y_step = {-3 * 5 * 64, -5 * 64, -64, 1};
    EXPECT_EQ(c.count(), 0U);
    c = {};
    c.x_step = {0, 0, 0, 1};  // one row of scores for all
    EXPECT_EQ(c.count(), 0U);
    c.shape = {1, 1, 1, 64};  // a single row has no step
    EXPECT_EQ(c.count(), 1U);
    c.shape = {1, 7, 1, 64};  // nor do axes of length 1
    c.x_step = {1, 64, 1, 1};
    EXPECT_EQ(c.count(), 7U);
}

TYPED_TEST(whole_rows, count_and_reach_in_thirty_two_bits) {
    constexpr auto bytes = static_cast<smx::int64>(sizeof(TypeParam));
    whole_call<TypeParam> c;
    c.shape = {1, 1, 0x7fffffff, 64};
    EXPECT_EQ(c.count(), 0x7fffffffU);
    c.shape.queries += 1;
    EXPECT_EQ(c.count(), 0U);
    c.shape = {1, 1, 2, 64};
    smx::int64 const longest = (0xffffffff / bytes) & ~15ll;
    c.x_step = {0, 0, longest, 1};
    EXPECT_EQ(c.count(), 2U);
    EXPECT_EQ(c.operands().whole.x_step, static_cast<unsigned>(longest * bytes));
    c.x_step.query += 16;
    EXPECT_EQ(c.count(), 0U);
    c = {};
    c.shape = {1, 1, 1, smx::int64{1} << 30};
    EXPECT_EQ(c.count(), 1U);
    c.shape.keys += 16;
    EXPECT_EQ(c.count(), 0U);
}

// What is asked once a row of all others is taken for granted here.
TYPED_TEST(whole_rows, have_a_scale_that_can_wait_and_empty_rows_of_zeros) {
    whole_call<TypeParam> c;
    for (double scale : {0.0, -0.125, 1e-40, 1e38, std::numeric_limits<double>::quiet_NaN(),
                         std::numeric_limits<double>::infinity()}) {
        c.scale = scale;
        EXPECT_EQ(c.count(), 0U) << scale;
    }
    for (double scale : {1e-30, 1.0, 1e30}) {
        c.scale = scale;
        EXPECT_EQ(c.count(), 30U) << scale;
    }
    for (smx::empty_row when_empty : {smx::empty_row::uniform, smx::empty_row::nan}) {
        c.when_empty = when_empty;
        EXPECT_EQ(c.count(), 0U);
    }
}

TYPED_TEST(whole_rows, of_calls_that_are_refused_are_none) {
    for (smx::extents const& shape : {smx::extents{-1, 3, 5, 64}, smx::extents{2, 0, 5, 64}, smx::extents{2, 3, 0, 64},
                                      smx::extents{smx::int64{1} << 40, smx::int64{1} << 40, 5, 64}}) {
        whole_call<TypeParam> c;
        c.shape = shape;
        EXPECT_EQ(c.count(), 0U);
    }
}

TEST(whole_rows_of_two_types, are_whole_for_both) {
    whole_call<float, smx::half> c;
    c.shape.keys = 12;  // whole packs of floats
    EXPECT_EQ(c.count(), 0U);
    c.shape.keys = 16;
    EXPECT_EQ(c.count(), 30U);
    EXPECT_EQ(c.operands().whole.x_step, 64U);
    EXPECT_EQ(c.operands().whole.y_step, 32U);
}

// What takes a row by itself is asked for every row.
struct own_input {
    using compute = float;
    template <int Width>
    smx::pack<float, Width> load(smx::row_id, int) const {
        return smx::filled_pack<Width>(1.0f);
    }
};
TEST(whole_rows_of_two_types, are_of_tensors) {
    alignas(16) float y[16];
    auto const o = smx::make_operands(smx::scores_from(own_input(), {1, 16}), smx::fixed_scale(1), smx::no_mask(),
                                      smx::probabilities(y));
    static_assert(smx::same_type<decltype(o.whole), smx::detail::no_whole_rows>);
    static_assert(!smx::detail::has_whole_rows<std::remove_const_t<decltype(o)>>);
}

// The same row by its index as all calls find it.
TEST(whole_rows_at, are_the_rows_of_the_call) {
    for (smx::extents const& shape : {smx::extents{2, 3, 5, 64}, smx::extents{1, 1, 1, 8}, smx::extents{7, 1, 9, 16},
                                      smx::extents{3, 1000, 1, 8}, smx::extents{1, 12, 128, 128}}) {
        whole_call<float> c;
        c.shape = shape;
        auto const o = c.operands(smx::causal_mask::top_left());
        smx::row_range const rows(shape);
        ASSERT_GT(o.whole.count, 0U);
        for (unsigned index = 0; index < o.whole.count; ++index) {
            smx::row_id const row = o.whole.at(index), same = rows[index];
            ASSERT_EQ(row.batch, same.batch);
            ASSERT_EQ(row.head, same.head);
            ASSERT_EQ(row.query, same.query);
            ASSERT_EQ(row.index, index);
            ASSERT_EQ(row.cols, same.cols);
            ASSERT_EQ(o.whole.by_index(index).index, index);
        }
    }
}

// Without a mask rows are found by their index alone: not where the scale asks for the head.
TEST(whole_rows_at, are_given_up_where_more_than_the_index_is_asked) {
    whole_call<float> c;
    float const per_head[3] = {1, 2, 3};
    auto const x = smx::scores(reinterpret_cast<float const*>(c.x_address), c.shape);
    auto const y = smx::probabilities(reinterpret_cast<float*>(c.y_address));
    smx::head_scale const scale(per_head);
    EXPECT_EQ(smx::make_operands(x, scale, smx::no_mask(), y).whole.count, 0U);
    auto const o = smx::make_operands(x, scale, smx::causal_mask::top_left(), y);
    ASSERT_EQ(o.whole.count, 30U);
    EXPECT_EQ(o.whole.at(29).head, 2);
}

// Launches count rows along one axis of blocks; where that is too short, rows are found as all others.
TEST(whole_rows_at, are_given_up_beyond_one_axis) {
    auto o = whole_call<float>().operands();
    o.whole.launch_as(32, true, true);
    EXPECT_EQ(o.whole.slice_columns, 32);
    EXPECT_TRUE(o.whole.starts_early);
    EXPECT_EQ(o.whole.count, 30U);
    o.whole.launch_as(32, true, false);
    EXPECT_EQ(o.whole.count, 0U);
}

// What every row needs before it can load lies in the first 64 bytes of a kernel's parameters, which begin at 16.
TEST(whole_rows_at, come_first_in_a_kernels_parameters) {
    using rows = smx::detail::whole_rows<float, float>;
    static_assert(offsetof(rows, heads) <= 48);
    auto const o = whole_call<float>().operands();
    EXPECT_EQ(static_cast<void const*>(&o.whole), static_cast<void const*>(&o));
}

}  // namespace
