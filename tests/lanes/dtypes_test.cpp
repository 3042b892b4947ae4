// Both bodies for every pair of storage types: one rounding at the store, arithmetic in double where x is double.
#include "lanes/row_sweep.hpp"

namespace {

template <class X, class Y>
struct pair_of {
    using x = X;
    using y = Y;
};

using pairs =
    ::testing::Types<pair_of<float, smx::half>, pair_of<float, smx::bfloat16>, pair_of<float, double>,
                     pair_of<smx::half, smx::half>, pair_of<smx::half, float>, pair_of<smx::bfloat16, smx::bfloat16>,
                     pair_of<smx::bfloat16, float>, pair_of<smx::bfloat16, smx::half>, pair_of<double, double>,
                     pair_of<double, float>, pair_of<double, smx::half>>;

struct pair_names {
    template <class Pair>
    static std::string GetName(int) {
        return std::string(support::stored<typename Pair::x>::name) + "_to_" + support::stored<typename Pair::y>::name;
    }
};

template <class Pair>
class dtypes : public ::testing::Test {
public:
    using x = typename Pair::x;
    using y = typename Pair::y;
    using compute = smx::compute_of<x>;

    template <class Body, class Tile>
    static void sweep() {
        lanes::sweep<Body, Tile, support::no_mask_case, x, y>();
        lanes::sweep<Body, Tile, support::everything_case, x, y>();
    }
};
TYPED_TEST_SUITE(dtypes, pairs, pair_names);

TYPED_TEST(dtypes, one_lane_staged) {
    this->template sweep<support::staged_body, smx::tile<1, 16, 4, typename TestFixture::compute>>();
}
TYPED_TEST(dtypes, eight_lanes_resident) {
    this->template sweep<support::resident_body, smx::tile<8, 8, 4, typename TestFixture::compute>>();
}
TYPED_TEST(dtypes, thirty_two_lanes_online) {
    this->template sweep<support::online_body, smx::tile<32, 8, 1, typename TestFixture::compute>>();
}

}  // namespace
