// tensor.hpp: strides in elements, packs that start where the address is aligned, reading and writing at any address.
#include "smx/tensor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>
#include <vector>

#include "support/data.hpp"
#include "support/guarded_buffer.hpp"

namespace {

TEST(tensor, row_pointer_counts_elements) {
    double data[1];
    smx::row_id const row{2, 3, 5, 0, 7};
    EXPECT_EQ(smx::row_pointer(data, {100, 10, 1, 1}, row) - data, 235);
    EXPECT_EQ(smx::row_pointer(data, {0, 0, 0, 1}, row), data);
    smx::row_id const far{70000, 3, 100000, 0, 7};
    auto const address = [](double const* pointer) { return reinterpret_cast<unsigned long long>(pointer); };
    // Beyond 2^31 elements: addresses only, nothing is read.
    EXPECT_EQ(address(smx::row_pointer(static_cast<double const*>(nullptr), {0, 0, 0, 1}, far)), 0U);
}

template <class T>
class dense : public ::testing::Test {};
using storage_types = ::testing::Types<float, double, smx::half, smx::bfloat16>;
TYPED_TEST_SUITE(dense, storage_types);

template <class T, int V>
void expect_heads() {
    constexpr std::size_t bytes = V * sizeof(T) < 16 ? V * sizeof(T) : 16;
    support::guarded_buffer<T> x(256);
    for (std::size_t offset = 0; offset < 40; ++offset) {
        smx::dense_input<T> const input{x.data() + offset, {0, 0, 0, 1}};
        int const head = smx::head_of<V>(input, smx::row_id{0, 0, 0, 0, 100});
        ASSERT_GE(head, 0);
        ASSERT_LT(head, V);
        ASSERT_LT(static_cast<std::size_t>(head) * sizeof(T), bytes);
        ASSERT_EQ(reinterpret_cast<std::size_t>(x.data() + offset + head) % bytes, 0U);
    }
}

TYPED_TEST(dense, packs_start_where_the_address_is_aligned) {
    expect_heads<TypeParam, 1>();
    expect_heads<TypeParam, 2>();
    expect_heads<TypeParam, 4>();
    expect_heads<TypeParam, 8>();
    expect_heads<TypeParam, 16>();
}

template <class T, int V>
void expect_packs() {
    support::guarded_buffer<T> x(128);
    for (std::size_t at = 0; at < 128; ++at) x[at] = support::stored<T>::make(static_cast<double>(at));
    smx::dense_input<T> const input{x.data(), {64, 0, 32, 1}};
    auto const row = input.bind(smx::row_id{1, 5, 1, 0, 32});
    for (int col = 0; col + V <= 32; ++col) {
        auto const raw = smx::read_pack<V>(x.data() + 96 + col);
        auto const values = smx::widen<typename smx::dense_input<T>::compute>(raw);
        for (int i = 0; i < V; ++i) ASSERT_EQ(static_cast<double>(values[i]), 96.0 + col + i);
    }
    for (int col = 0; col + V <= 32; col += V) {
        auto const values = decltype(row)::template widen<V>(row.template fetch<V>(col));
        for (int i = 0; i < V; ++i) ASSERT_EQ(static_cast<double>(values[i]), 96.0 + col + i);
    }
}

TYPED_TEST(dense, reads_packs) {
    static_assert(std::is_trivially_copyable_v<smx::dense_input<TypeParam>>);
    expect_packs<TypeParam, 1>();
    expect_packs<TypeParam, 2>();
    expect_packs<TypeParam, 4>();
    expect_packs<TypeParam, 8>();
    expect_packs<TypeParam, 16>();
    expect_packs<TypeParam, 32>();
}

template <class T, int V, class Compute>
void expect_writes() {
    for (std::size_t offset = 0; offset < 17; ++offset) {
        support::guarded_buffer<T> y(static_cast<std::size_t>(V), offset);
        smx::pack<Compute, V> values;
        for (int i = 0; i < V; ++i) values[i] = static_cast<Compute>(i + 1);
        smx::dense_output<T>{y.data(), {0, 0, 0, 1}}.bind(smx::row_id{}).template store<V>(0, values);
        ASSERT_TRUE(y.intact());
        for (int i = 0; i < V; ++i) ASSERT_EQ(support::stored<T>::value(y[static_cast<std::size_t>(i)]), i + 1.0);
    }
}

TYPED_TEST(dense, writes_packs_at_any_address) {
    expect_writes<TypeParam, 1, float>();
    expect_writes<TypeParam, 4, float>();
    expect_writes<TypeParam, 8, float>();
    expect_writes<TypeParam, 16, float>();
    expect_writes<TypeParam, 8, double>();
}

// One rounding, from the arithmetic type to the storage type.
TEST(tensor, stores_round_once) {
    support::random_stream random(12);
    for (int turn = 0; turn < 1000; ++turn) {
        smx::pack<double, 4> values;
        for (int i = 0; i < 4; ++i) values[i] = random.normal();
        smx::half y[4];
        smx::dense_output<smx::half>{y, {0, 0, 0, 1}}.bind(smx::row_id{}).template store<4>(0, values);
        for (int i = 0; i < 4; ++i) ASSERT_EQ(y[i].bits, support::half_format.bits_of(values[i]));
    }
}

TEST(tensor, the_store_policy_is_part_of_the_type) {
    static_assert(smx::hidden_policy<smx::dense_output<float>> == smx::hidden::zeros);
    static_assert(smx::hidden_policy<smx::dense_output<float, smx::hidden::keep>> == smx::hidden::keep);
    struct own_output {};
    static_assert(smx::hidden_policy<own_output> == smx::hidden::zeros);
}

// Rows that lie evenly apart are found by their index, others by their strides.
TEST(tensor, rows_by_index) {
    float data[64] = {};
    smx::row_id const row{1, 2, 3, 7, 5};
    EXPECT_EQ((smx::dense_input<float>{data + 32, {1, 2, 3, 1}}.bind(row).start - data), 32 + 1 + 4 + 9);
    EXPECT_EQ((smx::dense_output<float>{data + 32, {1, 2, 3, 1}}.bind(row).start - data), 32 + 1 + 4 + 9);
    for (smx::int64 step : {smx::int64{4}, smx::int64{-4}, smx::int64{1}}) {
        EXPECT_EQ((smx::dense_input<float>{data + 32, {1, 2, 3, 1}, step}.bind(row).start - data), 32 + 7 * step);
        EXPECT_EQ((smx::dense_output<float>{data + 32, {1, 2, 3, 1}, step}.bind(row).start - data), 32 + 7 * step);
    }
}

template <class T, int V>
void expect_hidden() {
    using row = typename smx::dense_input<T>::row;
    auto const values = row::template widen<V>(row::template neg_inf<V>());
    for (int i = 0; i < V; ++i) {
        ASSERT_TRUE(std::isinf(values[i]) && values[i] < 0) << i;
    }
}

TYPED_TEST(dense, a_hidden_pack_widens_to_minus_infinity) {
    expect_hidden<TypeParam, 1>();
    expect_hidden<TypeParam, 4>();
    expect_hidden<TypeParam, 8>();
    expect_hidden<TypeParam, 32>();
}

}  // namespace
