// mask/lengths.hpp: padding on either side, lengths of every integer type, clamped.
#include "smx/mask/lengths.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include "support/mask_check.hpp"

namespace {

using support::index;

template <class Index>
class lengths : public ::testing::Test {};
using index_types = ::testing::Types<int, unsigned, long long, unsigned long long, short, unsigned char, signed char>;
TYPED_TEST_SUITE(lengths, index_types);

template <class Index>
long long clamped(Index length, int keys) {
    if (length <= Index(0)) return 0;
    return static_cast<unsigned long long>(length) > static_cast<unsigned long long>(keys)
               ? keys
               : static_cast<long long>(length);
}

template <class Index>
std::vector<Index> hostile() {
    return {Index(0),
            Index(1),
            Index(5),
            Index(36),
            Index(37),
            Index(38),
            Index(100),
            std::numeric_limits<Index>::max(),
            std::numeric_limits<Index>::min(),
            static_cast<Index>(-1)};
}

TYPED_TEST(lengths, right_padding) {
    auto const all = hostile<TypeParam>();
    support::shape4 const shape{static_cast<index>(all.size()), 2, 2, 37};
    support::expect_mask(smx::key_lengths(all.data()), shape, [&](index b, index, index, int k) {
        return k < clamped(all[static_cast<std::size_t>(b)], 37);
    });
}

TYPED_TEST(lengths, left_padding) {
    auto const all = hostile<TypeParam>();
    support::shape4 const shape{static_cast<index>(all.size()), 2, 2, 37};
    support::expect_mask(smx::key_lengths(all.data(), smx::padding::left), shape, [&](index b, index, index, int k) {
        return k >= 37 - clamped(all[static_cast<std::size_t>(b)], 37);
    });
}

}  // namespace
