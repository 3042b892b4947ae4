// pack.hpp: packs widen exactly, narrow with one rounding, and move whole.
#include "smx/pack.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "support/data.hpp"
#include "support/guarded_buffer.hpp"
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

// Whatever the type and the address, exactly the pack's bytes are read.
template <class T, int V>
void expect_shared_reads() {
    support::fenced_buffer<T> memory(static_cast<std::size_t>(V) + 20);
    auto* const bytes = reinterpret_cast<unsigned char*>(memory.data());
    for (std::size_t at = 0; at < memory.size() * sizeof(T); ++at) bytes[at] = static_cast<unsigned char>(at * 7);
    for (std::size_t offset = 0; offset <= 20; ++offset) {
        auto const raw = smx::read_pack<V>(memory.data() + offset);
        ASSERT_EQ(std::memcmp(&raw, memory.data() + offset, V * sizeof(T)), 0) << "offset " << offset;
    }
}

TEST(pack, reads_shared_memory_at_any_address) {
    expect_shared_reads<unsigned char, 1>();
    expect_shared_reads<unsigned char, 4>();
    expect_shared_reads<unsigned char, 8>();
    expect_shared_reads<unsigned char, 16>();
    expect_shared_reads<std::int16_t, 8>();
    expect_shared_reads<std::int32_t, 4>();
    expect_shared_reads<std::int64_t, 2>();
    expect_shared_reads<float, 8>();
    expect_shared_reads<double, 16>();
}

}  // namespace
