// row/summed_backward.hpp on 1 to 256 emulated lanes: every way a bias repeats, rows that start at any address of
// themselves and of the bias, every edge of a row's length.
#include "smx/row/summed_backward.hpp"

#include <cstring>
#include <limits>

#include "lanes/row_sweep.hpp"
#include "lanes/slice_group.hpp"
#include "support/emulated_group.hpp"
#include "support/gradient_sums.hpp"

namespace lanes {

namespace {

using support::shape4;
using support::sums_options;

// The tile of a kernel of these numbers for a mask.
template <int Lanes, int Vec, int Packs, class Operands, class Stored>
using tile_for = smx::tile<Lanes, Vec, Packs, typename Operands::compute, smx::kept::terms,
                           smx::spans_row<typename Operands::seen_type> ? smx::hidden_packs::all_or_none
                           : Vec * Packs <= 32                          ? smx::hidden_packs::computed
                                                                        : smx::hidden_packs::skipped,
                           smx::product::until_weighed, Stored>;

// All lanes of an order, or the slices of a row that they share out.
template <int Lanes, int Slices, class Function>
void run_group(support::lane_order order, Function const& function) {
    if constexpr (Slices == 1) {
        support::run_lanes<Lanes>(function, order);
    } else {
        support::run_lanes<Lanes * Slices>(
            [&](auto& all) {
                slice_group<Lanes, std::remove_reference_t<decltype(all)>> g(all);
                function(g);
            },
            order);
    }
}

template <int Lanes, int Vec, int Packs, bool KeepsStored = false, int Slices = 1>
struct resident_sums {
    static constexpr int capacity = Lanes * Vec * Packs * Slices, vec = Vec;
    static constexpr bool has_capacity = true;

    template <class Operands>
    static void run(Operands const& o, support::lane_order order) {
        using stored = smx::chosen_type<KeepsStored, typename Operands::stored_type, typename Operands::compute>;
        for (smx::int64 set = 0; set < o.rows.count(); ++set) {
            run_group<Lanes, Slices>(
                order, [&](auto& g) { smx::run_resident<tile_for<Lanes, Vec, Packs, Operands, stored>>(g, o, set); });
        }
    }
};

template <int Lanes, int Vec, int Packs, int Slices = 1>
struct chunked_sums {
    static constexpr int capacity = Lanes * Vec * Packs * Slices, vec = Vec;
    static constexpr bool has_capacity = false;

