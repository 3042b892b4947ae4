// check.hpp: every bad input is refused by the name of its argument, with what it must be and what it was.
#include "smx/check.hpp"
#include "support/refused.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace {

using smx::errc;
using smx::int64;
using support::expect_refused;
using support::odd;

constexpr int64 most = std::numeric_limits<int64>::max();

// A call that is right, to be spoilt one argument at a time.
struct call {
    alignas(64) float x[64] = {};
    alignas(64) float y[64] = {};
    smx::extents shape{2, 2, 2, 8};
    smx::strides x_step = smx::contiguous, y_step = smx::contiguous;
    float const* x_pointer = x;
    float* y_pointer = y;

    template <class Factor = smx::fixed_scale, class Mask = smx::no_mask, class... Extras>
    smx::status check(Factor const& factor = smx::fixed_scale(1), Mask const& mask = {},
                      Extras const&... extras) const {
        return smx::check(smx::scores(x_pointer, shape, x_step), factor, mask, smx::probabilities(y_pointer, y_step),
                          extras...);
    }
};

int64 address(void const* pointer) { return static_cast<int64>(reinterpret_cast<unsigned long long>(pointer)); }

TEST(check, a_right_call_is_right) {
    call c;
    EXPECT_TRUE(c.check());
    EXPECT_TRUE(c.check(smx::inv_sqrt(64), smx::causal_mask::bottom_right(), smx::empty_row::uniform));
}

TEST(check, negative_extents) {
    call c;
    c.shape = {-1, 2, 2, 8};
    expect_refused(c.check(), errc::bad_shape, "batch", -1);
    c.shape = {2, -2, 2, 8};
    expect_refused(c.check(), errc::bad_shape, "heads", -2);
    c.shape = {2, 2, -3, 8};
    expect_refused(c.check(), errc::bad_shape, "queries", -3);
    c.shape = {2, 2, 2, -4};
    expect_refused(c.check(), errc::bad_shape, "keys", -4);
    c.shape = {-5, 8};
    expect_refused(c.check(), errc::bad_shape, "queries", -5);
    c.shape = {std::numeric_limits<int64>::min(), 2, 2, std::numeric_limits<int64>::min()};
    EXPECT_EQ(c.check().code, errc::bad_shape);
}

TEST(check, too_large_by_name) {
    call c;
    c.shape = {1, smx::most_columns + 1};
    expect_refused(c.check(), errc::too_large, "keys", smx::most_columns + 1);
    c.shape = {1, most};
    expect_refused(c.check(), errc::too_large, "keys", most);
    c.shape = {int64{1} << 40, int64{1} << 40, 2, 8};
    EXPECT_EQ(c.check().code, errc::too_large);
    EXPECT_STREQ(c.check().argument, "batch * heads * queries");
    c.shape = {1, 2, (int64{1} << 61) + 1, 8};
    EXPECT_EQ(c.check().code, errc::too_large);
}

TEST(check, null_pointers) {
    call c;
    c.x_pointer = nullptr;
    expect_refused(c.check(), errc::null_pointer, "x", 0);
    c = call();
    c.x_pointer = c.x;
    c.y_pointer = nullptr;
    expect_refused(c.check(), errc::null_pointer, "y", 0);
    c.y_pointer = c.y;
    expect_refused(c.check(smx::device_scale<float>(nullptr)), errc::null_pointer, "scale", 0);
    expect_refused(c.check(smx::head_scale<float>(nullptr)), errc::null_pointer, "scale", 0);
    expect_refused(c.check(smx::fixed_scale(1), smx::key_lengths<int>(nullptr)), errc::null_pointer, "lengths", 0);
    expect_refused(c.check(smx::fixed_scale(1), smx::mask_tensor<unsigned char>(nullptr, {})), errc::null_pointer,
                   "mask", 0);
    expect_refused(c.check(smx::fixed_scale(1), smx::hidden_bits<unsigned>(nullptr, {0, 0, 1, 1})), errc::null_pointer,
                   "mask", 0);
    expect_refused(c.check(smx::fixed_scale(1), smx::bias_tensor<float>(nullptr, {})), errc::null_pointer, "bias", 0);
    expect_refused(c.check(smx::fixed_scale(1), smx::no_mask(), smx::log_sum_exp<float>(nullptr)), errc::null_pointer,
                   "log_sum_exp", 0);
}

