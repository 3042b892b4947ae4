// row/packed_rows.hpp: what of a stretch of rows moves by bulk copies, for every address, length and place in a tensor.
#include "smx/row/packed_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace {

// A tensor of `rows` x `cols` whose first element lies `phase` elements past 16 bytes, in stretches of `together` rows.
template <int Per16>
void expect_each_element_moves(int phase, int rows, int cols, int together) {
    int const total = rows * cols;
    for (int first = 0; first < rows; first += together) {
        int const start = first * cols, elements = std::min(together, rows - first) * cols;
        smx::stretch_moves<Per16> const moves{(phase + start) % Per16, elements};
        std::vector<int> came(static_cast<std::size_t>(elements), 0), went(static_cast<std::size_t>(elements), 0);
        auto const count = [&](std::vector<int>& times, int begin, int end) {
            for (int i = std::max(begin, 0); i < std::min(end, elements); ++i) ++times[static_cast<std::size_t>(i)];
        };
        smx::interval const in = moves.in(start, total), out = moves.out();

        ASSERT_LE(in.begin, in.end);
        if (in.begin < in.end) {
            ASSERT_EQ((moves.lead + in.begin) % Per16, 0);
            ASSERT_EQ((in.end - in.begin) % Per16, 0);
            ASSERT_GE(start + in.begin, 0) << "before the tensor";
            ASSERT_LE(start + in.end, total) << "behind the tensor";
            ASSERT_GE(moves.lead + in.begin, 0) << "before the memory";
        }
        count(came, 0, in.begin);
        count(came, in.begin, in.end);
        count(came, in.end, elements);
        ASSERT_LT(std::max(in.begin, 0) + elements - in.end, 2 * Per16) << "too much by hand";

        ASSERT_GE(out.begin, 0);
        ASSERT_LE(out.begin, out.end);
        ASSERT_LE(out.end, elements);
        if (out.begin < out.end) {
            ASSERT_EQ((moves.lead + out.begin) % Per16, 0);
            ASSERT_EQ((out.end - out.begin) % Per16, 0);
        }
        count(went, 0, out.begin);
        count(went, out.begin, out.end);
        count(went, out.end, elements);
        ASSERT_LT(out.begin + elements - out.end, 2 * Per16) << "too much by hand";

        for (int i = 0; i < elements; ++i) {
            ASSERT_EQ(came[static_cast<std::size_t>(i)], 1)
                << "element " << i << " of " << elements << ", phase " << phase;
            ASSERT_EQ(went[static_cast<std::size_t>(i)], 1)
                << "element " << i << " of " << elements << ", phase " << phase;
        }
    }
}

template <int Per16>
void sweep() {
    for (int phase = 0; phase < Per16; ++phase) {
        for (int cols = 1; cols <= 2 * Per16 + 1; ++cols) {
            for (int together : {1, 4, 64}) {
                for (int rows : {1, 2, 3, 4, 5, 7, 63, 64, 65, 130}) {
                    expect_each_element_moves<Per16>(phase, rows, cols, together);
                    if (::testing::Test::HasFatalFailure()) {
                        FAIL() << rows << " rows of " << cols << " columns, " << together << " together";
                    }
                }
            }
        }
    }
}

TEST(packed_rows, each_element_moves_once) {
    sweep<2>();
    sweep<4>();
    sweep<8>();
    sweep<16>();
}

}  // namespace
