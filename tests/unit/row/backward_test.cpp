// row/backward.hpp: the gradient of the forward pass, and what of y and dy is read.
#include "smx/row/backward.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "smx/mask/bias.hpp"
#include "smx/mask/causal.hpp"
#include "smx/mask/lengths.hpp"
#include "support/emulated_group.hpp"
#include "support/gradient.hpp"
#include "support/mask_cases.hpp"

namespace {

using support::index;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <int Lanes, int Vec, int Packs, class Compute = float>
using terms = smx::tile<Lanes, Vec, Packs, Compute, smx::kept::terms>;

// One row in double on 8 lanes; y and dy of hidden columns are NaN.
template <class Mask>
std::vector<double> backward_in_double(std::vector<double> const& y, std::vector<double> const& dy, double factor,
                                       Mask const& mask, smx::row_id row, smx::extents shape) {
    std::vector<double> dx(y.size(), nan);
    support::run_lanes<8>([&](auto& g) {
        smx::softmax_backward_row<terms<8, 4, 4, double>>(g, smx::dense_input<double>{y.data(), {}},
                                                          smx::dense_input<double>{dy.data(), {}}, factor, mask,
                                                          smx::dense_output<double>{dx.data(), {}}, row, shape);
    });
    return dx;
}

// What a score more gives, not what a formula says: a gradient without the scale, or of a row of ones, would not show.
template <class Case>
void expect_the_derivative() {
    support::shape4 const shape{2, 2, 5, 21};
    support::mask_material const material(shape, 3);
    support::random_stream random(7);
    int rows = 0;
    for (index b = 0; b < 2; ++b) {
        for (index h = 0; h < 2; ++h) {
            for (index q = 0; q < 5; ++q) {
                std::vector<double> x(21), given(21), y(21), dy(21);
                for (double& one : x) one = random.normal();
                for (double& one : given) one = random.normal();
                double const factor = random.coin() ? 0.7 : -1.3;
                auto const score = [&](int k) { return x[static_cast<std::size_t>(k)]; };
                auto const bias = [&](int k) { return Case::bias(material, b, h, q, k); };
                auto const visible = [&](int k) { return Case::visible(material, b, h, q, k); };
                auto const forward = support::softmax_reference(
                    21, score, factor, bias, visible, support::empty_gives::uniform, support::arithmetic::in_double);
                for (std::size_t k = 0; k < 21; ++k) {
                    bool const shown = visible(static_cast<int>(k)) && bias(static_cast<int>(k)) > -infinity;
                    y[k] = shown ? forward.y[k] : nan;
                    dy[k] = shown ? given[k] : nan;
                    rows += shown && std::fabs(forward.y[k] * given[k]) > 1e-3 ? 1 : 0;
                }
                auto const want = support::gradient_by_differences(
                    21, score, [&](int k) { return given[static_cast<std::size_t>(k)]; }, factor, bias, visible);
                auto const got = backward_in_double(y, dy, factor, Case::mask(material),
                                                    {b, h, q, (b * 2 + h) * 5 + q, 21}, smx::extents(2, 2, 5, 21));
                for (std::size_t k = 0; k < 21; ++k)
                    ASSERT_NEAR(got[k], want[k], 1e-8) << "row " << b << ", " << h << ", " << q << ", column " << k;
            }
        }
    }
    ASSERT_GT(rows, 50);
}

TEST(backward_row, is_the_derivative_without_a_mask) { expect_the_derivative<support::no_mask_case>(); }
TEST(backward_row, is_the_derivative_under_a_diagonal) { expect_the_derivative<support::bottom_right_case>(); }
TEST(backward_row, is_the_derivative_under_flags) { expect_the_derivative<support::visible_flags_case>(); }
TEST(backward_row, is_the_derivative_under_biases) { expect_the_derivative<support::bias_case>(); }
TEST(backward_row, is_the_derivative_under_all_masks) { expect_the_derivative<support::everything_case>(); }

// An input of one's own that notes which columns are asked for.
struct noting_input {
    float const* data;
    std::vector<int>* asked;
    int first_pack = 0;
    using compute = float;

