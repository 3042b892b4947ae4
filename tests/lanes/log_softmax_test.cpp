// Log-softmax and its gradient through every body on 1 to 256 emulated lanes, at every phase of packs of 8.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "smx/row/backward.hpp"
#include "support/data.hpp"
#include "support/emulated_group.hpp"
#include "support/guarded_buffer.hpp"
#include "support/logarithms.hpp"
#include "support/mask_cases.hpp"

namespace {

using output = smx::dense_output<float, smx::hidden::zeros, smx::normalized::logarithms>;
using saved = smx::recomputed_input<smx::dense_input<float>, void, smx::normalized::logarithms>;

constexpr auto in_float = support::arithmetic::in_float;

struct resident {
    template <class Tile, class Group, class... Arguments>
    static void run(Group& g, int, Arguments const&... arguments) {
        smx::softmax_row<Tile>(g, arguments...);
    }
    template <class Tile, class Group, class... Arguments>
    static void run_backward(Group& g, Arguments const&... arguments) {
        smx::softmax_backward_row<Tile>(g, arguments...);
    }
};
struct online {
    template <class Tile, class Group, class... Arguments>
    static void run(Group& g, int, Arguments const&... arguments) {
        smx::chunked_row<Tile>(g, smx::online(), arguments...);
    }
    template <class Tile, class Group, class... Arguments>
    static void run_backward(Group& g, Arguments const&... arguments) {
        smx::chunked_backward_row<Tile>(g, arguments...);
    }
};
struct staged {
    using keeper = smx::staged<float, smx::kept::scores>;
    static std::vector<float>& memory() {
        static std::vector<float> all(1 << 16);
        return all;
    }
    template <class Tile, class Group, class... Arguments>
    static void run(Group& g, int cols, Arguments const&... arguments) {
        ASSERT_LE(static_cast<std::size_t>(keeper::bytes<Tile>(cols)), memory().size() * sizeof(float));
        smx::chunked_row<Tile>(g, keeper(memory().data()), arguments...);
    }
};

template <class Body, class Tile, class Case>
void expect_rows() {
    constexpr smx::empty_row rules[] = {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan};
    constexpr support::empty_gives gives[] = {support::empty_gives::zeros, support::empty_gives::uniform,
                                              support::empty_gives::nan};
    for (int cols : {1, 9, 64, 100, 121}) {
        support::shape4 const shape{1, 1, 2, cols};
        support::mask_material const material(shape, 2);
        auto const count = static_cast<std::size_t>(cols);
        for (std::size_t at = 0; at < 9; ++at) {
            for (auto pattern : {support::pattern::peaky, support::pattern::half_hidden, support::pattern::with_nan}) {
                support::guarded_buffer<float> const x(support::make_scores<float>(pattern, count, cols, at), at);
                support::guarded_buffer<float> z(count, at * 3 % 8);
                support::run_lanes<Tile::lanes>([&](auto& g) {
                    Body::template run<Tile>(g, cols, smx::dense_input<float>{x.data(), {}}, 0.5f, Case::mask(material),
                                             output{z.data(), {}}, smx::row_id{0, 0, 1, 1, cols},
                                             smx::extents(1, 1, 2, cols), rules[at % 3]);
                });
                ASSERT_TRUE(z.intact());
                auto const want = support::logarithm_reference(
                    cols, [&](int k) { return double{x[static_cast<std::size_t>(k)]}; }, 0.5,
                    [&](int k) { return Case::bias(material, 0, 0, 1, k); },
                    [&](int k) { return Case::visible(material, 0, 0, 1, k); }, gives[at % 3], in_float);
                ASSERT_EQ(support::difference_of_logarithms<float>(
                              want, [&](int k) { return z[static_cast<std::size_t>(k)]; }, in_float),
                          "")
                    << cols << " columns at " << at << ", " << support::name_of(pattern);
            }
        }
    }
}

TEST(lanes_log_softmax, one_lane) {
    expect_rows<resident, smx::tile<1, 8, 16>, support::no_mask_case>();
    expect_rows<resident, smx::tile<1, 16, 8>, support::everything_case>();
}
TEST(lanes_log_softmax, some_lanes) {
    expect_rows<resident, smx::tile<8, 8, 2>, support::bottom_right_case>();
    expect_rows<resident, smx::tile<2, 2, 32>, support::visible_flags_case>();
    expect_rows<resident, smx::tile<4, 1, 32>, support::right_padding_case>();
}
TEST(lanes_log_softmax, a_warp) {
    expect_rows<resident,
                smx::tile<32, 4, 1, float, smx::kept::scores, smx::hidden_packs::computed, smx::product::until_biased>,
                support::bias_case>();
}
TEST(lanes_log_softmax, a_block) { expect_rows<resident, smx::tile<256, 4, 1>, support::everything_case>(); }
TEST(lanes_log_softmax, staged_scores) {
    expect_rows<staged, smx::tile<4, 8, 1>, support::bottom_right_case>();
    expect_rows<staged, smx::tile<8, 2, 2>, support::everything_case>();
}
TEST(lanes_log_softmax, read_twice) {
    expect_rows<online, smx::tile<4, 8, 1>, support::bottom_right_case>();
    expect_rows<online, smx::tile<8, 2, 2>, support::everything_case>();
}

// Maximum and logarithm of the sum differ by so much that their sum would have nothing of the smaller one.
template <class Body, class Tile>
void expect_large_offsets() {
    struct reported {
        std::vector<float> x;
        std::vector<double> z;
    };
    double const third = -1.0986122886681098, half = -0.6931471805599453;
    for (reported const& one : {reported{{-1e7f + 1, -1e7f + 1, -1e7f + 1}, {third, third, third}},
                                reported{{1e8f, 1e8f}, {half, half}}, reported{{0, -200}, {0, -200}}}) {
        int const cols = static_cast<int>(one.x.size());
        std::vector<float> z(one.x.size());
        support::run_lanes<Tile::lanes>([&](auto& g) {
            Body::template run<Tile>(g, cols, smx::dense_input<float>{one.x.data(), {}}, 1.0f, smx::no_mask{},
                                     output{z.data(), {}}, smx::row_id{0, 0, 0, 0, cols}, smx::extents(1, cols));
        });
        for (std::size_t k = 0; k < z.size(); ++k) EXPECT_NEAR(double{z[k]}, one.z[k], 1e-6) << one.x[k];
    }
}

// B079
TEST(lanes_log_softmax, large_offsets) {
    expect_large_offsets<resident, smx::tile<1, 4, 1>>();
    expect_large_offsets<resident, smx::tile<8, 4, 1>>();
    expect_large_offsets<staged, smx::tile<4, 8, 1>>();
    expect_large_offsets<online, smx::tile<4, 8, 1>>();
}

template <class Body, class Numbers, class Case>
void expect_gradients() {
    using tile = smx::tile<Numbers::lanes, Numbers::vec, Numbers::packs, float, smx::kept::terms>;
    for (int cols : {1, 9, 64, 100, 121}) {
        support::shape4 const shape{1, 1, 2, cols};
        support::mask_material const material(shape, 2);
        auto const count = static_cast<std::size_t>(cols);
        support::random_stream random(static_cast<unsigned long long>(cols));
        auto const visible = [&](int k) {
            return Case::visible(material, 0, 0, 1, k) && !std::isinf(Case::bias(material, 0, 0, 1, k));
        };
        for (std::size_t at = 0; at < 9; ++at) {
            support::guarded_buffer<float> z(count, at), dy(count, at * 3 % 8), dx(count, at * 5 % 8);
            for (int k = 0; k < cols; ++k) {
                if (!visible(k)) continue;  // what is hidden stays poison, a NaN
                z[static_cast<std::size_t>(k)] = static_cast<float>(-8 * random.uniform());
                dy[static_cast<std::size_t>(k)] = static_cast<float>(random.normal());
            }
            support::run_lanes<tile::lanes>([&](auto& g) {
                Body::template run_backward<tile>(g, saved{{z.data(), {}}}, smx::dense_input<float>{dy.data(), {}},
                                                  0.75f, Case::mask(material), smx::dense_output<float>{dx.data(), {}},
                                                  smx::row_id{0, 0, 1, 1, cols}, smx::extents(1, 1, 2, cols));
            });
            ASSERT_TRUE(dx.intact());
            std::vector<double> bounds;
            auto const want = support::logarithm_gradient(
                cols, [&](int k) { return double{z[static_cast<std::size_t>(k)]}; },
                [&](int k) { return double{dy[static_cast<std::size_t>(k)]}; }, 0.75, visible, bounds);
            for (std::size_t k = 0; k < count; ++k) {
                if (visible(static_cast<int>(k))) {
                    ASSERT_NEAR(double{dx[k]}, want[k], 0x1p-24 * 20 * bounds[k]) << "column " << k << " at " << at;
                } else {
                    ASSERT_TRUE(dx[k] == 0 && !std::signbit(dx[k])) << "column " << k << " at " << at;
                }
            }
        }
    }
}

TEST(lanes_log_softmax, gradients) {
    expect_gradients<resident, smx::tile<1, 8, 16>, support::everything_case>();
    expect_gradients<resident, smx::tile<8, 8, 2>, support::bottom_right_case>();
    expect_gradients<resident, smx::tile<32, 4, 1>, support::visible_flags_case>();
    expect_gradients<resident, smx::tile<4, 1, 32>, support::no_mask_case>();
    expect_gradients<online, smx::tile<4, 8, 1>, support::bottom_right_case>();
    expect_gradients<online, smx::tile<8, 2, 2>, support::everything_case>();
}

}  // namespace
