// mask/tensor.hpp: flags of every integer type, both polarities, every broadcast, negative strides, any address.
#include "smx/mask/tensor.hpp"

#include <cstdint>
#include <vector>

#include "support/data.hpp"
#include "support/guarded_buffer.hpp"
#include "support/mask_check.hpp"

namespace {

using support::index;
using support::shape4;

template <class Flag>
class mask_tensor : public ::testing::Test {
public:
    // Nonzero is any value: a single bit, the top bit, all bits.
    support::fenced_buffer<Flag> all{4096};

    void fill(std::size_t count) {
        support::random_stream random(count);
        for (std::size_t at = 0; at < all.size(); ++at) {
            auto const bit = static_cast<unsigned long long>(1) << random.below(static_cast<int>(sizeof(Flag)) * 8);
            all[at] = random.coin() ? Flag(0) : random.coin() ? static_cast<Flag>(bit) : static_cast<Flag>(~0ULL);
        }
    }

    // The last `count` flags, so that a read past the tensor is a fault.
    void expect_both_polarities(std::size_t count, smx::strides step, shape4 const& shape, index first = 0) {
        fill(count);
        Flag const* const data = all.data() + (all.size() - count) + first;
        auto const set = [&](index b, index h, index q, int k) {
            return data[b * step.batch + h * step.head + q * step.query + k * step.key] != Flag(0);
        };
        support::expect_mask(smx::mask_tensor(data, step), shape, set);
        support::expect_mask(smx::hidden_where(data, step), shape,
                             [&](index b, index h, index q, int k) { return !set(b, h, q, k); });
    }
};
using flag_types =
    ::testing::Types<unsigned char, signed char, bool, std::int16_t, std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(mask_tensor, flag_types);

TYPED_TEST(mask_tensor, full) {
    this->expect_both_polarities(2 * 3 * 4 * 37, {3 * 4 * 37, 4 * 37, 37, 1}, {2, 3, 4, 37});
}
TYPED_TEST(mask_tensor, per_query_and_key) { this->expect_both_polarities(4 * 37, {0, 0, 37, 1}, {2, 3, 4, 37}); }
TYPED_TEST(mask_tensor, per_batch) { this->expect_both_polarities(2 * 4 * 33, {4 * 33, 0, 33, 1}, {2, 3, 4, 33}); }
TYPED_TEST(mask_tensor, key_padding) { this->expect_both_polarities(3 * 35, {35, 0, 0, 1}, {3, 2, 3, 35}); }
TYPED_TEST(mask_tensor, per_row) { this->expect_both_polarities(2 * 5, {5, 0, 1, 0}, {2, 2, 5, 34}); }
TYPED_TEST(mask_tensor, one_flag_for_all) { this->expect_both_polarities(1, {0, 0, 0, 0}, {2, 2, 2, 36}); }
TYPED_TEST(mask_tensor, rows_apart) { this->expect_both_polarities(3 * 80 + 37, {0, 0, 80, 1}, {1, 1, 4, 37}); }
TYPED_TEST(mask_tensor, rows_backwards) { this->expect_both_polarities(4 * 37, {0, 0, -37, 1}, {1, 1, 4, 37}, 3 * 37); }
TYPED_TEST(mask_tensor, broadcast_helper) {
    this->expect_both_polarities(2 * 4 * 33, smx::broadcast({2, 1, 4, 33}), {2, 3, 4, 33});
}

// Every value of a byte but 0 is "set".
TEST(mask_tensor_bytes, every_value) {
    unsigned char flags[256];
    for (int value = 0; value < 256; ++value) flags[value] = static_cast<unsigned char>(value);
    support::expect_mask(smx::mask_tensor(flags, {0, 0, 0, 1}), {1, 1, 1, 256},
                         [](index, index, index, int k) { return k != 0; });
    // And beside any neighbours: 256 pairs of a value and its complement.
    unsigned char pairs[512];
    for (int value = 0; value < 256; ++value) {
        pairs[2 * value] = static_cast<unsigned char>(value);
        pairs[2 * value + 1] = static_cast<unsigned char>(255 - value);
    }
    support::expect_mask(smx::mask_tensor(pairs, {0, 0, 0, 1}), {1, 1, 1, 512},
                         [&](index, index, index, int k) { return pairs[k] != 0; });
}

}  // namespace
