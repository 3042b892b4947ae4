// backward_sums.hpp: a backward call that adds up is put together and checked on the host: each bad argument by its
// name, what it must be and what it was.
#include "smx/backward_sums.hpp"
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
    alignas(64) float x[64] = {}, dy[64] = {}, dx[64] = {}, db[64] = {}, of_scale[8] = {}, sums[8] = {};
    smx::extents shape{2, 2, 2, 8};
    smx::strides db_step{0, 16, 8, 1};
    float* db_pointer = db;
    float* scale_pointer = of_scale;

    smx::status check() const {
        return smx::check_backward(smx::saved_probabilities(x, shape), smx::incoming_gradients(dy), smx::fixed_scale(1),
                                   smx::no_mask(), smx::gradients(const_cast<float*>(dx)),
                                   smx::bias_gradients(db_pointer, db_step));
    }
    smx::status check_scale() const {
        return smx::check_backward(smx::recomputed_probabilities(smx::scores(x, shape), sums),
                                   smx::incoming_gradients(dy), smx::fixed_scale(1), smx::no_mask(),
                                   smx::gradients(const_cast<float*>(dx)), smx::scale_gradients(scale_pointer),
                                   smx::bias_gradients(db_pointer, db_step));
    }
};

int64 address(void const* pointer) { return static_cast<int64>(reinterpret_cast<unsigned long long>(pointer)); }

TEST(backward_sums, a_right_call_is_right) {
    call c;
    EXPECT_TRUE(c.check());
    EXPECT_TRUE(c.check_scale());
    for (smx::strides const& step :
         {smx::contiguous, smx::strides{0, 0, 0, 0}, smx::strides{0, 0, 0, 1}, smx::strides{0, 1, 0, 0},
          smx::strides{8, 16, 0, 1}, smx::broadcast({1, 2, 1, 8}), smx::strides{0, -1, 0, 0}}) {
        c.db_pointer = c.db + 1;
        c.db_step = step;
        if (step.key == smx::contiguous.key) c.db_pointer = c.db;
        EXPECT_TRUE(c.check()) << smx::sentence(c.check()).text;
    }
}

// What is wrong with the rest of the call is said as without sums.
TEST(backward_sums, the_rest_of_the_call) {
    call c;
    c.shape = {2, 2, 2, -4};
    expect_refused(c.check(), errc::bad_shape, "keys", -4);
    c.shape = {1, smx::most_columns + 1};
    expect_refused(c.check(), errc::too_large, "keys", smx::most_columns + 1);
    c.shape = {2, 2, 2, 8};
    expect_refused(smx::check_backward(smx::saved_probabilities<float>(nullptr, c.shape), smx::incoming_gradients(c.dy),
                                       smx::fixed_scale(1), smx::no_mask(), smx::gradients(c.dx),
                                       smx::bias_gradients(c.db, c.db_step)),
                   errc::null_pointer, "y", 0);
    expect_refused(smx::check_backward(smx::saved_probabilities(c.x, c.shape), smx::incoming_gradients(c.dy),
                                       smx::fixed_scale(1), smx::no_mask(), smx::gradients(c.dx + 1, {32, 16, 7, 1}),
                                       smx::bias_gradients(c.db, c.db_step)),
                   errc::bad_stride, "dx strides", 7);
}

TEST(backward_sums, pointers) {
    call c;
    c.db_pointer = nullptr;
    expect_refused(c.check(), errc::null_pointer, "db", 0);
    c.db_pointer = odd(c.db + 0);
    expect_refused(c.check(), errc::misaligned, "db", address(c.db_pointer));
    c.db_pointer = c.db;
    c.scale_pointer = nullptr;
    expect_refused(c.check_scale(), errc::null_pointer, "scale gradients", 0);
    c.scale_pointer = odd(c.of_scale + 0);
    expect_refused(c.check_scale(), errc::misaligned, "scale gradients", address(c.scale_pointer));
}

TEST(backward_sums, strides) {
    call c;
    c.db_step = {0, 16, 8, 2};
    expect_refused(c.check(), errc::bad_stride, "db key stride", 2);
    c.db_step = {0, 16, 7, 1};  // rows of db may not share elements but by a stride of 0
    expect_refused(c.check(), errc::bad_stride, "db strides", 7);
    c.db_step = {0, 1, 1, 0};
    expect_refused(c.check(), errc::bad_stride, "db strides", 1);
    c.db_step = {0, smx::most_rows, 8, 1};
    expect_refused(c.check(), errc::bad_stride, "db strides", smx::most_rows);
}

