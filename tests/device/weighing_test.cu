// Exponents worked out as one operation: weights of scores of every size, against double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "device/support.cuh"
#include "smx/smx.cuh"

namespace {

struct question {
    float score, max, factor;
};

__global__ void weigh(question const* questions, float* weights, int count) {
    int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= count) return;
    question const q = questions[i];
    smx::weighing<float, smx::exponent::of_product> const weight(q.max, q.factor);
    weights[i] = weight(q.score) * weight.rest(q.max);
}

class weighing : public ::testing::Test {
protected:
    void SetUp() override {
        std::string const why = device::why_no_gpu();
        if (!why.empty()) GTEST_SKIP() << why;
    }

    static std::vector<float> ask(std::vector<question> const& questions) {
        device::device_array<question> asked(questions.size());
        device::device_array<float> weights(questions.size());
        asked.upload(questions);
        int const count = static_cast<int>(questions.size());
        weigh<<<(count + 127) / 128, 128>>>(asked.data(), weights.data(), count);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        return weights.download();
    }
};

// Maxima of every size and sign, factors that can wait of every size, and scores from the maximum down.
TEST_F(weighing, of_finite_scores_is_exp_of_the_difference) {
    std::vector<question> questions;
    for (float size = 0x1p-126f; size < 0x1p127f; size *= 8) {
        for (float max : {size * 1.37f, -size * 1.61f, 0.0f}) {
            for (float factor = 0x1p-119f; factor < 0x1p126f; factor *= 11.3f) {
                if (!std::isfinite(max * factor)) continue;
                float const step = std::fabs(max) * 0x1p-23f;
                for (float below : {0.0f, step, 2 * step, 1000 * step, 0.5f / factor, 3.0f / factor, 40.0f / factor,
                                    std::fabs(max), 2 * std::fabs(max)}) {
                    if (std::isfinite(max - below)) questions.push_back({max - below, max, factor});
                }
            }
        }
    }
    std::vector<float> const weights = ask(questions);
    int seen = 0;
    for (std::size_t i = 0; i < questions.size(); ++i) {
        question const& q = questions[i];
        double const exponent =
            (static_cast<double>(q.score) - static_cast<double>(q.max)) * static_cast<double>(q.factor);
        double const want = std::exp(exponent);
        // The slope is rounded, as are the exponent and what is left of it for the largest, which may be 64 either way:
        // what is less than 2^-62 is 0, and less than 16 bits can show.
        double const bound = want * (2e-7 * (2 - std::fmax(exponent, -80.0)) + 1e-6) + 0x1p-62;
        if (want > 1e-6 && want < 1) ++seen;
        ASSERT_LE(std::fabs(static_cast<double>(weights[i]) - want), bound)
            << "score " << q.score << ", max " << q.max << ", factor " << q.factor;
    }
    EXPECT_GT(seen, 1000);
}

// A factor takes the largest to infinity: its weight beside itself is a number all the same, and what the row makes of
// it is for the statistics to say.
TEST_F(weighing, of_a_product_beyond_the_largest_float) {
    for (float weight : ask({{-3.3e38f, -3.3e38f, 4.0f}, {-10.0f, -10.0f, 8e37f}, {-3.3e38f, -3.3e38f, 8e37f}}))
        EXPECT_EQ(weight, 1.0f);
}

TEST_F(weighing, of_what_is_hidden_or_not_finite) {
    float const infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> const weights = ask({{-infinity, -infinity, 0.5f},
                                            {-infinity, 3.0f, 0.5f},
                                            {-infinity, 3e38f, 1.0f},
                                            {nan, 3.0f, 0.5f},
                                            {nan, -infinity, 0.5f},
                                            {infinity, infinity, 0.5f}});
    EXPECT_EQ(weights[0], 0.0f);
    EXPECT_EQ(weights[1], 0.0f);
    EXPECT_EQ(weights[2], 0.0f);
    EXPECT_TRUE(std::isnan(weights[3]));
    EXPECT_TRUE(std::isnan(weights[4]));
    EXPECT_TRUE(std::isnan(weights[5]));
}

}  // namespace