    template <int V>
    int head(smx::row_id) const {
        return first_pack % V;
    }
    template <int V>
    smx::pack<float, V> load(smx::row_id, int col) const {
        EXPECT_TRUE(V == 1 || (col - first_pack) % V == 0) << "a pack of " << V << " at " << col;
        smx::pack<float, V> values;
        for (int i = 0; i < V; ++i) {
            ++(*asked)[static_cast<std::size_t>(col + i)];
            values[i] = data[col + i];
        }
        return values;
    }
};

// Every column of a span is read once from either, whatever the place of their packs, and nothing beyond the packs that
// it touches.
template <class Body>
void expect_read_within_the_span(int times, Body const& body) {
    int const cols = 100;
    std::vector<float> const y(100, 0.01f);
    std::vector<float> dy(100), dx(100);
    for (int k = 0; k < cols; ++k) dy[static_cast<std::size_t>(k)] = static_cast<float>(k % 7);
    for (int y_head : {0, 3}) {
        for (int dy_head : {0, 2, 3}) {
            for (int length : {0, 1, 4, 37, 99, 100}) {
                std::vector<int> y_asked(100, 0), dy_asked(100, 0);
                body(noting_input{y.data(), &y_asked, y_head}, noting_input{dy.data(), &dy_asked, dy_head},
                     smx::key_lengths(&length, smx::padding::right), smx::dense_output<float>{dx.data(), {}});
                for (int k = 0; k < cols; ++k) {
                    auto const at = static_cast<std::size_t>(k);
                    if (k < length) {
                        ASSERT_EQ(y_asked[at], times) << "y, column " << k << " of " << length;
                        ASSERT_EQ(dy_asked[at], times) << "dy, column " << k << " of " << length;
                    } else {
                        bool const beside = length > 0 && k < length + 3;
                        ASSERT_LE(y_asked[at], beside ? times : 0) << "y, column " << k << " of " << length;
                        ASSERT_LE(dy_asked[at], beside ? times : 0) << "dy, column " << k << " of " << length;
                        ASSERT_EQ(dx[at], 0.0f);
                    }
                }
            }
        }
    }
}

TEST(backward_row, reads_what_can_be_visible) {
    smx::row_id const row{0, 0, 0, 0, 100};
    expect_read_within_the_span(1, [&](auto const& y, auto const& dy, auto const& mask, auto const& dx) {
        support::run_lanes<8>([&](auto& g) {
            smx::softmax_backward_row<terms<8, 4, 4>>(g, y, dy, 0.5f, mask, dx, row, smx::extents(1, 100));
        });
    });
    expect_read_within_the_span(2, [&](auto const& y, auto const& dy, auto const& mask, auto const& dx) {
        support::run_lanes<4>([&](auto& g) {
            smx::chunked_backward_row<terms<4, 4, 2>>(g, y, dy, 0.5f, mask, dx, row, smx::extents(1, 100));
        });
    });
}

// 0 times infinity is no number, but a hidden column has no product.
TEST(backward_row, what_is_hidden_is_zero_whatever_the_factor) {
    std::vector<double> const y(21, 1.0 / 21), dy(21, 2.0);
    for (double factor : {infinity, -infinity, nan}) {
        auto const dx =
            backward_in_double(y, dy, factor, smx::causal_mask::top_left(), {0, 0, 6, 6, 21}, smx::extents(10, 21));
        for (int k = 7; k < 21; ++k) ASSERT_EQ(dx[static_cast<std::size_t>(k)], 0.0) << "column " << k;
    }
}

// Published versions of this gradient leave the scale out, and are tested with a dy of ones, where it is 0.
TEST(backward_row, ones_have_no_gradient) {
    std::vector<double> const y(16, 0.0625), dy(16, 1.0);
    for (double one : backward_in_double(y, dy, 8.0, smx::no_mask(), {0, 0, 0, 0, 16}, smx::extents(1, 16)))
        ASSERT_EQ(one, 0.0);
}

// The mask is asked, not y: a visible probability of 0 has a gradient of 0, and a hidden one that is not 0 has too.
TEST(backward_row, an_empty_row_has_no_gradient_whatever_was_written) {
    int const none = 0;
    for (double written : {0.0, 0.125, nan}) {
        std::vector<double> const y(8, written), dy{1, 2, 3, 4, 5, 6, 7, 8};
        for (double one : backward_in_double(y, dy, 2.0, smx::key_lengths(&none), {0, 0, 0, 0, 8}, smx::extents(1, 8)))
            ASSERT_EQ(one, 0.0);
    }
}

}  // namespace
