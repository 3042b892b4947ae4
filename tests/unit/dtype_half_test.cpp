// dtype_half.hpp: the toolkit's 16-bit types are the same bits as smx's own.
#include "smx/dtype_half.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "smx/host.hpp"
#include "support/data.hpp"

namespace {

template <class Theirs, class Ours>
void expect_same_bits() {
    static_assert(sizeof(Theirs) == sizeof(Ours));
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        Ours const ours{static_cast<unsigned short>(bits)};
        Theirs theirs;
        std::memcpy(static_cast<void*>(&theirs), &ours, 2);
        float const value = smx::dtype<Theirs>::widen(theirs);
        float const want = smx::dtype<Ours>::widen(ours);
        ASSERT_EQ(std::memcmp(&value, &want, 4), 0) << bits;
        Theirs const back = smx::dtype<Theirs>::narrow(value);
        Ours const ours_back = smx::dtype<Ours>::narrow(value);
        ASSERT_EQ(std::memcmp(&back, &ours_back, 2), 0) << bits;
    }
}

TEST(dtype_half, the_same_bits) {
    expect_same_bits<__half, smx::half>();
    expect_same_bits<__nv_bfloat16, smx::bfloat16>();
}

template <class Theirs>
void expect_neg_inf() {
    EXPECT_EQ(smx::dtype<Theirs>::widen(smx::dtype<Theirs>::neg_inf()), -std::numeric_limits<float>::infinity());
}

TEST(dtype_half, minus_infinity) {
    expect_neg_inf<__half>();
    expect_neg_inf<__nv_bfloat16>();
}

TEST(dtype_half, the_operator_takes_them) {
    auto const ours = support::make_scores<smx::half>(support::pattern::mild, 60, 20, 1);
    std::vector<__half> theirs(60), y_theirs(60);
    std::vector<smx::half> y_ours(60);
    std::memcpy(static_cast<void*>(theirs.data()), ours.data(), 120);
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(ours.data(), {3, 20}), smx::inv_sqrt(64), smx::no_mask(),
                                     smx::probabilities(y_ours.data())));
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(theirs.data(), {3, 20}), smx::inv_sqrt(64), smx::no_mask(),
                                     smx::probabilities(y_theirs.data())));
    EXPECT_EQ(std::memcmp(y_ours.data(), y_theirs.data(), 120), 0);
}

}  // namespace
