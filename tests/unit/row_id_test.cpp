// row_id.hpp: divisions by multiplication, the place of a row, intervals.
#include "smx/row_id.hpp"

#include <gtest/gtest.h>

#include "support/data.hpp"

namespace {

using smx::int64;

constexpr int64 limit = int64{1} << 62;

void expect_division(int64 dividend, int64 divisor) {
    ASSERT_EQ(smx::divider(divisor).divide(dividend), dividend / divisor) << dividend << " / " << divisor;
}

TEST(row_id, small_divisions_are_exact) {
    for (int64 divisor = 1; divisor <= 300; ++divisor) {
        smx::divider const by(divisor);
        EXPECT_EQ(by.divisor(), divisor);
        for (int64 dividend = 0; dividend <= 2000; ++dividend) {
            ASSERT_EQ(by.divide(dividend), dividend / divisor) << dividend << " / " << divisor;
        }
    }
}

TEST(row_id, divisions_at_every_power_of_two_are_exact) {
    for (int a = 0; a < 62; ++a) {
        for (int64 da = -2; da <= 2; ++da) {
            int64 const divisor = (int64{1} << a) + da;
            if (divisor < 1 || divisor >= limit) continue;
            for (int b = 0; b < 62; ++b) {
                for (int64 db = -2; db <= 2; ++db) {
                    int64 const dividend = (int64{1} << b) + db;
                    if (dividend < 0 || dividend >= limit) continue;
                    expect_division(dividend, divisor);
                    // Just below, at and above a multiple: where a multiplier that is too small or too large errs.
                    int64 const multiple = dividend / divisor * divisor;
                    expect_division(multiple, divisor);
                    if (multiple > 0) expect_division(multiple - 1, divisor);
                }
            }
            expect_division(limit - 1, divisor);
        }
    }
}

TEST(row_id, random_divisions_are_exact) {
    support::random_stream random(2);
    for (int i = 0; i < 1000000; ++i) {
        int64 const divisor = static_cast<int64>(random.bits() >> (2 + random.below(61))) + 1;
        int64 const dividend = static_cast<int64>(random.bits() >> (2 + random.below(61)));
        if (divisor >= limit) continue;
        int64 const multiple = dividend / divisor * divisor;
        expect_division(dividend, divisor);
        if (multiple > 0) expect_division(multiple - 1, divisor);
    }
}

TEST(row_id, a_divider_without_a_divisor_divides_by_one) { EXPECT_EQ(smx::divider{}.divide(12345), 12345); }

TEST(row_id, every_index_is_its_batch_head_and_query) {
    smx::extents const shape(3, 5, 7, 11);
    smx::row_range const rows(shape);
    EXPECT_EQ(rows.count(), 3 * 5 * 7);
    int64 index = 0;
    for (int64 batch = 0; batch < 3; ++batch) {
        for (int64 head = 0; head < 5; ++head) {
            for (int64 query = 0; query < 7; ++query, ++index) {
                smx::row_id const row = rows[index];
                EXPECT_EQ(row.batch, batch);
                EXPECT_EQ(row.head, head);
                EXPECT_EQ(row.query, query);
                EXPECT_EQ(row.index, index);
                EXPECT_EQ(row.cols, 11);
            }
        }
    }
}

// More than 65,535 batches, more than 2^31 rows: nothing is 32 bits wide.
TEST(row_id, large_indices_are_found) {
    smx::row_range const rows(smx::extents(70000, 3, 70001, 4));
    int64 const index = (int64{69999} * 3 + 2) * 70001 + 70000;
    smx::row_id const row = rows[index];
    EXPECT_EQ(row.batch, 69999);
    EXPECT_EQ(row.head, 2);
    EXPECT_EQ(row.query, 70000);
    smx::row_range const many(smx::extents((int64{1} << 61) + 5, 1));
    EXPECT_EQ(many[(int64{1} << 61) + 4].query, (int64{1} << 61) + 4);
    EXPECT_EQ(many[(int64{1} << 61) + 4].batch, 0);
}

TEST(row_id, an_empty_axis_has_no_rows) {
    EXPECT_EQ(smx::row_range(smx::extents(0, 4)).count(), 0);
    EXPECT_EQ(smx::row_range(smx::extents(2, 0, 3, 4)).count(), 0);
}

TEST(row_id, a_plain_matrix_is_one_batch_and_one_head) {
    smx::extents const shape(6, 9);
    EXPECT_EQ(shape.batch, 1);
    EXPECT_EQ(shape.heads, 1);
    EXPECT_EQ(shape.queries, 6);
    EXPECT_EQ(shape.keys, 9);
}

TEST(row_id, packed_and_broadcast_strides) {
    smx::strides const packed = smx::packed_strides({2, 3, 5, 7});
    EXPECT_EQ(packed.batch, 105);
    EXPECT_EQ(packed.head, 35);
    EXPECT_EQ(packed.query, 7);
    EXPECT_EQ(packed.key, 1);
    smx::strides const padding = smx::broadcast({2, 1, 1, 7});
    EXPECT_EQ(padding.batch, 7);
    EXPECT_EQ(padding.head, 0);
    EXPECT_EQ(padding.query, 0);
    EXPECT_EQ(padding.key, 1);
    smx::strides const per_query = smx::broadcast({1, 1, 5, 1});
    EXPECT_EQ(per_query.query, 1);
    EXPECT_EQ(per_query.key, 0);
}

TEST(row_id, intervals) {
    smx::interval const a = smx::intersection({2, 9}, {4, 20});
    EXPECT_EQ(a.begin, 4);
    EXPECT_EQ(a.end, 9);
    smx::interval const none = smx::intersection({0, 3}, {5, 8});
    EXPECT_GE(none.begin, none.end);
    smx::interval const h = smx::hull({2, 4}, {8, 9});
    EXPECT_EQ(h.begin, 2);
    EXPECT_EQ(h.end, 9);
    // An empty interval adds nothing, wherever it lies.
    smx::interval const left = smx::hull({100, 100}, {8, 9});
    EXPECT_EQ(left.begin, 8);
    EXPECT_EQ(left.end, 9);
    smx::interval const right = smx::hull({8, 9}, {3, 0});
    EXPECT_EQ(right.begin, 8);
    EXPECT_EQ(right.end, 9);
    smx::interval const neither = smx::hull({3, 0}, {7, 7});
    EXPECT_GE(neither.begin, neither.end);
}

// A lane asks "does my pack touch the interval?" by its two ends: nothing may touch an empty one, wherever it lay.
TEST(interval, no_pack_touches_an_empty_intersection) {
    for (int a = 0; a < 6; ++a) {
        for (int b = a; b < 6; ++b) {
            for (int c = 0; c < 6; ++c) {
                for (int d = c; d < 6; ++d) {
                    smx::interval const both = smx::intersection({a, b}, {c, d});
                    bool any = false;
                    for (int k = 0; k < 6; ++k) any = any || (k >= a && k < b && k >= c && k < d);
                    for (int width : {1, 2, 4, 8}) {
                        for (int col = 0; col < 6 && !any; ++col)
                            EXPECT_FALSE(col < both.end && col + width > both.begin)
                                << "[" << a << ", " << b << ") and [" << c << ", " << d << "), pack of " << width
                                << " at " << col;
                    }
                    EXPECT_EQ(both.begin < both.end, any);
                }
            }
        }
    }
}

// Rows of which only the index is asked for.
TEST(row_id, plain_rows_are_queries) {
    int64 const count = (int64{1} << 33) + 3;
    smx::row_range const rows(count, 19);
    EXPECT_EQ(rows.count(), count);
    EXPECT_EQ(rows.cols(), 19);
    for (int64 index : {int64{0}, int64{1}, int64{12345}, (int64{1} << 32) + 7, count - 1}) {
        smx::row_id const row = rows[index];
        EXPECT_EQ(row.batch, 0);
        EXPECT_EQ(row.head, 0);
        EXPECT_EQ(row.query, index);
        EXPECT_EQ(row.index, index);
        EXPECT_EQ(row.cols, 19);
    }
}

}  // namespace
