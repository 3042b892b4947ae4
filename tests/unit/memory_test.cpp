// memory.hpp: packs move whole, from any address.
#include "smx/memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "support/guarded_buffer.hpp"

namespace {

// Whatever the type and the address, exactly the pack's bytes are read.
template <class T, int V>
void expect_reads() {
    support::fenced_buffer<T> memory(static_cast<std::size_t>(V) + 20);
    auto* const bytes = reinterpret_cast<unsigned char*>(memory.data());
    for (std::size_t at = 0; at < memory.size() * sizeof(T); ++at) bytes[at] = static_cast<unsigned char>(at * 7);
    for (std::size_t offset = 0; offset <= 20; ++offset) {
        auto const raw = smx::read_pack<V>(memory.data() + offset);
        ASSERT_EQ(std::memcmp(&raw, memory.data() + offset, V * sizeof(T)), 0) << "offset " << offset;
    }
}

TEST(memory, reads_at_any_address) {
    expect_reads<unsigned char, 1>();
    expect_reads<unsigned char, 4>();
    expect_reads<unsigned char, 8>();
    expect_reads<unsigned char, 16>();
    expect_reads<std::int16_t, 8>();
    expect_reads<std::int32_t, 4>();
    expect_reads<std::int64_t, 2>();
    expect_reads<float, 8>();
    expect_reads<double, 16>();
}

}  // namespace