    template <class Operands>
    static void run(Operands const& o, support::lane_order order) {
        for (smx::int64 set = 0; set < o.rows.count(); ++set) {
            run_group<Lanes, Slices>(order, [&](auto& g) {
                smx::run_chunked<tile_for<Lanes, Vec, Packs, Operands, typename Operands::compute>>(g, smx::online(), o,
                                                                                                    set);
            });
        }
    }
};

template <class Body, class Case, class Y, class Dy, class Dx, class Db>
void expect_sums(shape4 const& shape, sums_options const& options, unsigned long long seed) {
    support::summed_call<Case, Y, Dy, Dx, Db> call(shape, options, seed), again(shape, options, seed);
    auto const run = [](support::lane_order order) {
        return [order](auto const&... arguments) {
            auto const o = smx::make_backward_operands(arguments...);
            smx::status const s = smx::check(o);
            if (s) Body::run(o, order);
            return s;
        };
    };
    smx::status const s = call.call(run(support::lane_order::ascending));
    ASSERT_TRUE(s.ok()) << smx::sentence(s).text;
    ASSERT_EQ(call.difference(), "") << shape.keys << " keys, " << ::testing::PrintToString(options);
    // Another run gives the same bits, whichever lane comes first.
    ASSERT_TRUE(again.call(run(support::lane_order::descending)));
    ASSERT_EQ(std::memcmp(call.db.data(), again.db.data(), call.db.size() * sizeof(Db)), 0);
    ASSERT_EQ(std::memcmp(call.dx_memory(), again.dx_memory(), call.dx.size() * sizeof(Dx)), 0);
}

// Every length that has an edge, and along them every way to repeat.
template <class Body, class Case, class Y = float, class Dy = Y, class Dx = Y, class Db = float>
void sweep_sums() {
    auto const ways = support::all_ways_to_repeat();
    unsigned long long seed = 1;
    for (int keys : edge_lengths(Body::vec, Body::capacity, Body::has_capacity)) {
        if (keys == 0) continue;
        sums_options options = ways[(seed * 5) % 16];
        options.gap = static_cast<int>(seed % 4);
        options.y_offset = (seed * 3) % 17;
        options.dy_offset = seed % 2 == 0 ? options.y_offset : seed % 13;
        options.dx_offset = seed % 5;
        options.db_offset = seed % 3 == 0 ? options.y_offset : seed % 7;
        options.factor = seed % 4 == 0 ? -0.7 : 0.25;
        options.in_place = sizeof(Dy) == sizeof(Dx) && seed % 3 == 1;
        if (seed % 7 == 2) options.special = std::numeric_limits<double>::quiet_NaN();
        if (seed % 7 == 4) options.special = std::numeric_limits<double>::infinity();
        expect_sums<Body, Case, Y, Dy, Dx, Db>({2, 2, 3, keys}, options, seed++);
        if (::testing::Test::HasFatalFailure()) return;
    }
    for (sums_options options : ways) {
        options.gap = 1;
        options.y_offset = seed % 3;
        expect_sums<Body, Case, Y, Dy, Dx, Db>({2, 3, 4, Body::capacity / 2 + 3}, options, seed++);
        if (::testing::Test::HasFatalFailure()) return;
    }
}

template <class Body>
void sweep_masks() {
    sweep_sums<Body, support::no_mask_case>();
    sweep_sums<Body, support::bottom_right_case>();
    sweep_sums<Body, support::bias_case>();
    sweep_sums<Body, support::everything_case>();
}

TEST(backward_sums, by_one_lane) { sweep_masks<resident_sums<1, 8, 16>>(); }
TEST(backward_sums, by_eight_lanes) { sweep_masks<resident_sums<8, 4, 4>>(); }
TEST(backward_sums, by_a_warp) { sweep_sums<resident_sums<32, 4, 2>, support::everything_case>(); }
TEST(backward_sums, by_a_block) { sweep_sums<resident_sums<256, 4, 1>, support::bottom_right_case>(); }
TEST(backward_sums, in_short_packs) { sweep_sums<resident_sums<4, 2, 12>, support::bottom_right_case>(); }

TEST(backward_sums, chunked_by_one_lane) { sweep_masks<chunked_sums<1, 8, 4>>(); }
TEST(backward_sums, chunked_by_eight_lanes) { sweep_masks<chunked_sums<8, 4, 2>>(); }
TEST(backward_sums, chunked_by_a_warp) { sweep_sums<chunked_sums<32, 4, 1>, support::bottom_right_case>(); }

// Rows shared out in slices, as the blocks of a cluster have them: a slice may be empty.
TEST(backward_sums, by_slices) {
    sweep_sums<resident_sums<4, 4, 2, false, 3>, support::bottom_right_case>();
    sweep_sums<chunked_sums<4, 4, 1, 3>, support::everything_case>();
    sweep_sums<chunked_sums<4, 4, 1, 2>, support::no_mask_case, smx::half, smx::half, smx::half, smx::half>();
}

// Sums that cannot wait in db are taken a chunk at a time.
TEST(backward_sums, chunked_of_a_narrow_db) {
    using body = chunked_sums<8, 4, 2>;
    sweep_sums<body, support::no_mask_case, smx::half, smx::half, smx::half, smx::half>();
    sweep_sums<body, support::everything_case, float, double, smx::half, float>();
}

TEST(backward_sums, of_what_is_stored) {
    using smx::half;
    sweep_sums<resident_sums<8, 8, 2, true>, support::no_mask_case, half, half, half>();
    sweep_sums<resident_sums<4, 8, 5, true>, support::bottom_right_case, half, half, half, half>();
}

TEST(backward_sums, of_every_type) {
    sweep_sums<resident_sums<8, 8, 2>, support::everything_case, smx::half, float, smx::bfloat16, smx::half>();
    sweep_sums<resident_sums<4, 2, 8>, support::everything_case, double, double, double, double>();
    sweep_sums<chunked_sums<4, 2, 2>, support::everything_case, double, float, float, double>();
    sweep_sums<resident_sums<8, 4, 4>, support::bottom_right_case, float, double, float, float>();
}

}  // namespace

}  // namespace lanes
