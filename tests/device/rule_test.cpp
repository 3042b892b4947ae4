// The operator's rules, one a test: empty rows, factors, hidden scores, the numbers at which float arithmetic breaks.
#include <cmath>
#include <limits>

#include "device/suite.hpp"

namespace {

using device::family;
using device::int64;
using device::problem;
using device::runner;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

problem small(runner const& kernel, smx::extents shape, unsigned long long seed) {
    problem p;
    p.shape = shape;
    p.seed = seed;
    p.factor_per_head = kernel.factor == device::factor_type::head;
    p.factor_on_device = kernel.factor == device::factor_type::device;
    return p;
}

// The families of one part can hide everything by themselves.
bool hides_all(problem& p, family masks, int way) {
    switch (masks) {
        case family::lengths:
            p.masks.lengths = way % 2 == 0 ? device::lengths_kind::right : device::lengths_kind::left;
            p.masks.length_of_batch = {0, -5};
            return true;
        case family::causal:
            p.masks.causal = device::causal_kind::diagonal;
            p.masks.diagonal = -p.shape.queries;
            return true;
        case family::structured:
            p.masks.lengths = device::lengths_kind::left;
            p.masks.length_of_batch = {way % 2 == 0 ? 0 : 2, 2};
            p.masks.causal =
                device::causal_kind::diagonal;  // the last two keys, and none of those that a query may see
            p.masks.diagonal = -p.shape.queries;
            return true;
        case family::flags:
        case family::composed:
            p.masks.flags = {way % 2 == 0 ? device::form::query_key : device::form::batch_query, 0, 0};
            p.masks.flag = [](int64, int64, int64, int) { return false; };
            return true;
        case family::hidden_flags:
            p.masks.hidden_flags = {way % 2 == 0 ? device::form::query_key : device::form::batch_query, 0, 0};
            p.masks.flag = [](int64, int64, int64, int) { return false; };
            return true;
        case family::bias:
            p.masks.bias = {way % 2 == 0 ? device::form::query_key : device::form::batch_query, 0, 0};
            p.masks.added = [](int64, int64, int64, int) { return -infinity; };
            return true;
        case family::bits:
        case family::structured_bits:
            p.masks.bits = {device::form::query_key, way % 2, 0};
            p.masks.flag = [](int64, int64, int64, int) { return false; };
            return true;
        case family::half_bias:
        case family::two_ends:
            p.masks.half_bias = {device::form::query_key, 0, 0};
            p.masks.added = [](int64, int64, int64, int) { return -infinity; };
            return true;
        case family::predicate:
            p.masks.period = 1;
            return true;
        default:
            return false;
    }
}

constexpr smx::empty_row rules[] = {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan};

SMX_DEVICE_TEST(rule, rows_hidden_by_a_mask_are_empty) {
    for (runner const& kernel : device::kernels_of(where)) {
        bool right = true;
        for (int64 cols : {1, 4, 31, 33, 1024, 1025, 8192}) {
            for (int way = 0; way < 6; ++way) {
                problem p = small(kernel, {2, 1, 3, cols}, 50);
                if (!device::can_take(kernel, cols, where) || !right || !hides_all(p, kernel.masks, way)) continue;
                if (!where.is_gpu() && way > 2) continue;
                p.when_empty = rules[way % 3];
                right = device::is_right(p, kernel, where);
            }
        }
    }
}

SMX_DEVICE_TEST(rule, rows_of_minus_infinity_are_empty) {
    for (runner const& kernel : device::kernels_of(where)) {
        for (smx::empty_row when_empty : rules) {
            problem p = small(kernel, {2, 1, 3, 21}, 51);
            if (!device::can_take(kernel, 21, where)) continue;
            p.when_empty = when_empty;
            // Every other row is empty, and its neighbours are not touched.
            p.score = [](int64, int64, int64 q, int k) { return q == 1 ? -infinity : 0.25 * k; };
            if (!device::is_right(p, kernel, where)) break;
        }
    }
}

// A lane that sees nothing must not make the row NaN.
SMX_DEVICE_TEST(rule, one_finite_score_takes_all) {
    for (runner const& kernel : device::kernels_of(where)) {
        bool right = true;
        for (int64 cols : {8, 255, 4096, 40000}) {
            if (!device::can_take(kernel, cols, where) || !right) continue;
            for (int64 finite : {int64{0}, cols / 2, cols - 1}) {
                problem p = small(kernel, {1, 1, 2, cols}, 52);
                p.score = [finite](int64, int64, int64, int k) { return k == finite ? 10.0 : -infinity; };
                right = right && device::is_right(p, kernel, where);
            }
        }
    }
}

SMX_DEVICE_TEST(rule, factors) {
    for (runner const& kernel : device::kernels_of(where)) {
        bool right = true;
        for (double factor : {0.0, -1.0, -0.125, 1e-5, 3.0, 0.08838834764831845, 1e-37, -1e-39, 2e38}) {
            for (int kind = 0; kind < 3; ++kind) {
                problem p = small(kernel, {2, 3, 2, 19}, 53);
                if (!device::can_take(kernel, 19, where) || !right) continue;
                p.factor = factor;
                if (kernel.factor == device::factor_type::any) {
                    p.factor_on_device = kind == 1;
                    p.factor_per_head = kind == 2;
                }
                // -infinity times 0 or a negative number makes its row NaN, and no other.
                p.scores = kind == 0 ? support::pattern::half_hidden : support::pattern::mild;
                right = device::is_right(p, kernel, where);
            }
        }
    }
}

SMX_DEVICE_TEST(rule, nan_and_infinity_stay_in_their_row) {
    for (runner const& kernel : device::kernels_of(where)) {
        bool right = true;
        for (double special : {nan, infinity}) {
            for (int64 cols : {3, 130, 2050}) {
                for (int64 at : {int64{0}, cols / 2, cols - 1}) {
                    problem p = small(kernel, {1, 1, 5, cols}, 54);
                    if (!device::can_take(kernel, cols, where) || !right) continue;
                    p.score = [=](int64, int64, int64 q, int k) { return q == 2 && k == at ? special : 0.5 * (k % 7); };
                    right = device::is_right(p, kernel, where);
                }
            }
        }
    }
}

// Hidden scores are NaN in every problem of these tests (the harness sees to it); here a visible one lies beside each.
SMX_DEVICE_TEST(rule, hidden_nan_does_not_leak) {
    for (runner const& kernel : device::kernels_of(where)) {
        if (!device::selects_by_tensor(kernel.masks) && kernel.masks != family::composed) continue;
        if (!device::can_take(kernel, 3, where)) continue;
        problem p = small(kernel, {1, 1, 1, 3}, 55);
        device::selecting_tensor(p.masks, kernel.masks) = {device::form::query_key, 0, 0};
        p.masks.flag = [](int64, int64, int64, int k) { return k != 1; };
        p.score = [](int64, int64, int64, int k) { return 1.0 + (k == 2 ? 1.0 : 0.0); };
        device::execution one(p, device::at(where, kernel), where);
        ASSERT_EQ(one.run(), "") << device::name_of(kernel);
        ASSERT_EQ(one.difference(), "") << device::name_of(kernel);
        EXPECT_NEAR(one.value(0, 0, 0, 0), 0.268941, 1e-3);
        EXPECT_EQ(one.value(0, 0, 0, 1), 0.0);
        EXPECT_NEAR(one.value(0, 0, 0, 2), 0.731059, 1e-3);
    }
}

// Kernels whose masks can be absent, with the scores of one row and what they must give.
void gives(device::space& where, std::vector<double> const& x, std::vector<double> const& y, double factor,
           double largest) {
    auto const cols = static_cast<int64>(x.size());
    for (runner const& kernel : device::kernels_of(where)) {
        bool const absent =
            kernel.masks == family::none || kernel.masks == family::structured || kernel.masks == family::composed;
        bool const holds = kernel.x != device::storage::f16 || largest <= 65504;
        if (!absent || !holds || kernel.factor == device::factor_type::head || !device::can_take(kernel, cols, where))
            continue;
        problem p = small(kernel, {1, 1, 2, cols}, 56);
        p.factor = factor;
        p.score = [&](int64, int64, int64, int k) { return x[static_cast<std::size_t>(k)]; };
        device::execution one(p, device::at(where, kernel), where);
        ASSERT_EQ(one.run(), "") << device::name_of(kernel);
        for (int k = 0; k < cols; ++k) {
            double const want = y[static_cast<std::size_t>(k)], got = one.value(0, 0, 1, k);
            double const step = kernel.y == device::storage::bf16  ? 0x1p-8
                                : kernel.y == device::storage::f16 ? 0x1p-11
                                                                   : 0x1p-19;
            ASSERT_LE(std::fabs(got - want), step * want + 1e-40)
                << device::name_of(kernel) << ", column " << k << " of " << cols;
        }
    }
}

// The score 16384 + 128 k has the same bits in every type, bfloat16 too.
SMX_DEVICE_TEST(rule, large_scores_do_not_overflow) {
    gives(where, {16384, 16256}, {1, 0}, 1.0, 16384);
    gives(where, {2000, 2000}, {0.5, 0.5}, 1.0, 2000);
    gives(where, {57344, 53248}, {1, 0}, 2.0, 57344);
    gives(where, {16512, 16384}, {0.731058578630005, 0.268941421369995}, 1.0 / 128, 16512);
}

SMX_DEVICE_TEST(rule, very_negative_scores_are_not_hidden) {
    gives(where, {-51200, -51200}, {0.5, 0.5}, 1.0, 51200);
    gives(where, {-1e30, -1e30, -1e30, -1e30}, {0.25, 0.25, 0.25, 0.25}, 1.0, 1e30);
    gives(where, {-49152, -49152 - 256}, {0.731058578630005, 0.268941421369995}, 1.0 / 256, 49408);
}

SMX_DEVICE_TEST(rule, sums_do_not_stall) {
    for (int cols : {4096, 16384}) {
        gives(where, std::vector<double>(static_cast<std::size_t>(cols), 0.0),
              std::vector<double>(static_cast<std::size_t>(cols), 1.0 / cols), 1.0, 0);
    }
}

SMX_DEVICE_TEST(rule, one_column_is_one) { gives(where, {-3}, {1}, 0.5, 3); }

// A hidden score stays hidden however small the factor is, and a factor of 0 makes all visible scores equal.
SMX_DEVICE_TEST(rule, small_factors_do_not_show_hidden_scores) {
    for (runner const& kernel : device::kernels_of(where)) {
        if (!device::selects_by_tensor(kernel.masks) || !device::can_take(kernel, 5, where)) continue;
        for (double factor : {1e-5, 0.0, -0.0}) {
            problem p = small(kernel, {1, 1, 1, 5}, 61);
            device::selecting_tensor(p.masks, kernel.masks) = {device::form::query_key, 0, 0};
            p.masks.flag = [](int64, int64, int64, int k) { return k < 3; };
            p.score = [&](int64, int64, int64, int k) {
                return factor != 0.0 ? 0.0 : k == 0 ? 60000.0 : k == 1 ? -60000.0 : 1.0;
            };
            p.factor = factor;
            device::execution one(p, device::at(where, kernel), where);
            ASSERT_EQ(one.run(), "") << device::name_of(kernel);
            for (int k = 0; k < 5; ++k) {
                double const want = k < 3 ? 1.0 / 3 : 0.0;
                ASSERT_NEAR(one.value(0, 0, 0, k), want, 0x1p-8 * want)
                    << device::name_of(kernel) << ", factor " << factor << ", column " << k;
            }
        }
    }
}

// A bias is added in float: half would round -65504 - 16 to -infinity.
SMX_DEVICE_TEST(rule, a_very_negative_bias_does_not_hide) {
    for (runner const& kernel : device::kernels_of(where)) {
        if (kernel.masks != family::half_bias || !device::can_take(kernel, 2, where)) continue;
        problem p = small(kernel, {1, 1, 1, 2}, 57);
        p.masks.half_bias = {device::form::query_key, 0, 0};
        p.masks.added = [](int64, int64, int64, int) { return -65504.0; };
        p.score = [](int64, int64, int64, int k) { return k == 0 ? -16.0 : -20.0; };
        device::execution one(p, device::at(where, kernel), where);
        ASSERT_EQ(one.run(), "") << device::name_of(kernel);
        EXPECT_NEAR(one.value(0, 0, 0, 0), 0.982014, 0.005) << device::name_of(kernel);
        EXPECT_NEAR(one.value(0, 0, 0, 1), 0.017986, 0.005) << device::name_of(kernel);
    }
}

// A NaN bias makes its row NaN; a bias of -infinity selects, whatever the score is.
SMX_DEVICE_TEST(rule, special_biases) {
    for (runner const& kernel : device::kernels_of(where)) {
        if (kernel.masks != family::bias && kernel.masks != family::half_bias && kernel.masks != family::composed)
            continue;
        bool right = true;
        for (double special : {nan, infinity, -infinity}) {
            for (int64 cols : {5, 70}) {
                if (!device::can_take(kernel, cols, where) || !right) continue;
                problem p = small(kernel, {1, 1, 4, cols}, 58);
                (kernel.masks == family::half_bias ? p.masks.half_bias : p.masks.bias) = {device::form::query_key, 0,
                                                                                          0};
                p.masks.added = [=](int64, int64, int64 q, int k) {
                    return q == 2 && k == 3 ? special : 0.125 * (k % 5);
                };
                right = device::is_right(p, kernel, where);
            }
        }
    }
}

// Where the diagonals lie when queries and keys differ in number: which columns are not zero.
SMX_DEVICE_TEST(rule, causal_diagonals) {
    struct expected {
        int64 queries, keys;
        device::causal_kind kind;
        int64 row;
        int visible;
    };
    using device::causal_kind;
    for (expected const& e :
         {expected{2, 5, causal_kind::bottom_right, 0, 4}, expected{2, 5, causal_kind::bottom_right, 1, 5},
          expected{2, 5, causal_kind::top_left, 0, 1}, expected{5, 2, causal_kind::bottom_right, 2, 0},
          expected{5, 2, causal_kind::bottom_right, 3, 1}, expected{1, 16, causal_kind::bottom_right, 0, 16},
          expected{1, 16, causal_kind::top_left, 0, 1}, expected{3, 128, causal_kind::bottom_right, 1, 127},
          expected{6, 6, causal_kind::top_left, 3, 4}, expected{6, 6, causal_kind::bottom_right, 3, 4}}) {
        for (runner const& kernel : device::kernels_of(where)) {
            if (kernel.masks != family::causal || !device::can_take(kernel, e.keys, where)) continue;
            problem p = small(kernel, {1, 1, e.queries, e.keys}, 59);
            p.masks.causal = e.kind;
            p.score = [](int64, int64, int64, int) { return 0.0; };
            device::execution one(p, device::at(where, kernel), where);
            ASSERT_EQ(one.run(), "") << device::name_of(kernel);
            for (int k = 0; k < e.keys; ++k) {
                ASSERT_EQ(one.value(0, 0, e.row, k) != 0.0, k < e.visible)
                    << device::name_of(kernel) << ", queries " << e.queries << ", keys " << e.keys << ", row " << e.row
                    << ", column " << k;
            }
        }
    }
}

// Padding takes no part: the visible columns of a padded row are those of the shorter row.
SMX_DEVICE_TEST(rule, padding_changes_nothing) {
    for (runner const& kernel : device::kernels_of(where)) {
        bool const selects = device::selects_by_tensor(kernel.masks);
        bool const has_lengths = kernel.masks == family::lengths || kernel.masks == family::structured;
        if ((!selects && !has_lengths) || !device::can_take(kernel, 32, where)) continue;
        auto const score = [](int k) { return 0.5 * ((k * 7) % 5); };
        problem p = small(kernel, {1, 1, 1, 5}, 60);
        p.score = [&](int64, int64, int64, int k) { return score(k); };
        device::execution alone(p, device::at(where, kernel), where);
        ASSERT_EQ(alone.run(), "") << device::name_of(kernel);
        for (int first : {0, 27}) {
            problem padded = small(kernel, {1, 1, 1, 32}, 60);
            padded.score = [&, first](int64, int64, int64, int k) { return score(k - first); };
            if (has_lengths) {
                padded.masks.lengths = first == 0 ? device::lengths_kind::right : device::lengths_kind::left;
                padded.masks.length_of_batch = {5};
            } else {
                device::selecting_tensor(padded.masks, kernel.masks) = {device::form::query_key, 0, 0};
                padded.masks.flag = [=](int64, int64, int64, int k) { return k >= first && k < first + 5; };
            }
            device::execution one(padded, device::at(where, kernel), where);
            ASSERT_EQ(one.run(), "") << device::name_of(kernel);
            for (int k = 0; k < 5; ++k) {
                double const want = alone.value(0, 0, 0, k);
                ASSERT_NEAR(one.value(0, 0, 0, first + k), want, 0x1p-9 * want)
                    << device::name_of(kernel) << ", column " << k;
            }
        }
    }
}

}  // namespace
