// Rows that users of other implementations have reported, through every body on emulated lanes.
#include <limits>

#include "lanes/row_sweep.hpp"

namespace lanes {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct reported_row {
    char const* number;
    std::vector<double> scores;
    std::vector<int> seen = {};       // empty: all
    std::vector<double> biases = {};  // empty: none
    double factor = 1.0;
};

// A row on one runner, whatever the rule for empty rows and wherever it starts.
template <class X>
void expect_row(row_runner<X, X> const& runner, reported_row const& reported) {
    int const cols = static_cast<int>(reported.scores.size());
    support::mask_material material(support::shape4{1, 1, 1, cols}, 1);
    std::vector<X> scores;
    for (std::size_t k = 0; k < reported.scores.size(); ++k) {
        scores.push_back(support::stored<X>::make(reported.scores[k]));
        if (!reported.seen.empty()) material.flags[k] = static_cast<unsigned char>(reported.seen[k]);
        if (!reported.biases.empty()) material.biases[k] = static_cast<float>(reported.biases[k]);
    }
    any_mask const& mask = mask_named(!reported.biases.empty() ? "bias_tensor"
                                      : !reported.seen.empty() ? "mask_tensor"
                                                               : "no_mask");
    for (auto rule : {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan}) {
        for (std::size_t offset : {0U, 1U, 3U}) {
            row_options options;
            options.factor = reported.factor;
            options.when_empty = rule;
            options.x_offset = offset;
            options.y_offset = offset * 5 % 8;
            ASSERT_EQ(check_row(runner, mask, material, scores, 0, 0, 0, options), "")
                << reported.number << " of " << support::stored<X>::name << ", " << runner.lanes << " lanes, offset "
                << offset << ", empty rule " << static_cast<int>(rule);
        }
    }
}

// Scores that wait as they are stored are not biased.
void expect_by_every_body(std::vector<reported_row> const& rows) {
    row_runner<float, float> const of_floats[] = {
        runner<fibers, resident_body, smx::tile<8, 4, 2>, float, float, kinds::two>(),
        runner<fibers, resident_weights_body, smx::tile<32, 4, 1>, float, float, kinds::two>(),
        runner<fibers, resident_weights_body, smx::tile<256, 4, 1>, float, float, kinds::two>(),
        runner<fibers, deep_body<smx::kept::weights, 1>, smx::tile<8, 4, 1>, float, float, kinds::two>(),
        runner<fibers, staged_body, smx::tile<8, 4, 1>, float, float, kinds::two>(),
        runner<fibers, online_body, smx::tile<4, 4, 1>, float, float, kinds::two>()};
    row_runner<smx::half, smx::half> const of_halves[] = {
        runner<fibers, compact_body, smx::tile<8, 8, 1>, smx::half, smx::half, kinds::two>(),
        runner<fibers, deep_body<smx::kept::stored, 1>, smx::tile<4, 8, 1>, smx::half, smx::half, kinds::two>()};
    auto const of_bfloat16s =
        runner<fibers, compact_body, smx::tile<1, 8, 8>, smx::bfloat16, smx::bfloat16, kinds::two>();
    for (reported_row const& row : rows) {
        for (auto const& runner : of_floats) expect_row(runner, row);
        if (!row.biases.empty()) continue;
        for (auto const& runner : of_halves) expect_row(runner, row);
        expect_row(of_bfloat16s, row);
        if (::testing::Test::HasFatalFailure()) return;
    }
}

std::vector<double> all(int cols, double score) { return std::vector<double>(static_cast<std::size_t>(cols), score); }

TEST(reported_rows, without_a_mask) {
    std::vector<double> last = all(64, -infinity), middle = last;
    last.back() = 0;
    middle[33] = 10;
    std::vector<reported_row> rows{
        {"B002", last},
        {"B002", middle},
        {"B014", {-50001, -50002, -50003}},
        {"B014", {-1e30, -1e30}},
        {"B019", all(64, 0)},
        {"B020", {2000, 1999}},
        {"B020", {60000, 59000}, {}, {}, 2.0},
        {"B059", {infinity, 1, 2}},
        {"B059", {infinity, infinity, 0}},
    };
    for (int cols : {1, 2, 3, 17, 31, 32, 33}) {
        std::vector<double> falling;
        for (int k = 0; k < cols; ++k) falling.push_back(-100 - k);
        rows.push_back({"B013", falling});
    }
    expect_by_every_body(rows);
}

TEST(reported_rows, under_flags) {
    std::vector<int> every_eighth(64, 0);
    for (std::size_t k = 5; k < 64; k += 8) every_eighth[k] = 1;
    std::vector<reported_row> rows{
        {"B015", {-20000, 5}, {1, 0}},      {"B016", {1, nan, 2}, {1, 0, 1}},
        {"B037", {0, 0}, {1, 0}, {}, 1e-5}, {"B039", {1, -1e30, 1e30, 1e30, -1e30}, {1, 1, 1, 0, 0}, {}, 0.0},
        {"B048", all(64, 2), every_eighth},
    };
    for (int cols : {1, 4, 31, 33, 64})
        rows.push_back({"B001", all(cols, 3), std::vector<int>(static_cast<std::size_t>(cols), 0)});
    expect_by_every_body(rows);
}

TEST(reported_rows, with_biases) {
    expect_by_every_body({
        {"B032", {-3e38, 1}, {}, {-3e38, 0}},
        {"B032", {-3e38, -3e38}, {}, {-3e38, -3e38}},
        {"B034", {-16, -20}, {}, {-65504, -65504}},
        {"B034", {1, 2, 3}, {}, {-infinity, -1e9, -1e9}},
    });
}

}  // namespace

}  // namespace lanes