TEST(backward_sums, lie_apart_from_everything) {
    call c;
    c.db_pointer = c.dx;
    expect_refused(c.check(), errc::overlap, "db", 0);
    c.db_pointer = c.dy + 3;
    expect_refused(c.check(), errc::overlap, "db", 12);
    c.db_pointer = c.x + 60;
    expect_refused(c.check(), errc::overlap, "db", 240);
    EXPECT_STREQ(c.check().requirement, "apart from y; distance in bytes");
    EXPECT_STREQ(c.check_scale().requirement, "apart from x; distance in bytes");
    c.db_pointer = c.db;
    c.scale_pointer = c.db + 31;
    expect_refused(c.check_scale(), errc::overlap, "db", -124);
    c.scale_pointer = c.dy + 63;
    expect_refused(c.check_scale(), errc::overlap, "scale gradients", 252);
}

// Tensors without elements are right whatever their pointers; sums without terms have elements.
TEST(backward_sums, of_nothing) {
    float* const none = nullptr;
    auto const check = [&](smx::extents const& shape, smx::strides const& step) {
        return smx::check_backward(smx::saved_probabilities(none + 0, shape), smx::incoming_gradients(none + 0),
                                   smx::fixed_scale(1), smx::no_mask(), smx::gradients(none),
                                   smx::bias_gradients(none, step));
    };
    EXPECT_TRUE(check({0, 2, 2, 8}, {32, 16, 8, 1}));
    EXPECT_TRUE(check({2, 2, 2, 0}, {0, 16, 8, 1}));
    expect_refused(check({0, 2, 2, 8}, {0, 16, 8, 1}), errc::null_pointer, "db", 0);
    expect_refused(check({2, 2, 2, 0}, {0, 2, 1, 0}), errc::null_pointer, "db", 0);
    // Of rows without columns the log-sum-exp is read.
    float of_scale[2];
    expect_refused(smx::check_backward(smx::recomputed_probabilities(smx::scores(none + 0, {2, 0}), none + 0),
                                       smx::incoming_gradients(none + 0), smx::fixed_scale(1), smx::no_mask(),
                                       smx::gradients(none), smx::scale_gradients(of_scale)),
                   errc::null_pointer, "log_sum_exp", 0);
}

// Rows of the call are those of db that do not repeat, and each comes with the rows that share it.
TEST(backward_sums, sets_of_rows) {
    call c;
    c.shape = {2, 3, 4, 8};
    c.db_step = {0, 32, 8, 1};
    float const* const none = nullptr;
    auto const operands_by = [&](smx::strides const& step) {
        return smx::make_backward_operands(smx::saved_probabilities(none, c.shape), smx::incoming_gradients(none),
                                           smx::fixed_scale(1), smx::no_mask(), smx::gradients(c.dx),
                                           smx::bias_gradients(c.db, step));
    };
    struct {
        smx::strides step;
        int64 sets, rows;
    } const cases[] = {{smx::contiguous, 24, 1}, {{0, 32, 8, 1}, 12, 2}, {{0, 8, 0, 1}, 3, 8},
                       {{0, 0, 0, 1}, 1, 24},    {{8, 0, 0, 1}, 2, 12},  {{0, 0, 8, 1}, 4, 6}};
    for (auto const& one : cases) {
        auto const o = operands_by(one.step);
        ASSERT_EQ(o.rows.count(), one.sets);
        bool seen[24] = {};
        for (int64 set = 0; set < one.sets; ++set) {
            int64 last = -1, count = 0;
            o.for_rows(o.row(set), [&](smx::row_id row) {
                EXPECT_EQ(row.index, (row.batch * 3 + row.head) * 4 + row.query);
                EXPECT_EQ(row.cols, 8);
                EXPECT_GT(row.index, last);  // in the order of their index
                last = row.index;
                ++count;
                EXPECT_FALSE(seen[row.index]);
                seen[row.index] = true;
            });
            EXPECT_EQ(count, one.rows);
        }
        for (bool one_row : seen) EXPECT_TRUE(one_row);
    }
}

}  // namespace
