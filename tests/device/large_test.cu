// More than 2^31 elements, rows and columns, and strides beyond 2^31: every element is compared, by a kernel.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "device/runner.hpp"
#include "device/support.cuh"
#include "smx/smx.cuh"
#include "support/stored.hpp"

namespace {

using smx::int64;

// Scores repeat every 257 columns (a prime, so that an index that wraps at a power of two finds other numbers) from a
// place that the row chooses; a mask hides every third column, from a place that the row chooses too. All sums are then
// known beforehand.
struct known_rows {
    static constexpr int period = 257;
    int64 rows, cols;
    bool masked;

    // Multiples of 1/32 from -4 to 4: the same in every type.
    __host__ __device__ static double score(int place) { return ((place * 97) % period - 128) / 32.0; }
    __host__ __device__ static int phase(int64 row) {
        unsigned long long const mixed = static_cast<unsigned long long>(row) * 0x9e3779b97f4a7c15ULL;
        return static_cast<int>((mixed >> 33) % period);
    }
    __host__ __device__ static int place(int64 row, int64 col) { return static_cast<int>((phase(row) + col) % period); }
    __host__ __device__ bool visible(int64 row, int64 col) const { return !masked || (row + col) % 3 != 0; }

    // Sum of the exponentials of a row with this phase and this row % 3.
    double sum(int row_phase, int row_third) const {
        int64 const whole = cols / (3 * period), rest = cols % (3 * period);
        double every = 0, partial = 0;
        for (int64 col = 0; col < 3 * period; ++col) {
            if (masked && (row_third + col) % 3 == 0) continue;
            double const weight = std::exp(score(static_cast<int>((row_phase + col) % period)));
            every += weight;
            if (col < rest) partial += weight;
        }
        return static_cast<double>(whole) * every + partial;
    }
    std::vector<double> sums() const {
        std::vector<double> all(3 * period);
        for (int third = 0; third < 3; ++third) {
            for (int p = 0; p < period; ++p) all[static_cast<std::size_t>(third * period + p)] = sum(p, third);
        }
        return all;
    }
    __host__ __device__ double probability(double const* all_sums, int64 row, int64 col) const {
        if (!visible(row, col)) return 0.0;
        return exp(score(place(row, col))) / all_sums[static_cast<int>(row % 3) * period + phase(row)];
    }
    // Half a step of the output's type and what float arithmetic loses on the way.
    template <class T>
    __host__ __device__ static bool close(double got, double want) {
        constexpr bool narrow = sizeof(T) == 2;
        double const bound = want * (narrow ? 0x1p-11 + 2e-5 : 1e-4) + (narrow ? 0x1p-25 * 1.001 : 0.0);
        double const apart = got > want ? got - want : want - got;
        return want == 0.0 ? got == 0.0 : apart <= bound;  // false for NaN
    }
};

template <class T>
__global__ void fill_scores(T* x, known_rows known) {
    int64 const step = static_cast<int64>(gridDim.x) * blockDim.x, count = known.rows * known.cols;
    for (int64 at = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; at < count; at += step)
        x[at] = smx::dtype<T>::narrow(
            static_cast<float>(known_rows::score(known_rows::place(at / known.cols, at % known.cols))));
}

__global__ void fill_mask(unsigned char* mask, known_rows known) {
    int64 const step = static_cast<int64>(gridDim.x) * blockDim.x, count = known.rows * known.cols;
    for (int64 at = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; at < count; at += step)
        mask[at] = known.visible(at / known.cols, at % known.cols) ? 1 : 0;
}

struct finding {
    unsigned long long wrong, first;
};

template <class T>
__global__ void compare(T const* y, known_rows known, double const* sums, finding* result) {
    int64 const step = static_cast<int64>(gridDim.x) * blockDim.x, count = known.rows * known.cols;
    for (int64 at = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; at < count; at += step) {
        double const want = known.probability(sums, at / known.cols, at % known.cols);
        if (known_rows::close<T>(static_cast<double>(smx::dtype<T>::widen(y[at])), want)) continue;
        atomicAdd(&result->wrong, 1ULL);
        atomicMin(&result->first, static_cast<unsigned long long>(at));
    }
}

constexpr int blocks = 132 * 16, threads = 256;

// Memory for `count` elements and a fence behind them.
template <class T>
class large_array {
public:
    explicit large_array(std::size_t count) : bytes_(count * sizeof(T)) {
        if (cudaMalloc(&memory_, bytes_ + fence) != cudaSuccess) {
            memory_ = nullptr;
            (void)cudaGetLastError();
            return;
        }
        EXPECT_EQ(cudaMemset(memory_ + bytes_, 0xa5, fence), cudaSuccess);
    }
    ~large_array() { (void)cudaFree(memory_); }
    large_array(large_array const&) = delete;
    large_array& operator=(large_array const&) = delete;

