// group/cluster.cuh: a cluster's collectives in kernels of the user's, one after the other, and rows in great number.
#include "smx/group/cluster.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "device/support.cuh"
#include "smx/smx.cuh"

namespace {

using device::device_array;

// Launches a kernel in clusters of `blocks` along x.
template <class Kernel, class... Arguments>
cudaError_t launch_clusters(Kernel kernel, int clusters, int blocks, int threads, Arguments... arguments) {
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = static_cast<unsigned>(blocks);
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    if (blocks > 8) {
        cudaError_t const error = cudaFuncSetAttribute(reinterpret_cast<void const*>(kernel),
                                                       cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
        if (error != cudaSuccess) return error;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>(clusters * blocks));
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

class cluster : public ::testing::Test {
protected:
    void SetUp() override {
        std::string const why = device::why_no_gpu();
        if (!why.empty()) GTEST_SKIP() << why;
        ASSERT_EQ(cudaDeviceGetAttribute(&major_, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
        if (major_ < 9) GTEST_SKIP() << "this GPU has no clusters";
    }
    int most_blocks() const { return smx::cluster_blocks_of(major_); }

private:
    int major_ = 0;
};

// Reductions of every size of value in turn, with no barrier between them but their own; each lane counts what is
// wrong. Lanes of one block are slow before some of them, so that the others run ahead as far as they can.
template <class Group>
__global__ void reduce_again_and_again(int rounds, unsigned long long* wrong) {
    __shared__ typename Group::storage storage;
    Group g(storage);
    int const size = Group::size * g.slices();
    int const lane = g.slice() * Group::size + g.rank();
    int const row = static_cast<int>(blockIdx.x) / g.slices();
    for (int round = 0; round < rounds; ++round) {
        if (lane / 32 == (row * 7 + round * 5) % (size / 32)) __nanosleep(2000);
        int const shift = row + round;
        bool right = g.all_reduce(lane + shift, smx::plus()) == size * (size - 1) / 2 + size * shift;
        right &= g.all_reduce((lane == (shift * 131) % size) ? 1e9f : -1.0f, smx::maximum()) == 1e9f;
        right &= g.all_reduce(static_cast<double>(lane) * shift, smx::plus()) == 0.5 * size * (size - 1) * shift;
        smx::statistics<double> const mine{static_cast<double>((lane * 37 + shift) % size), 1.0};
        smx::statistics<double> const all = smx::all_reduce(g, mine);
        right &= all.max == size - 1 && all.sum > 1.5 && all.sum < 1.6;  // 1 + 1/e + 1/e^2 + ... = 1.58
        smx::statistics<float> const none = smx::all_reduce(g, smx::statistics<float>());
        right &= none.empty();
        if (round % 3 == 1) g.sync();
        if (!right) atomicAdd(wrong, 1ULL);
    }
}

// Of its most blocks, and of fewer.
template <class Group>
void expect_reductions() {
    constexpr int clusters = 203, rounds = 20;
    for (int blocks : {Group::blocks, Group::blocks - 1, Group::blocks / 2}) {
        device_array<unsigned long long> wrong(1);
        wrong.upload({0});
        ASSERT_EQ(launch_clusters(reduce_again_and_again<Group>, clusters, blocks, Group::size, rounds, wrong.data()),
                  cudaSuccess);
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        EXPECT_EQ(wrong.download()[0], 0U) << blocks << " blocks of " << Group::size << " lanes";
    }
}

TEST_F(cluster, reductions_follow_each_other) {
    expect_reductions<smx::cluster_group<64, 2>>();
    expect_reductions<smx::cluster_group<96, 4>>();
    expect_reductions<smx::cluster_group<128, 7>>();
    expect_reductions<smx::cluster_group<256, 8>>();
    expect_reductions<smx::cluster_group<1024, 2>>();
    if (most_blocks() >= 16) expect_reductions<smx::cluster_group<128, 16>>();
}

// Each lane writes, all meet, each reads what a lane of another block wrote: sync is a barrier of the whole cluster, as
// the first collective and after others.
template <class Group>
__global__ void pass_on(int* memory, int rounds, unsigned long long* wrong) {
    __shared__ typename Group::storage storage;
    Group g(storage);
    constexpr int size = Group::size * Group::blocks;
    int const lane = g.slice() * Group::size + g.rank();
    int* const mine = memory + static_cast<int>(blockIdx.x) / Group::blocks * size;
    for (int round = 0; round < rounds; ++round) {
        mine[lane] = lane + round;
        g.sync();
        int const other = (lane + Group::size * (1 + round % (Group::blocks - 1))) % size;
        if (__ldcg(mine + other) != other + round) atomicAdd(wrong, 1ULL);
        g.sync();
        if (round == 2 && g.all_reduce(1, smx::plus()) != size) atomicAdd(wrong, 1ULL);
    }
}

TEST_F(cluster, sync_is_a_barrier_of_all_blocks) {
    using group = smx::cluster_group<128, 8>;
    constexpr int clusters = 101;
    device_array<int> memory(clusters * group::size * group::blocks);
    device_array<unsigned long long> wrong(1);
    wrong.upload({0});
    ASSERT_EQ(launch_clusters(pass_on<group>, clusters, group::blocks, group::size, memory.data(), 8, wrong.data()),
              cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(wrong.download()[0], 0U);
}

// More clusters than the GPU runs at once, in a number that no size divides.
TEST_F(cluster, hundreds_of_rows) {
    for (int cols : {16385, 40001, 100003}) {
        int const rows = cols > 50000 ? 231 : 431;
        auto const count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
        std::vector<float> scores(count);
        for (std::size_t at = 0; at < count; ++at) scores[at] = static_cast<float>((at * 37) % 1009) * 0.008f - 4.0f;
        device_array<float> x(count), y(count), sums(static_cast<std::size_t>(rows));
        x.upload(scores);
        smx::status const s =
            smx::launch_auto(nullptr, smx::scores<float>(x.data(), {rows, cols}), smx::fixed_scale(0.5), smx::no_mask{},
                             smx::probabilities(y.data()), smx::log_sum_exp(sums.data()));
        ASSERT_TRUE(s.ok()) << s.argument << ": " << s.requirement;
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        std::vector<float> const got = y.download(), logs = sums.download();
        for (std::size_t row = 0; row < logs.size(); ++row) {
            float const* const of_row = scores.data() + row * static_cast<std::size_t>(cols);
            double sum = 0;
            for (int k = 0; k < cols; ++k) sum += std::exp(0.5 * static_cast<double>(of_row[k]));
            ASSERT_NEAR(static_cast<double>(logs[row]), std::log(sum), 1e-5) << "row " << row << " of " << cols;
            for (int k = 0; k < cols; ++k) {
                double const want = std::exp(0.5 * static_cast<double>(of_row[k])) / sum;
                auto const at = row * static_cast<std::size_t>(cols) + static_cast<std::size_t>(k);
                ASSERT_NEAR(static_cast<double>(got[at]), want, 1e-5 * want)
                    << "row " << row << ", column " << k << " of " << cols;
            }
        }
    }
}

}  // namespace
