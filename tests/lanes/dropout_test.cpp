// Dropout through every body on 1 to 256 emulated lanes: what is kept does not depend on the lanes, on their packs or
// on where anything lies.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "smx/row/backward.hpp"
#include "support/data.hpp"
#include "support/dropout_reference.hpp"
#include "support/emulated_group.hpp"
#include "support/guarded_buffer.hpp"
#include "support/mask_cases.hpp"

namespace {

constexpr unsigned long long seed = 77, offset = 5;
constexpr double p = 0.3;
constexpr smx::row_id row{0, 0, 1, 1LL << 40, 0};

smx::row_id row_of(int cols) { return {row.batch, row.head, row.query, row.index, cols}; }

template <class Output>
auto dropped(Output const& y, Output const& undropped) {
    return smx::dropped(y, smx::dropout(p, seed, offset), undropped);
}

struct resident {
    template <class Tile, class Group, class... Arguments>
    static void run(Group& g, Arguments const&... arguments) {
        smx::softmax_row<Tile>(g, arguments...);
    }
    template <class Tile, class Group, class... Arguments>
    static void run_backward(Group& g, Arguments const&... arguments) {
        smx::softmax_backward_row<Tile>(g, arguments...);
    }
};
struct online {
    template <class Tile, class Group, class... Arguments>
    static void run(Group& g, Arguments const&... arguments) {
        smx::chunked_row<Tile>(g, smx::online(), arguments...);
    }
    template <class Tile, class Group, class... Arguments>
    static void run_backward(Group& g, Arguments const&... arguments) {
        smx::chunked_backward_row<Tile>(g, arguments...);
    }
};

// A row of floats at every phase of packs of 8: y is what was stored beside it times 1 / (1 - p) or 0, rounded once,
// and that is what the same body stores without a dropout.
template <class Body, class Tile, class Case, class X = float>
void expect_rows() {
    for (int cols : {1, 9, 64, 100, 121}) {
        support::shape4 const shape{1, 1, 2, cols};
        support::mask_material const material(shape, 2);
        smx::extents const extents(1, 1, 2, cols);
        auto const count = static_cast<std::size_t>(cols);
        for (std::size_t at = 0; at < 9; ++at) {
            support::guarded_buffer<X> const x(support::make_scores<X>(support::pattern::mild, count, cols, at), at);
            support::guarded_buffer<float> y(count, at * 3 % 8), undropped(count, at * 5 % 8), plain(count);
            smx::dense_input<X> const input{x.data(), {}};
            smx::dense_output<float> const to{y.data(), {}}, beside{undropped.data(), {}}, alone{plain.data(), {}};
            support::run_lanes<Tile::lanes>([&](auto& g) {
                Body::template run<Tile>(g, input, 0.5f, Case::mask(material), dropped(to, beside), row_of(cols),
                                         extents, smx::empty_row::uniform);
            });
            support::run_lanes<Tile::lanes>([&](auto& g) {
                Body::template run<Tile>(g, input, 0.5f, Case::mask(material), alone, row_of(cols), extents,
                                         smx::empty_row::uniform);
            });
            ASSERT_TRUE(y.intact() && undropped.intact());
            ASSERT_EQ(std::memcmp(undropped.data(), plain.data(), count * sizeof(float)), 0);
            for (int k = 0; k < cols; ++k) {
                auto const here = static_cast<std::size_t>(k);
                auto const by = static_cast<float>(support::dropout_factor(p, seed, offset, row.index, k));
                ASSERT_EQ(y[here], by == 0 ? 0 : plain[here] * by) << "column " << k << " of " << cols << " at " << at;
            }
        }
    }
}

using weights_32 = smx::tile<32, 4, 1, float, smx::kept::weights>;

TEST(lanes_dropout, one_lane) {
    expect_rows<resident, smx::tile<1, 8, 16>, support::no_mask_case>();
    expect_rows<resident, smx::tile<1, 16, 8, float, smx::kept::weights>, support::everything_case>();
}
TEST(lanes_dropout, some_lanes) {
    expect_rows<resident, smx::tile<8, 8, 2>, support::bottom_right_case>();
    expect_rows<resident, smx::tile<2, 2, 32>, support::visible_flags_case>();
    expect_rows<resident, smx::tile<4, 1, 32>, support::right_padding_case>();
}
TEST(lanes_dropout, a_warp) { expect_rows<resident, weights_32, support::no_mask_case>(); }
TEST(lanes_dropout, a_block) { expect_rows<resident, smx::tile<256, 4, 1>, support::everything_case>(); }
TEST(lanes_dropout, read_twice) {
    expect_rows<online, smx::tile<4, 8, 1>, support::bottom_right_case>();
    expect_rows<online, smx::tile<8, 2, 2>, support::everything_case>();
}
TEST(lanes_dropout, as_stored) {
    using stored = smx::tile<8, 8, 2, float, smx::kept::stored, smx::hidden_packs::computed,
                             smx::product::until_weighed, smx::half>;
    expect_rows<resident, stored, support::bottom_right_case, smx::half>();
}

// The gradient is, to the bit, that of a dy that was multiplied before; dy lies in the phase of y or in another.
template <class Body, class Numbers, class Case>
void expect_gradients() {
    using tile = smx::tile<Numbers::lanes, Numbers::vec, Numbers::packs, float, smx::kept::terms>;
    for (int cols : {1, 9, 64, 100, 121}) {
        support::shape4 const shape{1, 1, 2, cols};
        support::mask_material const material(shape, 2);
        smx::extents const extents(1, 1, 2, cols);
        auto const count = static_cast<std::size_t>(cols);
        support::random_stream random(static_cast<unsigned long long>(cols));
        for (std::size_t at = 0; at < 9; ++at) {
            support::guarded_buffer<float> y(count, at), dy(count, at * 3 % 8), multiplied(count, at * 3 % 8),
                dx(count, at * 5 % 8), want(count);
            for (std::size_t k = 0; k < count; ++k) {
                y[k] = static_cast<float>(random.uniform());
                dy[k] = static_cast<float>(random.normal());
                auto const by =
                    static_cast<float>(support::dropout_factor(p, seed, offset, row.index, static_cast<int>(k)));
                multiplied[k] = by == 0 ? 0 : dy[k] * by;
            }
            auto const run = [&](auto const& gradient, float* to) {
                support::run_lanes<tile::lanes>([&](auto& g) {
                    Body::template run_backward<tile>(g, smx::dense_input<float>{y.data(), {}}, gradient, 0.5f,
                                                      Case::mask(material), smx::dense_output<float>{to, {}},
                                                      row_of(cols), extents);
                });
            };
            run(smx::dropped(smx::dense_input<float>{dy.data(), {}}, smx::dropout(p, seed, offset)), dx.data());
            run(smx::dense_input<float>{multiplied.data(), {}}, want.data());
            ASSERT_TRUE(dx.intact());
            ASSERT_EQ(std::memcmp(dx.data(), want.data(), count * sizeof(float)), 0) << cols << " columns at " << at;
        }
    }
}

TEST(lanes_dropout, gradients) {
    expect_gradients<resident, smx::tile<1, 8, 16>, support::everything_case>();
    expect_gradients<resident, smx::tile<8, 8, 2>, support::bottom_right_case>();
    expect_gradients<resident, smx::tile<32, 4, 1>, support::visible_flags_case>();
    expect_gradients<resident, smx::tile<4, 1, 32>, support::no_mask_case>();
    expect_gradients<online, smx::tile<4, 8, 1>, support::bottom_right_case>();
    expect_gradients<online, smx::tile<8, 2, 2>, support::everything_case>();
}

}  // namespace
