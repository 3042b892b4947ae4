// Scaled mask softmax composed of CUB's reductions, as one would without a library for it; peers.py compiles it and
// calls it by its C name.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_segmented_reduce.cuh>

namespace {

using int64 = long long;

struct problem {
    int64 rows, heads, queries, keys;  // rows: batches x heads x queries
    float factor;
    unsigned char const* flags;  // batches x 1 x queries x keys, nonzero = visible; or null
    void const* bias;            // 1 x 1 x queries x keys, elements as x; or null
    bool causal;
};

template <class T>
__global__ void scale_and_mask(T const* x, T* scores, problem p) {
    int64 const i = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= p.rows * p.keys) return;
    int64 const row = i / p.keys, key = i - row * p.keys, query = row % p.queries;
    float score = static_cast<float>(x[i]) * p.factor;
    if (p.bias != nullptr) score += static_cast<float>(static_cast<T const*>(p.bias)[query * p.keys + key]);
    if (p.flags != nullptr && p.flags[(row / (p.heads * p.queries) * p.queries + query) * p.keys + key] == 0)
        score = -INFINITY;
    if (p.causal && key > query) score = -INFINITY;
    scores[i] = static_cast<T>(score);
}

template <class T>
struct widened {
    T const* scores;
    __device__ float operator()(int64 i) const { return static_cast<float>(scores[i]); }
};

template <class T>
struct weight {
    T const* scores;
    float const* maxima;
    int64 keys;
    __device__ float operator()(int64 i) const { return __expf(static_cast<float>(scores[i]) - maxima[i / keys]); }
};

struct row_start {
    int64 keys;
    __host__ __device__ int64 operator()(int64 row) const { return row * keys; }
};

template <class T>
__global__ void normalize(T const* scores, float const* maxima, float const* sums, T* y, problem p) {
    int64 const i = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= p.rows * p.keys) return;
    int64 const row = i / p.keys;
    y[i] = static_cast<T>(__expf(static_cast<float>(scores[i]) - maxima[row]) / sums[row]);
}

// With no workspace: gives the bytes it needs.
template <class T>
cudaError_t run(void* workspace, size_t* bytes, T const* x, T* y, problem p, cudaStream_t stream) {
    thrust::counting_iterator<int64> const count(0);
    auto const starts = thrust::make_transform_iterator(count, row_start{p.keys});
    auto const ends = starts + 1;
    size_t const rows_bytes = (static_cast<size_t>(p.rows) * sizeof(float) + 255) / 256 * 256;
    auto* const maxima = static_cast<float*>(workspace);
    auto* const sums = reinterpret_cast<float*>(static_cast<char*>(workspace) + rows_bytes);
    void* const temporary = workspace == nullptr ? nullptr : static_cast<char*>(workspace) + 2 * rows_bytes;
    size_t left = workspace == nullptr ? 0 : *bytes - 2 * rows_bytes;

    // The scores wait in y.
    auto const scores = thrust::make_transform_iterator(count, widened<T>{y});
    auto const weights = thrust::make_transform_iterator(count, weight<T>{y, maxima, p.keys});
    constexpr unsigned threads = 256;
    auto const blocks = static_cast<unsigned>((p.rows * p.keys + threads - 1) / threads);
    if (workspace != nullptr) scale_and_mask<<<blocks, threads, 0, stream>>>(x, y, p);
    cudaError_t error = cub::DeviceSegmentedReduce::Max(temporary, left, scores, maxima, p.rows, starts, ends, stream);
    size_t const for_maxima = left;
    if (error == cudaSuccess)
        error = cub::DeviceSegmentedReduce::Sum(temporary, left, weights, sums, p.rows, starts, ends, stream);
    if (workspace == nullptr) {
        *bytes = 2 * rows_bytes + (left > for_maxima ? left : for_maxima) + 256;
    } else if (error == cudaSuccess) {
        normalize<<<blocks, threads, 0, stream>>>(y, maxima, sums, y, p);
        error = cudaGetLastError();
    }
    return error;
}

}  // namespace

// 0 or CUDA's error. type: 0 half, 1 bfloat16, 2 float.
extern "C" int cub_softmax(void* workspace, size_t* bytes, int type, void const* x, void* y, int64 rows, int64 heads,
                           int64 queries, int64 keys, float factor, unsigned char const* flags, void const* bias,
                           int causal, cudaStream_t stream) {
    problem const p{rows, heads, queries, keys, factor, flags, bias, causal != 0};
    if (type == 0) return run(workspace, bytes, static_cast<__half const*>(x), static_cast<__half*>(y), p, stream);
    if (type == 1)
        return run(workspace, bytes, static_cast<__nv_bfloat16 const*>(x), static_cast<__nv_bfloat16*>(y), p, stream);
    return run(workspace, bytes, static_cast<float const*>(x), static_cast<float*>(y), p, stream);
}