TEST(check, parts_of_composed_masks_are_checked) {
    call const c;
    auto const bad = smx::key_lengths<int>(nullptr);
    auto const good = smx::causal_mask::top_left();
    expect_refused(c.check(smx::fixed_scale(1), smx::both(good, bad)), errc::null_pointer, "lengths", 0);
    expect_refused(c.check(smx::fixed_scale(1), smx::both(bad, good)), errc::null_pointer, "lengths", 0);
    expect_refused(c.check(smx::fixed_scale(1), smx::either(good, bad)), errc::null_pointer, "lengths", 0);
    expect_refused(c.check(smx::fixed_scale(1), smx::both(good, smx::either(good, smx::both(good, bad)))),
                   errc::null_pointer, "lengths", 0);
}

TEST(check, misaligned_pointers) {
    call c;
    c.x_pointer = odd(c.x + 0);
    expect_refused(c.check(), errc::misaligned, "x", address(c.x_pointer));
    c.x_pointer = c.x;
    c.y_pointer = odd(c.y + 0);
    expect_refused(c.check(), errc::misaligned, "y", address(c.y_pointer));
    c.y_pointer = c.y;
    float const number[2] = {};
    expect_refused(c.check(smx::device_scale(odd(number))), errc::misaligned, "scale", address(odd(number)));
    int const lengths[3] = {};
    expect_refused(c.check(smx::fixed_scale(1), smx::key_lengths(odd(lengths))), errc::misaligned, "lengths",
                   address(odd(lengths)));
    expect_refused(c.check(smx::fixed_scale(1), smx::bias_tensor(odd(number), {})), errc::misaligned, "bias",
                   address(odd(number)));
    expect_refused(c.check(smx::fixed_scale(1), smx::mask_tensor(odd(lengths), {})), errc::misaligned, "mask",
                   address(odd(lengths)));
    unsigned const words[2] = {};
    expect_refused(c.check(smx::fixed_scale(1), smx::mask_bits(odd(words), {0, 0, 0, 1})), errc::misaligned, "mask",
                   address(odd(words)));
    double sums[9];
    expect_refused(c.check(smx::fixed_scale(1), smx::no_mask(), smx::log_sum_exp(odd(sums + 0))), errc::misaligned,
                   "log_sum_exp", address(odd(sums + 0)));
}

// An element-aligned pointer is enough, whatever it is modulo 16 bytes.
TEST(check, any_element_aligned_pointer_is_right) {
    call c;
    c.shape = {1, 8};
    for (int offset = 0; offset < 8; ++offset) {
        c.x_pointer = c.x + offset;
        c.y_pointer = c.y + 9 - offset;
        EXPECT_TRUE(c.check());
    }
}

TEST(check, key_strides) {
    call c;
    c.x_step = {32, 16, 8, 2};
    expect_refused(c.check(), errc::bad_stride, "x key stride", 2);
    c.x_step = {32, 16, 8, -1};
    expect_refused(c.check(), errc::bad_stride, "x key stride", -1);
    c.x_step = {32, 16, 8, 0};
    expect_refused(c.check(), errc::bad_stride, "x key stride", 0);
    c.x_step = smx::contiguous;
    c.y_step = {32, 16, 8, 2};
    expect_refused(c.check(), errc::bad_stride, "y key stride", 2);
    c.y_step = smx::contiguous;
    unsigned char const flags[64] = {};
    expect_refused(c.check(smx::fixed_scale(1), smx::mask_tensor(flags, {0, 0, 0, 2})), errc::bad_stride,
                   "mask key stride", 2);
    expect_refused(c.check(smx::fixed_scale(1), smx::hidden_where(flags, {0, 0, 0, -1})), errc::bad_stride,
                   "mask key stride", -1);
    expect_refused(c.check(smx::fixed_scale(1), smx::mask_bits(flags, {0, 0, 0, 2})), errc::bad_stride,
                   "mask key stride", 2);
    float const biases[64] = {};
    expect_refused(c.check(smx::fixed_scale(1), smx::bias_tensor(biases, {0, 0, 0, 3})), errc::bad_stride,
                   "bias key stride", 3);
    EXPECT_TRUE(c.check(smx::fixed_scale(1), smx::mask_tensor(flags, {0, 0, 0, 1})));
    EXPECT_TRUE(c.check(smx::fixed_scale(1), smx::mask_tensor(flags, {0, 0, 1, 0})));
    EXPECT_TRUE(c.check(smx::fixed_scale(1), smx::mask_bits(flags, {0, 0, 1, 1})));
    EXPECT_TRUE(c.check(smx::fixed_scale(1), smx::mask_bits(flags, {0, 0, 1, 0})));  // one word is a row
    // A word for 8 columns is not repeated over more.
    float wide[2][72] = {};
    c.shape = {2, 9};
    c.x_pointer = wide[0];
    c.y_pointer = wide[1];
    expect_refused(c.check(smx::fixed_scale(1), smx::mask_bits(flags, {0, 0, 1, 0})), errc::bad_stride,
                   "mask key stride", 0);
    EXPECT_TRUE(c.check(smx::fixed_scale(1), smx::mask_bits(flags, {0, 0, 1, 1})));
}

