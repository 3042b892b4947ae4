// pack.hpp: packs widen exactly, and narrow with one rounding.
#include "smx/pack.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "support/data.hpp"
#include "support/stored.hpp"

namespace {

TEST(pack, is_its_elements) {
    static_assert(sizeof(smx::pack<float, 8>) == 32);
    auto values = smx::filled_pack<4>(2.5);
    values[2] = 1.0;
    EXPECT_EQ(values[0], 2.5);
    EXPECT_EQ(values.data[2], 1.0);
}

template <class T, int V>
void expect_round_trip() {
    support::random_stream random(3);
    for (int turn = 0; turn < 200; ++turn) {
        smx::pack<float, V> values;
        for (int i = 0; i < V; ++i) values[i] = static_cast<float>(random.normal());
        auto const raw = smx::narrow<T>(values);
        auto const back = smx::widen<float>(raw);
        for (int i = 0; i < V; ++i) {
            T const want = support::stored<T>::make(static_cast<double>(values[i]));
            T const held = raw[i];
            ASSERT_EQ(std::memcmp(&held, &want, sizeof(T)), 0);
            ASSERT_EQ(static_cast<double>(back[i]), support::stored<T>::value(want));
        }
    }
}

TEST(pack, narrows_with_one_rounding_and_widens_exactly) {
    expect_round_trip<smx::half, 1>();
    expect_round_trip<smx::half, 8>();
    expect_round_trip<smx::half, 16>();
    expect_round_trip<smx::bfloat16, 2>();
    expect_round_trip<smx::bfloat16, 8>();
    expect_round_trip<float, 4>();
}

}  // namespace