    explicit operator bool() const { return memory_ != nullptr; }
    T* data() const { return reinterpret_cast<T*>(memory_); }
    bool fence_stands() const {
        std::vector<unsigned char> behind(fence);
        EXPECT_EQ(cudaMemcpy(behind.data(), memory_ + bytes_, fence, cudaMemcpyDeviceToHost), cudaSuccess);
        for (unsigned char byte : behind) {
            if (byte != 0xa5) return false;
        }
        return true;
    }

private:
    static constexpr std::size_t fence = 4096;
    std::size_t bytes_;
    unsigned char* memory_ = nullptr;
};

template <class T>
void expect_known(T const* y, known_rows known) {
    std::vector<double> const sums = known.sums();
    device::device_array<double> sums_there(sums.size());
    device::device_array<finding> result(1);
    sums_there.upload(sums);
    result.upload({finding{0, ~0ULL}});
    compare<<<blocks, threads>>>(y, known, sums_there.data(), result.data());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    finding const found = result.download()[0];
    if (found.wrong == 0) return;
    auto const at = static_cast<int64>(found.first);
    T got;
    ASSERT_EQ(cudaMemcpy(&got, y + at, sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    ADD_FAILURE() << known.rows << " x " << known.cols << " of " << support::stored<T>::name << ": " << found.wrong
                  << " wrong elements, the first in row " << at / known.cols << ", column " << at % known.cols
                  << ": got " << support::stored<T>::value(got) << ", want "
                  << known.probability(sums.data(), at / known.cols, at % known.cols);
}

class large : public ::testing::Test {
protected:
    void SetUp() override {
        std::string const why = device::why_no_gpu();
        if (!why.empty()) GTEST_SKIP() << why;
    }
};

// launch_auto, from a list of kernels.
device::runner automatic_of(device::runner_list const& list, device::storage x) {
    for (device::runner const& r : list) {
        if (r.kind == device::runner::automatic && r.x == x) return r;
    }
    std::abort();
}

// In place, by the kernel that the library chooses.
template <class T>
void run_known(known_rows known) {
    large_array<T> x(static_cast<std::size_t>(known.rows * known.cols));
    large_array<unsigned char> mask(known.masked ? static_cast<std::size_t>(known.rows * known.cols) : 1);
    if (!x || !mask) GTEST_SKIP() << "this GPU has not the memory";
    fill_scores<<<blocks, threads>>>(x.data(), known);
    if (known.masked) fill_mask<<<blocks, threads>>>(mask.data(), known);
    device::device_array<int> lengths(1);
    device::device_array<float> bias(1);
    device::device_array<double> sums(known.masked ? static_cast<std::size_t>(known.rows) : 1);
    lengths.upload({0x7fffffff});
    bias.upload({0.0f});
    smx::extents const shape(known.rows, known.cols);
    device::call c;
    c.x = c.y = x.data();
    c.shape = shape;
    c.x_step = c.y_step = smx::packed_strides(shape);
    c.lengths = smx::key_lengths<int>(lengths.data());
    c.flags = smx::mask_tensor<unsigned char>(mask.data(), smx::packed_strides(shape));
    c.bias = smx::bias_tensor<float>(bias.data(), {0, 0, 0, 0});
    c.log_sum_exp = sums.data();
    auto const runner =
        automatic_of(known.masked ? device::half_kernels() : device::plain_kernels(), device::storage_of<T>);
    smx::status const s = runner.run(nullptr, c);
    ASSERT_TRUE(s.ok()) << s.argument << ": " << s.requirement;
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    expect_known(x.data(), known);
    EXPECT_TRUE(x.fence_stands());
}

// 2^31 + 4096 elements: 4 GiB, and a mask of 2 GiB and more.
TEST_F(large, two_million_rows) { run_known<smx::half>({2097156, 1024, false}); }
TEST_F(large, two_million_rows_and_a_mask_as_large) { run_known<smx::half>({2097156, 1024, true}); }
TEST_F(large, rows_longer_than_shared_memory) { run_known<smx::half>({16384, 133120, false}); }
TEST_F(large, rows_in_a_cluster_and_its_shared_memory) { run_known<smx::half>({8192, 266240, false}); }
TEST_F(large, rows_longer_than_a_cluster) { run_known<smx::half>({1024, 2129920, false}); }
TEST_F(large, one_row_of_2_to_the_27_columns) { run_known<float>({1, 1 << 27, false}); }

// Equal probabilities, and gradients whose place the row chooses: their mean is 3.5 in every row of a multiple of eight
// columns.
__host__ __device__ double gradient_at(int64 row, int64 col) {
    return static_cast<double>((known_rows::phase(row) + col) % 8);
}

__global__ void fill_gradients(smx::half* y, smx::half* dy, int64 rows, int64 cols) {
    int64 const step = static_cast<int64>(gridDim.x) * blockDim.x;
    for (int64 at = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; at < rows * cols; at += step) {
        y[at] = smx::dtype<smx::half>::narrow(1.0f / static_cast<float>(cols));
        dy[at] = smx::dtype<smx::half>::narrow(gradient_at(at / cols, at % cols));
    }
}

__global__ void compare_gradients(smx::half const* dx, int64 rows, int64 cols, finding* result) {
    int64 const step = static_cast<int64>(gridDim.x) * blockDim.x;
    for (int64 at = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; at < rows * cols; at += step) {
        double const want = (gradient_at(at / cols, at % cols) - 3.5) / static_cast<double>(cols);
        if (static_cast<double>(smx::dtype<smx::half>::widen(dx[at])) == want) continue;
        atomicAdd(&result->wrong, 1ULL);
        atomicMin(&result->first, static_cast<unsigned long long>(at));
    }
}

// In place: dx takes the place of dy.
TEST_F(large, gradients_of_two_million_rows) {
    constexpr int64 rows = 2097156, cols = 1024;
    large_array<smx::half> y(static_cast<std::size_t>(rows * cols)), dy(static_cast<std::size_t>(rows * cols));
    if (!y || !dy) GTEST_SKIP() << "this GPU has not the memory";
    fill_gradients<<<blocks, threads>>>(y.data(), dy.data(), rows, cols);
    using kernel = smx::resident<smx::block_group<128>, 8, 1>;
    smx::status const s =
        smx::launch_backward<kernel>(nullptr, smx::saved_probabilities<smx::half>(y.data(), {rows, cols}),
                                     smx::incoming_gradients<smx::half>(dy.data()), smx::fixed_scale(1.0),
                                     smx::no_mask{}, smx::gradients(dy.data()));
    ASSERT_TRUE(s.ok()) << s.argument << ": " << s.requirement;
    device::device_array<finding> result(1);
    result.upload({finding{0, ~0ULL}});
    compare_gradients<<<blocks, threads>>>(dy.data(), rows, cols, result.data());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    finding const found = result.download()[0];
    EXPECT_EQ(found.wrong, 0) << "the first in row " << found.first / cols << ", column " << found.first % cols;
    EXPECT_TRUE(dy.fence_stands());
}

// One column: every probability is 1.
__global__ void count_other_than_one(smx::half const* y, int64 count, finding* result) {
    int64 const step = static_cast<int64>(gridDim.x) * blockDim.x;
    for (int64 at = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; at < count; at += step) {
        if (y[at].bits == 0x3c00) continue;
        atomicAdd(&result->wrong, 1ULL);
        atomicMin(&result->first, static_cast<unsigned long long>(at));
    }
}

template <class Launch>
void run_one_column(Launch&& launch) {
    constexpr int64 rows = (1LL << 31) + 10;
    large_array<smx::half> x(static_cast<std::size_t>(rows));
    if (!x) GTEST_SKIP() << "this GPU has not the memory";
    ASSERT_EQ(cudaMemset(x.data(), 0x11, static_cast<std::size_t>(rows) * 2), cudaSuccess);
    smx::status const s = launch(x.data(), rows);
    ASSERT_TRUE(s.ok()) << s.argument << ": " << s.requirement;
    device::device_array<finding> result(1);
    result.upload({finding{0, ~0ULL}});
    count_other_than_one<<<blocks, threads>>>(x.data(), rows, result.data());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    finding const found = result.download()[0];
    EXPECT_EQ(found.wrong, 0) << "the first in row " << found.first;
    EXPECT_TRUE(x.fence_stands());
}

TEST_F(large, more_than_2_to_the_31_rows) {
    run_one_column([](smx::half* x, int64 rows) {
        device::call c;
        c.x = c.y = x;
        c.shape = {rows, 1};
        c.x_step = c.y_step = smx::packed_strides(c.shape);
        return automatic_of(device::plain_kernels(), device::storage::f16).run(nullptr, c);
    });
}

// A row a block: the grid needs its second dimension.
TEST_F(large, more_than_2_to_the_31_blocks) {
    run_one_column([](smx::half* x, int64 rows) {
        using kernel = smx::resident<smx::warp_group<32>, 1, 1, 32>;
        return smx::launch<kernel>(nullptr, smx::scores<smx::half>(x, {rows, 1}), smx::fixed_scale(1.0), smx::no_mask{},
                                   smx::probabilities(x));
    });
}

TEST_F(large, rows_more_than_2_to_the_31_elements_apart) {
    constexpr int64 stride = (1LL << 31) + 3;
    known_rows const known{2, 1000, false};
    large_array<smx::half> x(static_cast<std::size_t>(stride + known.cols));
    if (!x) GTEST_SKIP() << "this GPU has not the memory";
    device::device_array<smx::half> packed(2000), y(2000);
    fill_scores<<<blocks, threads>>>(packed.data(), known);
    ASSERT_EQ(cudaMemcpy(x.data(), packed.data(), 2000, cudaMemcpyDeviceToDevice), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(x.data() + stride, packed.data() + 1000, 2000, cudaMemcpyDeviceToDevice), cudaSuccess);
    device::call c;
    c.x = x.data();
    c.y = y.data();
    c.shape = {2, 1000};
    c.x_step = {0, 0, stride, 1};
    c.y_step = smx::packed_strides(c.shape);
    smx::status const s = automatic_of(device::plain_kernels(), device::storage::f16).run(nullptr, c);
    ASSERT_TRUE(s.ok()) << s.argument << ": " << s.requirement;
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    expect_known(y.data(), known);
}

// The same numbers by the host path: whether what is known beforehand is right.
template <class T>
void run_known_on_host(known_rows known) {
    auto const count = static_cast<std::size_t>(known.rows * known.cols);
    std::vector<T> x(count);
    std::vector<unsigned char> mask(count);
    for (std::size_t at = 0; at < count; ++at) {
        int64 const row = static_cast<int64>(at) / known.cols, col = static_cast<int64>(at) % known.cols;
        x[at] = support::stored<T>::make(known_rows::score(known_rows::place(row, col)));
        mask[at] = known.visible(row, col) ? 1 : 0;
    }
    smx::extents const shape(known.rows, known.cols);
    ASSERT_TRUE(smx::softmax_on_host(smx::scores<T>(x.data(), shape), smx::fixed_scale(1.0),
                                     smx::mask_tensor<unsigned char>(mask.data(), smx::packed_strides(shape)),
                                     smx::probabilities(x.data()))
                    .ok());
    std::vector<double> const sums = known.sums();
    for (std::size_t at = 0; at < count; ++at) {
        int64 const row = static_cast<int64>(at) / known.cols, col = static_cast<int64>(at) % known.cols;
        double const got = support::stored<T>::value(x[at]), want = known.probability(sums.data(), row, col);
        ASSERT_TRUE(known_rows::close<T>(got, want))
            << "row " << row << ", column " << col << ": got " << got << ", want " << want;
    }
}

TEST(large_on_host, known_rows) {
    run_known_on_host<smx::half>({400, 1024, false});
    run_known_on_host<smx::half>({400, 1024, true});
    run_known_on_host<smx::half>({3, 133120, false});
    run_known_on_host<float>({7, 771, true});
    run_known_on_host<float>({1, 1 << 20, false});
    run_known_on_host<smx::half>({31, 1, false});
}

}  // namespace
