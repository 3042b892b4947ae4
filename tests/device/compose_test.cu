// What a user writes on the device: kernels of their own round the rows' functions, inputs and outputs of their own in
// the library's kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "device/support.cuh"
#include "smx/smx.cuh"

namespace {

using device::device_array;
using smx::int64;

class compose : public ::testing::Test {
protected:
    void SetUp() override {
        std::string const why = device::why_no_gpu();
        if (!why.empty()) GTEST_SKIP() << why;
    }
};

// Bottom-right causal softmax of rows x cols scores in double.
std::vector<double> expected(std::vector<float> const& x, int rows, int cols, double factor) {
    std::vector<double> y(x.size(), 0.0);
    for (int row = 0; row < rows; ++row) {
        int const visible = row + 1 + cols - rows;
        auto const at = [&](int k) {
            return static_cast<std::size_t>(row) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(k);
        };
        double sum = 0;
        for (int k = 0; k < visible; ++k) sum += std::exp(factor * static_cast<double>(x[at(k)]));
        for (int k = 0; k < visible; ++k) y[at(k)] = std::exp(factor * static_cast<double>(x[at(k)])) / sum;
    }
    return y;
}

std::vector<float> some_scores(int rows, int cols) {
    std::vector<float> x(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
    for (std::size_t at = 0; at < x.size(); ++at) x[at] = static_cast<float>((at * 37) % 101) * 0.0625f - 3.0f;
    return x;
}

void expect_near(std::vector<float> const& got, std::vector<double> const& want, int cols, double bound,
                 std::string const& what) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t at = 0; at < got.size(); ++at) {
        ASSERT_LE(std::fabs(static_cast<double>(got[at]) - want[at]), bound * want[at])
            << what << ", row " << at / static_cast<std::size_t>(cols) << ", column "
            << at % static_cast<std::size_t>(cols) << " of " << cols << ": got " << got[at] << ", want " << want[at];
    }
}

struct largest_and_sum {
    float max, sum;
};

enum class body { resident, staged, online };

// A kernel of the user's: several groups a block, a row each.
template <class Group, int Vec, int Packs, body Body>
__global__ void users_kernel(float const* x, float* y, largest_and_sum* statistics, smx::extents shape) {
    __shared__ typename Group::storage storage;
    extern __shared__ float4 scores[];
    Group g(storage);
    int64 const row = static_cast<int64>(blockIdx.x) * (blockDim.x / Group::size) + threadIdx.x / Group::size;
    if (row >= shape.queries) return;
    smx::row_id const id{0, 0, row, row, static_cast<int>(shape.keys)};
    smx::dense_input<float> const input{x, {0, 0, shape.keys, 1}};
    smx::dense_output<float> const output{y, {0, 0, shape.keys, 1}};
    auto const mask = smx::causal_mask::bottom_right();
    using tile = smx::tile<Group::size, Vec, Packs>;
    using staged_tile = smx::tile<Group::size, Vec, Packs, float, smx::staged<float>::keeps>;
    smx::statistics<float> found;
    if constexpr (Body == body::resident) {
        found = smx::softmax_row<tile>(g, input, 0.5f, mask, output, id, shape);
    } else if constexpr (Body == body::staged) {
        found = smx::chunked_row<staged_tile>(g, smx::staged<float>(scores), input, 0.5f, mask, output, id, shape);
    } else {
        found = smx::chunked_row<tile>(g, smx::online(), input, 0.5f, mask, output, id, shape);
    }
    // Every lane knows the statistics: the last one tells.
    if (g.rank() == Group::size - 1) statistics[row] = {found.max, found.sum};
}

template <class Group, int Vec, int Packs, body Body>
void run_users_kernel(int block_threads, int rows, int cols) {
    auto const count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
    std::string const what =
        std::to_string(Group::size) + " lanes, " + std::to_string(rows) + " x " + std::to_string(cols);
    device_array<float> x(count), y(count);
    device_array<largest_and_sum> statistics(static_cast<std::size_t>(rows));
    std::vector<float> const scores = some_scores(rows, cols);
    x.upload(scores);
    int const rows_per_block = block_threads / Group::size;
    using tile = smx::tile<Group::size, Vec, Packs, float, smx::staged<float>::keeps>;
    auto const shared = Body == body::staged ? static_cast<std::size_t>(smx::staged<float>::bytes<tile>(cols)) : 0;
    users_kernel<Group, Vec, Packs, Body><<<(rows + rows_per_block - 1) / rows_per_block, block_threads, shared>>>(
        x.data(), y.data(), statistics.data(), smx::extents(rows, cols));
    ASSERT_EQ(cudaGetLastError(), cudaSuccess) << what;
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << what;
    expect_near(y.download(), expected(scores, rows, cols, 0.5), cols, 1e-5, what);
    std::vector<largest_and_sum> const found = statistics.download();
    for (int row = 0; row < rows; ++row) {
        double max = -1e30, sum = 0;
        for (int k = 0; k < row + 1 + cols - rows; ++k) {
            double const score =
                0.5 * static_cast<double>(scores[static_cast<std::size_t>(row) * static_cast<std::size_t>(cols) +
                                                 static_cast<std::size_t>(k)]);
            if (score > max) {
                sum *= std::exp(max - score);
                max = score;
            }
            sum += std::exp(score - max);
        }
        ASSERT_NEAR(found[static_cast<std::size_t>(row)].max, max, 1e-6) << what << ", row " << row;
        ASSERT_NEAR(found[static_cast<std::size_t>(row)].sum, sum, 1e-5 * sum) << what << ", row " << row;
    }
}

