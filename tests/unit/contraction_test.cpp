// A compiler that may fuse a product into the sum after it (g++ does, unasked) gives the same answers: both passes over
// a row see one rounding of scale * x.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "smx/group.hpp"
#include "smx/row/chunked.hpp"
#include "support/data.hpp"

#if defined(__x86_64__)
namespace {

// One visible score a row: its sum is exactly 1, its maximum the rounded product, whatever is fused.
template <class Keeper, class Compute>
__attribute__((target("fma,avx2"))) smx::statistics<Compute> statistics_of(std::vector<Compute> const& x,
                                                                           Compute factor, std::vector<Compute>& y) {
    using tile = smx::tile<1, 8, 2, Compute, Keeper::keeps>;
    alignas(64) static unsigned char memory[64 * 1024];
    int const cols = static_cast<int>(x.size());
    smx::thread_group g;
    Keeper const keeper = [] {
        if constexpr (smx::same_type<Keeper, smx::online>) {
            return smx::online();
        } else {
            return Keeper(memory);
        }
    }();
    return smx::chunked_row<tile>(g, keeper, smx::dense_input<Compute>{x.data(), {0, 0, 0, 1}}, factor, smx::no_mask(),
                                  smx::dense_output<Compute>{y.data(), {0, 0, 0, 1}}, smx::row_id{0, 0, 0, 0, cols},
                                  smx::extents(1, cols));
}

template <class Keeper, class Compute>
void expect_same_rounding() {
    if (!__builtin_cpu_supports("fma") || !__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this machine has no FMA";
    support::random_stream random(5);
    for (int cols : {1, 8, 16, 17, 40, 100}) {
        for (int turn = 0; turn < 50; ++turn) {
            std::vector<Compute> x(static_cast<std::size_t>(cols), -std::numeric_limits<Compute>::infinity());
            auto const column = static_cast<std::size_t>(random.below(cols));
            x[column] = static_cast<Compute>(300 * random.normal());
            auto const factor = static_cast<Compute>(0.1 + random.uniform());
            Compute const volatile product = x[column] * factor;
            std::vector<Compute> y(x.size());
            auto const stats = statistics_of<Keeper>(x, factor, y);
            ASSERT_EQ(stats.max, product) << cols;
            ASSERT_EQ(stats.sum, Compute(1)) << cols;
            ASSERT_EQ(y[column], Compute(1)) << cols;
        }
    }
}

// The body that keeps the whole row in its tile, its scale folded into the exponent.
template <class Compute>
__attribute__((target("fma,avx2"))) smx::statistics<Compute> resident_statistics_of(std::vector<Compute> const& x,
                                                                                    Compute factor,
                                                                                    std::vector<Compute>& y) {
    using tile = smx::tile<1, 8, 16, Compute, smx::kept::weights, smx::hidden_packs::computed>;
    int const cols = static_cast<int>(x.size());
    smx::thread_group g;
    return smx::softmax_row<tile>(g, smx::dense_input<Compute>{x.data(), {0, 0, 0, 1}}, factor, smx::no_mask(),
                                  smx::dense_output<Compute>{y.data(), {0, 0, 0, 1}}, smx::row_id{0, 0, 0, 0, cols},
                                  smx::extents(1, cols));
}

template <class Compute>
void expect_same_rounding_of_resident() {
    if (!__builtin_cpu_supports("fma") || !__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this machine has no FMA";
    support::random_stream random(7);
    for (int turn = 0; turn < 300; ++turn) {
        std::vector<Compute> x(static_cast<std::size_t>(1 + random.below(100)),
                               -std::numeric_limits<Compute>::infinity());
        auto const column = static_cast<std::size_t>(random.below(static_cast<int>(x.size())));
        x[column] = static_cast<Compute>(300 * random.normal());
        auto const factor = static_cast<Compute>(0.1 + random.uniform());
        Compute const volatile product = x[column] * factor;
        std::vector<Compute> y(x.size());
        auto const stats = resident_statistics_of(x, factor, y);
        ASSERT_EQ(stats.max, product);
        ASSERT_EQ(stats.sum, Compute(1));
        ASSERT_EQ(y[column], Compute(1));
    }
}

TEST(contraction, float_staged) { expect_same_rounding<smx::staged<float>, float>(); }
TEST(contraction, float_online) { expect_same_rounding<smx::online, float>(); }
TEST(contraction, double_staged) { expect_same_rounding<smx::staged<double>, double>(); }
TEST(contraction, double_online) { expect_same_rounding<smx::online, double>(); }
TEST(contraction, float_resident) { expect_same_rounding_of_resident<float>(); }
TEST(contraction, double_resident) { expect_same_rounding_of_resident<double>(); }

}  // namespace
#endif
