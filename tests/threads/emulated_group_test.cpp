// support/emulated_group.hpp and support/threaded_group.hpp: what the other lanes tests stand on.
#include "support/emulated_group.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "smx/math.hpp"
#include "support/threaded_group.hpp"

namespace {

template <class Run>
std::string divergence_of(Run const& run) {
    try {
        run();
    } catch (support::divergent_collective const& found) {
        return found.what();
    }
    return "no divergence was found";
}

TEST(emulated_group, every_lane_gets_the_result) {
    std::vector<int> ranks;
    support::run_lanes<256>([&](auto& g) {
        ranks.push_back(g.rank());
        EXPECT_EQ(g.all_reduce(g.rank(), smx::plus()), 255 * 256 / 2);
        EXPECT_EQ(g.all_reduce(g.rank() == 77 ? 1e9f : -1.0f, smx::maximum()), 1e9f);
        g.sync();
        EXPECT_EQ(g.all_reduce(1.0, smx::plus()), 256.0);
    });
    ASSERT_EQ(ranks.size(), 256U);
    for (int lane = 0; lane < 256; ++lane) EXPECT_EQ(ranks[static_cast<std::size_t>(lane)], lane);
}

// Addition of floats is not associative: whichever lane runs first, lane 0's value is folded first.
TEST(emulated_group, the_fold_order_is_that_of_the_lanes) {
    auto const sum = [](support::lane_order order) {
        float result = 0;
        support::run_lanes<3>(
            [&](auto& g) {
                float const mine[3] = {1e8f, -1e8f, 1.0f};
                result = g.all_reduce(mine[g.rank()], smx::plus());
            },
            order);
        return result;
    };
    EXPECT_EQ(sum(support::lane_order::ascending), 1.0f);
    EXPECT_EQ(sum(support::lane_order::descending), 1.0f);
}

TEST(emulated_group, a_lane_runs_to_its_next_collective) {
    std::string order;
    support::run_lanes<3>([&](auto& g) {
        order += static_cast<char>('a' + g.rank());
        g.sync();
        order += static_cast<char>('A' + g.rank());
    });
    EXPECT_EQ(order, "abcABC");
}

TEST(emulated_group, groups_of_a_block_do_not_wait_for_each_other) {
    std::string order;
    support::run_groups<2>(3, [&](auto& g, int group) {
        if (group == 1) return;  // a whole group may leave
        EXPECT_EQ(g.all_reduce(group + 10 * g.rank(), smx::plus()), 2 * group + 10);
        if (group == 2) g.sync();
        if (g.rank() == 0) order += static_cast<char>('0' + group);
    });
    EXPECT_EQ(order, "02");
}

TEST(emulated_group, one_lane_is_a_group) {
    support::run_lanes<1>([](auto& g) { EXPECT_EQ(g.all_reduce(5, smx::plus()), 5); });
}

TEST(emulated_group, a_lane_that_leaves_early_is_named) {
    auto const kernel = [](auto& g) {
        if (g.rank() >= 5) return;  // "if (row >= rows) return" before a barrier
        g.sync();
    };
    std::string const sentence = "divergent collective: at meeting 1 lane 0 waits in sync and lane 5 has returned";
    EXPECT_EQ(divergence_of([&] { support::run_lanes<8>(kernel); }), sentence);
    EXPECT_EQ(divergence_of([&] { support::run_threads<8>(kernel); }), sentence);
}

TEST(emulated_group, lanes_in_different_collectives_are_named) {
    auto const kernel = [](auto& g) {
        g.sync();
        if (g.rank() % 2 == 0) {
            g.all_reduce(1.0f, smx::plus());
        } else {
            g.sync();
        }
    };
    std::string const sentence =
        "divergent collective: at meeting 2 lane 0 waits in all_reduce and lane 1 waits in sync";
    EXPECT_EQ(divergence_of([&] { support::run_lanes<4>(kernel); }), sentence);
    EXPECT_EQ(divergence_of([&] { support::run_threads<4>(kernel); }), sentence);
}

TEST(emulated_group, reductions_of_different_operators_are_told_apart) {
    auto const kernel = [](auto& g) {
        if (g.rank() == 3) {
            g.all_reduce(1.0f, smx::plus());
        } else {
            g.all_reduce(1.0f, smx::maximum());
        }
    };
    std::string const sentence =
        "divergent collective: at meeting 1 lane 0 waits in all_reduce and lane 3 waits in all_reduce of another type "
        "or operation";
    EXPECT_EQ(divergence_of([&] { support::run_lanes<4>(kernel); }), sentence);
    EXPECT_EQ(divergence_of([&] { support::run_threads<4>(kernel); }), sentence);
}

TEST(emulated_group, a_lane_may_throw_and_the_next_run_is_sound) {
    auto const kernel = [](auto& g) {
        if (g.rank() == 2) throw std::logic_error("lane 2");
        g.sync();
    };
    EXPECT_THROW(support::run_lanes<4>(kernel), std::logic_error);
    EXPECT_ANY_THROW(support::run_threads<4>(kernel));
    support::run_lanes<4>([](auto& g) { EXPECT_EQ(g.all_reduce(1, smx::plus()), 4); });
}

TEST(threaded_group, every_lane_gets_the_result) {
    support::run_threads<16>([&](auto& g) {
        EXPECT_EQ(g.all_reduce(g.rank(), smx::plus()), 120);
        g.sync();
        EXPECT_EQ(g.all_reduce(g.rank() == 7 ? 9.0 : -1.0, smx::maximum()), 9.0);
    });
}

}  // namespace