TEST_F(compose, softmax_row_in_a_kernel_of_the_users) {
    run_users_kernel<smx::thread_group, 4, 2, body::resident>(96, 7, 8);
    run_users_kernel<smx::warp_group<4>, 2, 4, body::resident>(64, 21, 31);
    run_users_kernel<smx::warp_group<16>, 4, 2, body::resident>(256, 33, 101);
    run_users_kernel<smx::block_group<128>, 4, 2, body::resident>(128, 5, 1000);
}

TEST_F(compose, chunked_row_in_a_kernel_of_the_users) {
    run_users_kernel<smx::warp_group<32>, 4, 2, body::staged>(32, 5, 1500);
    run_users_kernel<smx::block_group<64>, 4, 2, body::staged>(64, 5, 1777);
    run_users_kernel<smx::warp_group<8>, 4, 2, body::online>(64, 11, 777);
    run_users_kernel<smx::block_group<96>, 4, 1, body::online>(96, 5, 1777);
}

// Scores of 8 bits with a step, probabilities of 8 bits: what an engine's quantised kernel reads and writes.
struct quantised_scores {
    signed char const* data;
    int64 pitch;
    float step;

    using compute = float;
    template <int V>
    SMX_HD smx::pack<float, V> load(smx::row_id row, int col) const {
        smx::pack<float, V> values;
        SMX_UNROLL
        for (int i = 0; i < V; ++i) values[i] = step * static_cast<float>(data[row.index * pitch + col + i]);
        return values;
    }
};

struct quantised_probabilities {
    unsigned char* data;
    int64 pitch;

    template <int V, class Compute>
    SMX_HD void store(smx::row_id row, int col, smx::pack<Compute, V> const& values) const {
        SMX_UNROLL
        for (int i = 0; i < V; ++i)
            data[row.index * pitch + col + i] = static_cast<unsigned char>(values[i] * 255.0f + 0.5f);
    }
};

template <class Launch>
void run_quantised(int rows, int cols, Launch&& launch) {
    auto const count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
    std::vector<signed char> x(count);
    std::vector<float> widened(count);
    for (std::size_t at = 0; at < count; ++at) {
        x[at] = static_cast<signed char>(static_cast<int>(at * 53 % 251) - 125);
        widened[at] = 0.0625f * static_cast<float>(x[at]);
    }
    device_array<signed char> x_there(count);
    device_array<unsigned char> y(count);
    x_there.upload(x);
    smx::status const s = launch(quantised_scores{x_there.data(), cols, 0.0625f},
                                 quantised_probabilities{y.data(), cols}, smx::extents(rows, cols));
    ASSERT_TRUE(s.ok()) << s.argument << ": " << s.requirement;
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    std::vector<unsigned char> const got = y.download();
    std::vector<double> const want = expected(widened, rows, cols, 1.0);
    for (std::size_t at = 0; at < count; ++at)
        ASSERT_NEAR(got[at], 255.0 * want[at], 0.501) << rows << " x " << cols << ", element " << at;
}

TEST_F(compose, inputs_and_outputs_of_the_users) {
    run_quantised(9, 77, [](auto const& x, auto const& y, smx::extents shape) {
        return smx::launch<smx::resident<smx::warp_group<16>, 4, 2>>(
            nullptr, smx::scores_from(x, shape), smx::fixed_scale(1.0), smx::causal_mask::bottom_right(), y);
    });
    run_quantised(4, 3001, [](auto const& x, auto const& y, smx::extents shape) {
        return smx::launch<smx::chunked_online<smx::block_group<64>, 4, 2>>(
            nullptr, smx::scores_from(x, shape), smx::fixed_scale(1.0), smx::causal_mask::bottom_right(), y);
    });
    run_quantised(4, 2000, [](auto const& x, auto const& y, smx::extents shape) {
        return smx::launch<smx::chunked_staged<smx::block_group<64>, 4, 2>>(
            nullptr, smx::scores_from(x, shape), smx::fixed_scale(1.0), smx::causal_mask::bottom_right(), y);
    });
}

}  // namespace