TEST(check, x_may_have_any_outer_strides) {
    call c;
    float wide[4096] = {};
    for (smx::strides const& step : {smx::strides{0, 0, 0, 1}, smx::strides{500, -30, 9, 1},
                                     smx::strides{-1, -1, -1, 1}, smx::strides{1, 2, 3, 1}}) {
        c.x_pointer = wide + 2048;
        c.x_step = step;
        EXPECT_TRUE(c.check());
    }
}

TEST(check, rows_of_y_may_not_share_elements) {
    call c;
    c.y_step = {0, 0, 0, 1};
    EXPECT_EQ(c.check().code, errc::bad_stride);
    EXPECT_STREQ(c.check().argument, "y strides");
    c.y_step = {32, 16, 7, 1};
    expect_refused(c.check(), errc::bad_stride, "y strides", 7);
    c.y_step = {32, 15, 8, 1};
    EXPECT_EQ(c.check().code, errc::bad_stride);
    c.y_step = {32, 16, -8, 1};  // rows backwards
    c.y_pointer = c.y + 8;
    EXPECT_TRUE(c.check());
    c.y_pointer = c.y;
    c.y_step = {16, 32, 8, 1};  // batch and head exchanged
    EXPECT_TRUE(c.check());
    c.y_step = {8, 16, 32, 1};
    EXPECT_TRUE(c.check());
    // An axis of length 1 is never stepped over.
    c.shape = {1, 4, 1, 8};
    c.y_step = {0, 8, 0, 1};
    EXPECT_TRUE(c.check());
    c.y_step = {std::numeric_limits<int64>::min(), 8, most, 1};
    EXPECT_TRUE(c.check());
}

TEST(check, strides_out_of_reach) {
    call c;
    c.x_step = {most / 2, 16, 8, 1};
    EXPECT_EQ(c.check().code, errc::bad_stride);
    EXPECT_STREQ(c.check().argument, "x strides");
    c.x_step = {std::numeric_limits<int64>::min(), 16, 8, 1};
    EXPECT_EQ(c.check().code, errc::bad_stride);
    c.x_step = smx::contiguous;
    c.y_step = {most / 2, 16, 8, 1};
    EXPECT_EQ(c.check().code, errc::bad_stride);
    EXPECT_STREQ(c.check().argument, "y strides");
    c.y_step = smx::contiguous;
    unsigned const flags[64] = {};
    EXPECT_EQ(c.check(smx::fixed_scale(1), smx::mask_tensor(flags, {most / 2, 0, 0, 1})).code, errc::bad_stride);
    EXPECT_EQ(c.check(smx::fixed_scale(1), smx::mask_bits(flags, {most / 2, 0, 0, 1})).code, errc::bad_stride);
    // The tensor itself fits 63 bits, but not from where it starts: answered, without wrapping on the way.
    c.shape = {2, 8};
    c.y_step = {0, 0, (int64{1} << 61) - 10, 1};
    smx::status const s = c.check();
    EXPECT_TRUE(s || s.code == errc::bad_stride || s.code == errc::overlap);
    c.x_step = c.y_step;
    c.y_pointer = c.x + 8;
    smx::status const both = c.check();
    EXPECT_TRUE(both || both.code == errc::bad_stride || both.code == errc::overlap);
}

TEST(check, in_place_is_the_same_elements) {
    call c;
    c.y_pointer = c.x;
    EXPECT_TRUE(c.check());
    c.y_step = smx::packed_strides(c.shape);
    EXPECT_TRUE(c.check());
    c.y_step = {16, 32, 8, 1};
    expect_refused(c.check(), errc::overlap, "y", 0);
}

