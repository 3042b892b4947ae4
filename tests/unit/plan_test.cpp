// plan.hpp: which kernel a call would run, said in a line, and why.
#include "smx/plan.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "smx/smx.hpp"

namespace {

std::string line_of(smx::policy const& p) {
    char buffer[256];
    int const length = smx::explain(p, buffer, sizeof buffer);
    EXPECT_EQ(static_cast<std::size_t>(length), std::strlen(buffer));
    return buffer;
}

TEST(plan, explain_names_the_numbers) {
    constexpr smx::policy p = smx::resident<smx::warp_group<16>, 8, 2>::value;
    std::string const line = line_of(p);
    EXPECT_NE(line.find("16 lanes"), std::string::npos) << line;
    EXPECT_NE(line.find("packs of 8"), std::string::npos) << line;
    std::string buffer(6, '\1');  // of a length that the compiler does not know: it would warn of the cut
    int const volatile room = 4;
    EXPECT_EQ(static_cast<std::size_t>(smx::explain(p, buffer.data(), room)), line.size());
    EXPECT_EQ(std::string(buffer.c_str()), line.substr(0, 3));
    EXPECT_EQ(buffer[4], 1);
}

TEST(plan, explain_names_the_rows_of_a_lane) {
    EXPECT_NE(line_of(smx::packed<smx::thread_group, 2, 6, 64, 8>::value).find("8 rows one after the other"),
              std::string::npos);
}

TEST(plan, explain_names_the_blocks_of_a_cluster) {
    std::string const line = line_of(smx::resident<smx::cluster_group<256, 4>, 8, 6>::value);
    EXPECT_NE(line.find("1024 lanes"), std::string::npos) << line;
    EXPECT_NE(line.find("a cluster of 4 blocks of 256 threads"), std::string::npos) << line;
    EXPECT_EQ(line_of(smx::resident<smx::block_group<256>, 8, 6>::value).find("cluster"), std::string::npos);
}

TEST(plan, gives_the_policy_of_the_call) {
    alignas(16) smx::half x[4096] = {}, y[4096];
    smx::device_limits limits;
    auto const planned =
        smx::plan(limits, smx::scores(x, {2, 2048}), smx::inv_sqrt(64), smx::no_mask(), smx::probabilities(y));
    ASSERT_TRUE(planned.result);
    EXPECT_GE(planned.kernel.columns(), 1);
    EXPECT_FALSE(line_of(planned.kernel).empty());
    if (planned.kernel.body == smx::body_kind::resident) {
        EXPECT_GE(planned.kernel.columns(), 2048);
    }
}

TEST(plan, says_what_is_wrong_with_the_call) {
    float x[8] = {}, y[8];
    auto const planned =
        smx::plan({}, smx::scores(x, {1, 4}, {0, 0, 0, 2}), smx::inv_sqrt(64), smx::no_mask(), smx::probabilities(y));
    EXPECT_EQ(planned.result.code, smx::errc::bad_stride);
}

// Few rows may run another kernel than many, unless the call asks for the same bits in any batch.
TEST(plan, looks_at_the_number_of_rows_unless_told_not_to) {
    // Nothing is read: tensors that could be so long.
    float* const x = reinterpret_cast<float*>(std::uintptr_t{1} << 40);
    float* const y = reinterpret_cast<float*>(std::uintptr_t{1} << 44);
    smx::device_limits limits;
    limits.bulk_copies = true;
    limits.shared_bytes_per_block = 227 * 1024;
    limits.cluster_blocks = 16;
    limits.multiprocessors = 132;
    for (smx::int64 cols : {24, 1000, 4096, 20000}) {
        auto const kernel_of = [&](smx::int64 rows, auto choice) {
            smx::strides const step{0, 0, cols, 1};
            return smx::plan<decltype(choice)>(limits, smx::scores(x, {rows, cols}, step), smx::inv_sqrt(64),
                                               smx::no_mask(), smx::probabilities(y, step))
                .kernel;
        };
        EXPECT_NE(kernel_of(2, smx::every_kernel()), kernel_of(1000000, smx::every_kernel())) << cols;
        EXPECT_EQ(kernel_of(2, smx::batch_invariant<>()), kernel_of(1000000, smx::batch_invariant<>())) << cols;
        EXPECT_EQ(kernel_of(1000000, smx::every_kernel()), kernel_of(1000000, smx::batch_invariant<>())) << cols;
    }
}

// How rows lie does not depend on how many there are.
TEST(plan, rows_touch_whatever_their_number) {
    alignas(16) float x[1] = {}, y[1];
    auto const shape_of = [&](smx::int64 rows, smx::int64 cols) {
        return smx::detail::shape_of(smx::make_operands(smx::scores(x, {rows, cols}, {0, 0, cols, 1}),
                                                        smx::inv_sqrt(64), smx::no_mask(),
                                                        smx::probabilities(y, {0, 0, cols, 1})));
    };
    for (smx::int64 cols : {64, 1000, 2048, 100000}) {
        auto const few = shape_of(2, cols), many = shape_of(1000000, cols);
        EXPECT_EQ(few.rows_touch, many.rows_touch);
    }
}

TEST(plan, refuses_columns_that_nothing_was_compiled_for) {
    alignas(16) float x[512] = {}, y[512];
    using some_columns = smx::for_columns<100, 200>;
    auto const result_of = [&](smx::int64 rows, smx::int64 cols) {
        return smx::plan<some_columns>({}, smx::scores(x, {rows, cols}), smx::inv_sqrt(64), smx::no_mask(),
                                       smx::probabilities(y))
            .result;
    };
    EXPECT_TRUE(result_of(2, 100));
    EXPECT_TRUE(result_of(2, 200));
    EXPECT_TRUE(result_of(0, 99)) << "nothing is to be done";
    EXPECT_EQ(result_of(2, 99).code, smx::errc::bad_shape);
    smx::status const longer = result_of(2, 201);
    EXPECT_EQ(longer.code, smx::errc::too_large);
    EXPECT_STREQ(longer.argument, "keys");
    EXPECT_EQ(longer.actual, 201);
}

TEST(plan, strides_of_axes_of_length_one_do_not_count) {
    alignas(16) float x[8] = {}, y[8];
    smx::int64 const least = std::numeric_limits<smx::int64>::min(), most = std::numeric_limits<smx::int64>::max();
    auto const planned = smx::plan({}, smx::scores(x, {1, 1, 1, 4}, {least, most, most, 1}), smx::inv_sqrt(64),
                                   smx::no_mask(), smx::probabilities(y));
    EXPECT_TRUE(planned.result);
}

TEST(plan, only_rows_that_touch_can_move_as_one) {
    alignas(16) float x[64], y[64];
    smx::extents const shape(2, 2, 2, 4);
    smx::strides const packed = smx::packed_strides(shape);
    using output = smx::dense_output<float>;
    EXPECT_TRUE(smx::detail::rows_touch(smx::dense_input<float>{x, packed}, output{y, packed}, shape));
    EXPECT_FALSE(smx::detail::rows_touch(smx::dense_input<float>{x, packed}, output{y + 1, packed}, shape))
        << "another phase";
    EXPECT_TRUE(smx::detail::rows_touch(smx::dense_input<float>{x + 1, packed}, output{y + 5, packed}, shape))
        << "the same phase";
    EXPECT_FALSE(smx::detail::rows_touch(smx::dense_input<float>{x, {16, 8, 5, 1}}, output{y, packed}, shape))
        << "gaps";
    EXPECT_FALSE(smx::detail::rows_touch(smx::dense_input<float>{x, {0, 0, 0, 1}}, output{y, packed}, shape))
        << "one row for all";
    EXPECT_FALSE(
        smx::detail::rows_touch(smx::dense_input<float>{x, {99, 99, 4, 1}}, output{y, {77, 77, 4, 1}}, {1, 1, 4, 4}))
        << "axes of length 1 count: one row of a view is run as two are";
    smx::half small[64];
    EXPECT_FALSE(smx::detail::rows_touch(smx::dense_input<smx::half>{small, packed}, output{y, packed}, shape))
        << "elements of another size";
    smx::dense_output<float, smx::hidden::keep> const keeps{y, packed};
    EXPECT_FALSE(smx::detail::rows_touch(smx::dense_input<float>{x, packed}, keeps, shape)) << "what is hidden stays";
}

// What kernels that wait in shared memory are given room for.
template <class Input, class Output>
int held_bytes_of(Input const& in, Output const& out) {
    return smx::detail::shape_of(smx::make_operands(in, smx::fixed_scale(1), smx::no_mask(), out)).held_bytes;
}

// Scores wait as numbers for their logarithms and for a dropout, and rows that are dropped do not move as one piece.
TEST(plan, of_logarithms_and_of_dropped_rows) {
    smx::device_limits const limits{227 * 1024, true, 16, 132};
    for (smx::int64 cols : {33, 4096, 12288, 100000, 1000000}) {
        smx::half const* const x = reinterpret_cast<smx::half const*>(4096);
        auto* const y = reinterpret_cast<smx::half*>(std::uintptr_t{1} << 40);
        auto const in = smx::scores(x, {100000, cols});
        auto const plain = smx::plan(limits, in, smx::fixed_scale(1), smx::no_mask(), smx::probabilities(y));
        auto const logarithms = smx::plan(limits, in, smx::fixed_scale(1), smx::no_mask(), smx::log_probabilities(y));
        auto const dropped = smx::plan(limits, in, smx::fixed_scale(1), smx::no_mask(),
                                       smx::dropped(smx::probabilities(y), smx::dropout(0.1, 1, 2)));
        ASSERT_TRUE(plain.result && logarithms.result && dropped.result) << cols;
        EXPECT_EQ(held_bytes_of(in, smx::probabilities(y)), 2);
        EXPECT_EQ(held_bytes_of(in, smx::log_probabilities(y)), 4);
        EXPECT_EQ(held_bytes_of(in, smx::dropped(smx::probabilities(y), smx::dropout(0.1, 1, 2))), 4);
        EXPECT_NE(logarithms.kernel.body, smx::body_kind::deep);
        EXPECT_TRUE(logarithms.kernel.body != smx::body_kind::compact || logarithms.kernel.packs <= 4) << cols;
        EXPECT_NE(logarithms.kernel.body, smx::body_kind::packed);
        EXPECT_TRUE(dropped.kernel.body == smx::body_kind::resident || dropped.kernel.body == smx::body_kind::online)
            << cols;
    }
}

}  // namespace
