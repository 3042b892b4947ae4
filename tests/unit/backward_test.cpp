// backward.hpp: a backward call is put together and checked on the host: each bad argument by its name, what it must be
// and what it was.
#include "smx/backward.hpp"
#include "support/refused.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace {

using smx::errc;
using smx::int64;
using support::expect_refused;
using support::odd;

// A call that is right, to be spoilt one argument at a time.
struct call {
    alignas(64) float y[64] = {}, dy[64] = {}, dx[64] = {};
    smx::extents shape{2, 2, 2, 8};
    smx::strides y_step = smx::contiguous, dy_step = smx::contiguous, dx_step = smx::contiguous;
    float const *y_pointer = y, *dy_pointer = dy;
    float* dx_pointer = dx;

    template <class Factor = smx::fixed_scale, class Mask = smx::no_mask>
    smx::status check(Factor const& factor = smx::fixed_scale(1), Mask const& mask = {}) const {
        return smx::check_backward(smx::saved_probabilities(y_pointer, shape, y_step),
                                   smx::incoming_gradients(dy_pointer, dy_step), factor, mask,
                                   smx::gradients(dx_pointer, dx_step));
    }
};

int64 address(void const* pointer) { return static_cast<int64>(reinterpret_cast<unsigned long long>(pointer)); }

TEST(backward, a_right_call_is_right) {
    call c;
    EXPECT_TRUE(c.check());
    EXPECT_TRUE(c.check(smx::inv_sqrt(64), smx::causal_mask::bottom_right()));
    c.y_step = {0, 0, 8, 1};  // what comes in may repeat
    c.dy_step = {0, 0, 0, 1};
    c.dx_step = {32, 8, 16, 1};
    EXPECT_TRUE(c.check());
}

TEST(backward, shapes) {
    call c;
    c.shape = {-1, 2, 2, 8};
    expect_refused(c.check(), errc::bad_shape, "batch", -1);
    c.shape = {2, 2, 2, -4};
    expect_refused(c.check(), errc::bad_shape, "keys", -4);
    c.shape = {1, smx::most_columns + 1};
    expect_refused(c.check(), errc::too_large, "keys", smx::most_columns + 1);
}

TEST(backward, null_pointers) {
    call c;
    c.y_pointer = nullptr;
    expect_refused(c.check(), errc::null_pointer, "y", 0);
    c.y_pointer = c.y;
    c.dy_pointer = nullptr;
    expect_refused(c.check(), errc::null_pointer, "dy", 0);
    c.dy_pointer = c.dy;
    c.dx_pointer = nullptr;
    expect_refused(c.check(), errc::null_pointer, "dx", 0);
    c.dx_pointer = c.dx;
    expect_refused(c.check(smx::device_scale<float>(nullptr)), errc::null_pointer, "scale", 0);
    expect_refused(c.check(smx::fixed_scale(1), smx::key_lengths<int>(nullptr)), errc::null_pointer, "lengths", 0);
    expect_refused(c.check(smx::fixed_scale(1), smx::bias_tensor<float>(nullptr, {})), errc::null_pointer, "bias", 0);
    for (smx::extents const& empty : {smx::extents(0, 8), smx::extents(5, 0), smx::extents(0, 3, 4, 5)}) {
        c.shape = empty;
        c.y_pointer = c.dy_pointer = c.dx_pointer = nullptr;
        EXPECT_TRUE(c.check());
    }
}

TEST(backward, misaligned_pointers) {
    call c;
    c.y_pointer = odd(c.y + 0);
    expect_refused(c.check(), errc::misaligned, "y", address(c.y_pointer));
    c.y_pointer = c.y;
    c.dy_pointer = odd(c.dy + 0);
    expect_refused(c.check(), errc::misaligned, "dy", address(c.dy_pointer));
    c.dy_pointer = c.dy;
    c.dx_pointer = odd(c.dx + 0);
    expect_refused(c.check(), errc::misaligned, "dx", address(c.dx_pointer));
}

TEST(backward, strides) {
    call c;
    c.y_step = {32, 16, 8, 2};
    expect_refused(c.check(), errc::bad_stride, "y key stride", 2);
    c.y_step = smx::contiguous;
    c.dy_step = {32, 16, 8, 0};
    expect_refused(c.check(), errc::bad_stride, "dy key stride", 0);
    c.dy_step = {smx::most_rows, 16, 8, 1};
    expect_refused(c.check(), errc::bad_stride, "dy strides", smx::most_rows);
    c.dy_step = smx::contiguous;
    c.dx_step = {32, 16, 8, -1};
    expect_refused(c.check(), errc::bad_stride, "dx key stride", -1);
    c.dx_step = {32, 16, 7, 1};
    expect_refused(c.check(), errc::bad_stride, "dx strides", 7);
}

