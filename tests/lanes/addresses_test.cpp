// x and y at any element address: right values, nothing read or written outside, and the same bits wherever x has the
// same address modulo 16 bytes.
#include <cstring>

#include "lanes/row_sweep.hpp"

namespace lanes {

namespace {

template <class T, class Body, class Tile>
void every_offset() {
    auto const row = runner<fibers, Body, Tile, T>();
    any_mask const& mask = mask_named("both_of_five");
    for (int cols : {1, 7, 8, 9, 16, 17, 31, 63, 100, 127}) {
        support::mask_material const material(support::shape4{1, 1, 3, cols}, 5);
        auto const scores = support::make_scores<T>(support::pattern::mild, static_cast<std::size_t>(cols), cols, 3);
        for (std::size_t x_offset = 1; x_offset <= 17; ++x_offset) {
            for (std::size_t y_offset : {x_offset, x_offset * 5 % 17, std::size_t{0}}) {
                row_options options;
                options.x_offset = x_offset;
                options.y_offset = y_offset;
                options.factor = 0.3;
                ASSERT_EQ(check_row(row, mask, material, scores, 0, 0, 1, options), "")
                    << "cols " << cols << ", x offset " << x_offset << ", y offset " << y_offset;
            }
        }
    }
}

TEST(addresses, half_on_one_lane) { every_offset<smx::half, staged_body, smx::tile<1, 16, 2>>(); }
TEST(addresses, half_on_four_lanes) { every_offset<smx::half, resident_body, smx::tile<4, 8, 4>>(); }
TEST(addresses, half_on_thirty_two_lanes) { every_offset<smx::half, online_body, smx::tile<32, 8, 1>>(); }
TEST(addresses, float_on_sixteen_lanes) { every_offset<float, resident_weights_body, smx::tile<16, 4, 2>>(); }
TEST(addresses, double_on_two_lanes) { every_offset<double, resident_body, smx::tile<2, 4, 16, double>>(); }

// The row's bits with x and y at these offsets.
template <class T, class Body, class Numbers>
std::vector<T> bits_of_row(std::vector<T> const& scores, std::size_t x_offset, std::size_t y_offset) {
    auto const row = runner<fibers, Body, Numbers, T, T, kinds::two>();
    int const cols = static_cast<int>(scores.size());
    support::guarded_buffer<T> const x(scores, x_offset);
    support::guarded_buffer<T> y(scores.size(), y_offset);
    support::guarded_buffer<unsigned char> memory(row.keeper_bytes(cols));
    std::vector<smx::statistics<float>> stats(static_cast<std::size_t>(row.lanes));
    row_options options;
    options.factor = 0.37;
    any_mask const& mask = mask_named("no_mask");
    support::mask_material const material(support::shape4{1, 1, 1, cols}, 1);
    row.run_for(mask.kind)(mask, material, smx::row_id{0, 0, 0, 0, cols}, options,
                           {x.data(), y.data(), memory.data(), stats.data()});
    return std::vector<T>(y.data(), y.data() + y.size());
}

template <class T, class Body, class Tile>
void same_bits() {
    constexpr std::size_t period = 16 / sizeof(T);
    for (int cols : {5, 33, 100, 127}) {
        auto const scores = support::make_scores<T>(support::pattern::mild, static_cast<std::size_t>(cols), cols, 8);
        for (std::size_t offset = 0; offset < period; ++offset) {
            auto const first = bits_of_row<T, Body, Tile>(scores, offset, offset);
            for (std::size_t turn : {1U, 2U, 3U}) {
                auto const again = bits_of_row<T, Body, Tile>(scores, offset + turn * period, turn * 3);
                ASSERT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(T)), 0)
                    << "cols " << cols << ", offset " << offset;
            }
        }
    }
}

TEST(addresses, same_bits_where_x_is_aligned_alike) {
    same_bits<float, resident_body, smx::tile<4, 4, 8>>();
    same_bits<float, staged_body, smx::tile<8, 4, 1>>();
    same_bits<smx::half, online_body, smx::tile<4, 8, 1>>();
}

// Packs end where the row ends: memory before x and behind it cannot be read, and is not.
TEST(addresses, nothing_is_read_on_either_side) {
    auto const row = runner<fibers, resident_body, smx::tile<4, 8, 4>, smx::half, smx::half, kinds::two>();
    any_mask const& mask = mask_named("no_mask");
    for (support::fence side : {support::fence::before, support::fence::behind}) {
        for (int cols = 1; cols <= 128; ++cols) {
            auto const scores =
                support::make_scores<smx::half>(support::pattern::mild, static_cast<std::size_t>(cols), cols, 2);
            support::fenced_buffer<smx::half> const x(scores, side);
            support::fenced_buffer<smx::half> y(scores.size(), side);
            std::vector<smx::statistics<float>> stats(4);
            row.run_for(mask.kind)(mask, support::mask_material(support::shape4{1, 1, 1, cols}, 1),
                                   smx::row_id{0, 0, 0, 0, cols}, {}, {x.data(), y.data(), nullptr, stats.data()});
            double sum = 0;
            for (int k = 0; k < cols; ++k) sum += support::stored<smx::half>::value(y[static_cast<std::size_t>(k)]);
            ASSERT_NEAR(sum, 1.0, 2e-3) << cols;
        }
    }
}

}  // namespace

}  // namespace lanes
