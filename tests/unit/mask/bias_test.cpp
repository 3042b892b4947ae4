// mask/bias.hpp: every storage type and broadcast; -infinity selects, NaN and +infinity do not.
#include "smx/mask/bias.hpp"

#include <limits>
#include <vector>

#include "support/data.hpp"
#include "support/guarded_buffer.hpp"
#include "support/mask_check.hpp"

namespace {

using support::index;
using support::shape4;

template <class T>
class bias_tensor : public ::testing::Test {
public:
    static void expect_biases(std::size_t count, smx::strides step, shape4 const& shape, index first = 0) {
        support::fenced_buffer<T> biases(count);
        support::random_stream random(count);
        for (std::size_t at = 0; at < count; ++at) {
            double const value = random.coin(0.2)   ? -std::numeric_limits<double>::infinity()
                                 : random.coin(0.1) ? std::numeric_limits<double>::quiet_NaN()
                                 : random.coin(0.1) ? std::numeric_limits<double>::infinity()
                                                    : random.normal();
            biases[at] = support::stored<T>::make(value);
        }
        T const* const data = biases.data() + first;
        support::expect_mask(
            smx::bias_tensor(data, step), shape, support::none_hidden{}, [&](index b, index h, index q, int k) {
                return static_cast<double>(static_cast<float>(
                    support::stored<T>::value(data[b * step.batch + h * step.head + q * step.query + k * step.key])));
            });
    }
};
using bias_types = ::testing::Types<float, double, smx::half, smx::bfloat16>;
TYPED_TEST_SUITE(bias_tensor, bias_types);

TYPED_TEST(bias_tensor, full) { this->expect_biases(2 * 3 * 4 * 37, {3 * 4 * 37, 4 * 37, 37, 1}, {2, 3, 4, 37}); }
TYPED_TEST(bias_tensor, per_head) { this->expect_biases(3 * 4 * 33, {0, 4 * 33, 33, 1}, {2, 3, 4, 33}); }
TYPED_TEST(bias_tensor, per_key) { this->expect_biases(35, {0, 0, 0, 1}, {2, 2, 2, 35}); }
TYPED_TEST(bias_tensor, per_row) { this->expect_biases(2 * 5, {5, 0, 1, 0}, {2, 2, 5, 34}); }
TYPED_TEST(bias_tensor, one_for_all) { this->expect_biases(1, {0, 0, 0, 0}, {2, 2, 2, 36}); }
TYPED_TEST(bias_tensor, rows_backwards) { this->expect_biases(4 * 37, {0, 0, -37, 1}, {1, 1, 4, 37}, 3 * 37); }

}  // namespace