TEST(check, other_overlaps_are_refused) {
    call c;
    float both[200] = {};
    c.x_pointer = both;
    for (int offset : {1, 8, 63}) {
        c.y_pointer = both + offset;
        expect_refused(c.check(), errc::overlap, "y", offset * 4);
    }
    c.y_pointer = both + 64;
    EXPECT_TRUE(c.check());
    c.x_pointer = both + 64;
    c.y_pointer = both + 1;
    expect_refused(c.check(), errc::overlap, "y", -63 * 4);
    c.y_pointer = both;
    EXPECT_TRUE(c.check());
    // The same pointer, but elements of another size.
    smx::half small[64] = {};
    auto* const same = reinterpret_cast<float*>(small);
    EXPECT_EQ(
        smx::check(smx::scores(small, {1, 1, 2, 8}), smx::fixed_scale(1), smx::no_mask(), smx::probabilities(same))
            .code,
        errc::overlap);
    smx::bfloat16* const other = reinterpret_cast<smx::bfloat16*>(small);
    EXPECT_TRUE(
        smx::check(smx::scores(small, {1, 1, 2, 8}), smx::fixed_scale(1), smx::no_mask(), smx::probabilities(other)));
}

// x and y are the left and the right half of every row of one buffer.
TEST(check, views_side_by_side_do_not_overlap) {
    call c;
    float both[128] = {};
    c.x_pointer = both;
    c.y_pointer = both + 8;
    c.x_step = c.y_step = {64, 32, 16, 1};
    EXPECT_TRUE(c.check());
    c.y_pointer = both + 7;
    EXPECT_EQ(c.check().code, errc::overlap);
}

TEST(check, tensors_without_elements_are_right_whatever_their_pointers) {
    for (smx::extents const& shape : {smx::extents(0, 2), smx::extents(5, 0), smx::extents(0, 0),
                                      smx::extents(0, 3, 4, 5), smx::extents(2, 0, 4, 5)}) {
        call c;
        c.shape = shape;
        c.x_pointer = nullptr;
        c.y_pointer = nullptr;
        EXPECT_TRUE(c.check());
        EXPECT_TRUE(c.check(smx::device_scale<float>(nullptr), smx::key_lengths<int>(nullptr)));
        EXPECT_TRUE(c.check(smx::fixed_scale(1), smx::mask_tensor<unsigned char>(nullptr, smx::broadcast(shape))));
        EXPECT_TRUE(c.check(smx::fixed_scale(1), smx::mask_bits<unsigned>(nullptr, smx::broadcast(shape))));
    }
    // Rows without columns still have a log-sum-exp.
    call c;
    c.shape = {5, 0};
    c.x_pointer = nullptr;
    c.y_pointer = nullptr;
    float sums[5];
    EXPECT_TRUE(c.check(smx::fixed_scale(1), smx::no_mask(), smx::log_sum_exp(sums)));
    EXPECT_TRUE(c.check(smx::fixed_scale(1), smx::mask_bits<unsigned>(nullptr, {}), smx::log_sum_exp(sums)));
    expect_refused(c.check(smx::fixed_scale(1), smx::no_mask(), smx::log_sum_exp<float>(nullptr)), errc::null_pointer,
                   "log_sum_exp", 0);
}

TEST(check, extras_in_any_order) {
    call const c;
    float sums[8];
    EXPECT_TRUE(c.check(smx::fixed_scale(1), smx::no_mask(), smx::empty_row::nan, smx::log_sum_exp(sums)));
    EXPECT_TRUE(c.check(smx::fixed_scale(1), smx::no_mask(), smx::log_sum_exp(sums), smx::empty_row::nan));
}

// Parts of a caller's own check themselves, or not at all.
struct own_mask {
    int wrong_by;
    struct row {
        smx::interval span() const { return {0, 0}; }
    };
    row bind(smx::row_id, smx::extents) const { return {}; }
    smx::status check(smx::extents) const {
        if (wrong_by == 0) return {};
        return {errc::bad_value, "wrong_by", "0", wrong_by, 0};
    }
};

TEST(check, parts_of_ones_own_check_themselves) {
    call const c;
    EXPECT_TRUE(c.check(smx::fixed_scale(1), own_mask{0}));
    expect_refused(c.check(smx::fixed_scale(1), own_mask{3}), errc::bad_value, "wrong_by", 3);
    expect_refused(c.check(smx::fixed_scale(1), smx::both(smx::no_mask(), own_mask{3})), errc::bad_value, "wrong_by",
                   3);
    EXPECT_TRUE(c.check(smx::fixed_scale(1), smx::visible_where([](smx::row_id, int) { return true; })));
}

TEST(check, is_known_by_the_first_fault) {
    call c;
    c.shape = {-1, 2, 2, 8};
    c.x_pointer = nullptr;
    expect_refused(c.check(), errc::bad_shape, "batch", -1);
}

}  // namespace