TEST(backward, dx_may_be_dy) {
    call c;
    c.dx_pointer = c.dy;
    EXPECT_TRUE(c.check());
    c.dx_step = smx::packed_strides(c.shape);
    EXPECT_TRUE(c.check());
    c.dx_step = {16, 32, 8, 1};
    expect_refused(c.check(), errc::overlap, "dx", 0);
    c.dx_step = smx::contiguous;
    c.dx_pointer = c.dy + 1;
    EXPECT_EQ(c.check().code, errc::overlap);
    // The same pointer, but elements of another size.
    alignas(8) smx::half small[64] = {};
    EXPECT_EQ(smx::check_backward(smx::saved_probabilities(c.y, {2, 8}), smx::incoming_gradients(small),
                                  smx::fixed_scale(1), smx::no_mask(), smx::gradients(reinterpret_cast<float*>(small)))
                  .code,
              errc::overlap);
}

TEST(backward, dx_lies_apart_from_y) {
    call c;
    c.dx_pointer = c.y;
    expect_refused(c.check(), errc::overlap, "dx", 0);
    float wide[128] = {};
    c.y_pointer = wide;
    c.dx_pointer = wide + 3;
    expect_refused(c.check(), errc::overlap, "dx", 12);
    c.y_pointer = c.dy;  // the inputs may be one
    c.dx_pointer = c.dx;
    EXPECT_TRUE(c.check());
    c.dx_pointer = c.dy;
    expect_refused(c.check(), errc::overlap, "dx", 0);
    // Rows of dx in the gaps of y.
    float both[128] = {};
    c.y_pointer = both;
    c.dx_pointer = both + 8;
    c.y_step = c.dx_step = {64, 32, 16, 1};
    EXPECT_TRUE(c.check());
}

// Of probabilities made again the scores are checked, and what is read beside them.
TEST(backward, scores_and_their_sums) {
    call c;
    float sums[8] = {};
    auto const check = [&](float const* x, float const* sum, float* dx) {
        return smx::check_backward(smx::recomputed_probabilities(smx::scores(x, c.shape, c.y_step), sum),
                                   smx::incoming_gradients(c.dy + 0), smx::fixed_scale(1), smx::no_mask(),
                                   smx::gradients(dx));
    };
    EXPECT_TRUE(check(c.y, sums, c.dx));
    expect_refused(check(nullptr, sums, c.dx), errc::null_pointer, "x", 0);
    expect_refused(check(c.y, nullptr, c.dx), errc::null_pointer, "log_sum_exp", 0);
    expect_refused(check(c.y, sums, c.y), errc::overlap, "dx", 0);
    c.y_step = {32, 16, 8, 2};
    expect_refused(check(c.y, sums, c.dx), errc::bad_stride, "x key stride", 2);
}

// Rows by their index alone, as in a forward call, and only where all three tensors allow it.
TEST(backward, rows_are_divided_only_where_a_part_asks) {
    float const* const none = nullptr;
    smx::extents const shape(2, 3, 4, 5);
    auto const is_by_index = [&](smx::strides const& dy_step, auto const& mask) {
        auto const o =
            smx::make_backward_operands(smx::saved_probabilities(none, shape), smx::incoming_gradients(none, dy_step),
                                        smx::fixed_scale(1), mask, smx::gradients(static_cast<float*>(nullptr)));
        EXPECT_EQ(o.rows.count(), 24);
        return o.row(23).query == 23;
    };
    EXPECT_TRUE(is_by_index(smx::contiguous, smx::no_mask()));
    EXPECT_FALSE(is_by_index({60, 5, 15, 1}, smx::no_mask()));
    EXPECT_FALSE(is_by_index(smx::contiguous, smx::causal_mask::top_left()));
}

// Arithmetic is in double as soon as one of what comes in is.
TEST(backward, arithmetic_is_in_the_wider_type) {
    auto const computes_in = [](auto const& y, auto const& dy) {
        using operands = decltype(smx::make_backward_operands(
            smx::saved_probabilities(&y, {1, 1}), smx::incoming_gradients(&dy), smx::fixed_scale(1), smx::no_mask(),
            smx::gradients(static_cast<float*>(nullptr))));
        return sizeof(typename operands::compute);
    };
    EXPECT_EQ(computes_in(smx::half{}, 1.0f), sizeof(float));
    EXPECT_EQ(computes_in(smx::half{}, 1.0), sizeof(double));
    EXPECT_EQ(computes_in(1.0, smx::bfloat16{}), sizeof(double));
}

// Rows that lie one behind the other are found by their index, whether y was kept or is made again: no division.
TEST(backward, rows_by_index_alone) {
    float x[8] = {}, sums[2] = {}, dx[8] = {};
    smx::extents const shape(2, 1, 1, 4);
    auto const batch_of_last = [&](auto const& y) {
        auto const o = smx::make_backward_operands(y, smx::incoming_gradients(x), smx::fixed_scale(1), smx::no_mask{},
                                                   smx::gradients(dx));
        return o.row(1).batch;
    };
    EXPECT_EQ(batch_of_last(smx::saved_probabilities(x, shape)), 0);
    EXPECT_EQ(batch_of_last(smx::recomputed_probabilities(smx::scores(x, shape), sums)), 0);
}

}  // namespace
