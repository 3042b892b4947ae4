// The kernels and timers behind gpu.hpp.
#include "gpu.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "smx/launch.cuh"

namespace bench {
namespace {

constexpr unsigned most_blocks = 4096;
constexpr unsigned block_threads = 256;

unsigned blocks_for(int64 count) {
    int64 const wanted = (count + block_threads - 1) / block_threads;
    return static_cast<unsigned>(std::max<int64>(1, std::min<int64>(wanted, most_blocks)));
}

// A 32-bit number that looks random, from a 64-bit counter.
__device__ unsigned scrambled(unsigned long long counter) {
    counter = (counter ^ (counter >> 31)) * 0x9e3779b97f4a7c15ull;
    counter = (counter ^ (counter >> 29)) * 0xbf58476d1ce4e5b9ull;
    return static_cast<unsigned>(counter >> 32);
}

// In (0, 1].
__device__ float uniform(unsigned long long counter) {
    return (static_cast<float>(scrambled(counter) >> 8) + 1.0f) * 0x1p-24f;
}

__device__ int64 first_index() { return static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ int64 index_step() { return static_cast<int64>(gridDim.x) * blockDim.x; }

// Source    G. Box, M. Muller, "A note on the generation of random normal deviates", 1958.
template <class T>
__global__ void normal_kernel(T* data, int64 count, float deviation, float hidden_share, unsigned long long seed) {
    for (int64 i = first_index(); i < count; i += index_step()) {
        unsigned long long const counter = seed + 3ull * static_cast<unsigned long long>(i);
        float const radius = sqrtf(-2.0f * logf(uniform(counter)));
        float const value = deviation * radius * cosf(6.2831853f * uniform(counter + 1));
        bool const hides = uniform(counter + 2) <= hidden_share;
        data[i] = smx::dtype<T>::narrow(hides ? smx::neg_inf<float>() : value);
    }
}

__device__ bool flag_at(int64 i, float set_share, unsigned long long seed) {
    return uniform(seed + static_cast<unsigned long long>(i)) <= set_share;
}

__global__ void flags_kernel(unsigned char* data, int64 count, float set_share, unsigned long long seed) {
    for (int64 i = first_index(); i < count; i += index_step()) data[i] = flag_at(i, set_share, seed) ? 1 : 0;
}

__global__ void bits_kernel(unsigned* words, int64 rows, int64 keys, float set_share, unsigned long long seed) {
    int64 const words_of_row = smx::words_for<unsigned>(keys);
    for (int64 i = first_index(); i < rows * words_of_row; i += index_step()) {
        int64 const row = i / words_of_row, first = i % words_of_row * 32;
        unsigned word = 0;
        for (int64 k = first; k < first + 32 && k < keys; ++k)
            word |= static_cast<unsigned>(flag_at(row * keys + k, set_share, seed)) << (k - first);
        words[i] = word;
    }
}

template <class T>
__global__ void nan_kernel(T const* data, int64 count, unsigned long long* found) {
    unsigned mine = 0;
    for (int64 i = first_index(); i < count; i += index_step()) {
        float const value = static_cast<float>(smx::dtype<T>::widen(data[i]));
        mine += value != value ? 1u : 0u;
    }
    if (mine != 0) atomicAdd(found, static_cast<unsigned long long>(mine));
}

__global__ void copy_kernel(uint4* to, uint4 const* from, int64 count) {
    int64 const i = first_index();
    if (i < count) to[i] = from[i];
}

__global__ void combine_kernel(uint4* to, uint4 const* first, uint4 const* second, int64 count) {
    int64 const i = first_index();
    if (i >= count) return;
    uint4 const a = first[i], b = second[i];
    to[i] = {a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w};
}

__device__ unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// Keeps the stream busy while the host puts what is to be timed behind it.
__global__ void delay_kernel(unsigned wait) {
    unsigned long long const start = nanoseconds();
    while (nanoseconds() - start < wait) {
    }
}

// Cycles and nanoseconds between two ticks of the global timer, `wait` apart.
__global__ void clock_kernel(unsigned wait, unsigned long long* cycles, unsigned long long* elapsed) {
    unsigned long long const before = nanoseconds();
    unsigned long long start = before;
    while (start == before) start = nanoseconds();
    long long const first = clock64();
    unsigned long long now = start;
    while (now - start < wait) now = nanoseconds();
    *cycles = static_cast<unsigned long long>(clock64() - first);
    *elapsed = now - start;
}

// Calls visit(T*) with the element type of `data`.
template <class Void, class Visit>
void with_type(Void* data, dtype type, Visit const& visit) {
    if (type == dtype::half) {
        visit(static_cast<std::conditional_t<std::is_const_v<Void>, smx::half const, smx::half>*>(data));
    } else if (type == dtype::bfloat16) {
        visit(static_cast<std::conditional_t<std::is_const_v<Void>, smx::bfloat16 const, smx::bfloat16>*>(data));
    } else {
        visit(static_cast<std::conditional_t<std::is_const_v<Void>, float const, float>*>(data));
    }
}

// In MHz; 0 where the driver does not say, which leaves out the repeats.
double highest_clock() {
    int kilohertz = 0, device = 0;
    must(cudaGetDevice(&device), "cudaGetDevice");
    if (cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return kilohertz * 1e-3;
}

// Everything that is timed runs on one stream of its own.
class timer {
public:
    timer() : numbers_(2 * sizeof(unsigned long long)) {
        must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
        most_mhz_ = highest_clock();
    }

    cudaStream_t stream() const { return stream_; }

    timing round(launch_function const& launch, int calls_a_launch, timing_options const& options) {
        std::this_thread::sleep_for(std::chrono::duration<double>(options.pause));
        double host = 0;  // seconds of a launch
        for (int i = 0; i < options.warm_ups; ++i) {
            must(cudaStreamSynchronize(stream_), "warm-up");
            auto const begin = std::chrono::steady_clock::now();
            launch(stream_);
            host = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        }
        must(cudaStreamSynchronize(stream_), "warm-up");

        reserve_events(options.launches + 1);
        // All that is timed is queued before the first of it runs: the host may take longer for a graph than the GPU
        // does.
        constexpr double least = 200e-6, most = 50e-3, margin = 1.5;
        double const head_start = std::min(most, std::max(least, margin * host * options.launches));
        delay_kernel<<<1, 1, 0, stream_>>>(static_cast<unsigned>(head_start * 1e9));
        must(cudaGetLastError(), "delay_kernel");
        must(cudaEventRecord(events_[0], stream_), "cudaEventRecord");
        for (int i = 0; i < options.launches; ++i) {
            launch(stream_);
            must(cudaEventRecord(events_[static_cast<std::size_t>(i) + 1], stream_), "cudaEventRecord");
        }
        constexpr unsigned clock_time = 200 * 1000;
        clock_kernel<<<1, 1, 0, stream_>>>(clock_time, numbers_.at<unsigned long long>(),
                                           numbers_.at<unsigned long long>(sizeof(unsigned long long)));
        must(cudaGetLastError(), "clock_kernel");
        must(cudaStreamSynchronize(stream_), "timed launches");

        timing result;
        for (int i = 0; i < options.launches; ++i) {
            auto const at = static_cast<std::size_t>(i);
            float milliseconds = 0;
            must(cudaEventElapsedTime(&milliseconds, events_[at], events_[at + 1]), "cudaEventElapsedTime");
            result.seconds.push_back(milliseconds * 1e-3 / calls_a_launch);
        }
        std::vector<double> sorted = result.seconds;
        std::sort(sorted.begin(), sorted.end());
        result.median = sorted[sorted.size() / 2];
        result.spread = (sorted[sorted.size() * 3 / 4] - sorted[sorted.size() / 4]) / result.median;
        unsigned long long counted[2] = {};
        must(cudaMemcpy(counted, numbers_.at(), sizeof(counted), cudaMemcpyDeviceToHost), "cudaMemcpy");
        result.mhz = counted[1] > 0 ? 1e3 * static_cast<double>(counted[0]) / static_cast<double>(counted[1]) : 0;
        return result;
    }

    timing best_round(launch_function const& launch, int calls_a_launch, timing_options const& options) {
        timing best;
        for (int i = 0; i <= options.repeats; ++i) {
            timing const now = round(launch, calls_a_launch, options);
            if (now.mhz > best.mhz) best = now;
            if (best.mhz >= 0.96 * most_mhz_) {
                cold_in_a_row_ = 0;
                return best;
            }
            // A card that never gets there is not waited for at every case.
            if (i < options.repeats && ++cold_in_a_row_ > 30) break;
        }
        return best;
    }

private:
    void reserve_events(int count) {
        while (static_cast<int>(events_.size()) < count) {
            cudaEvent_t event = nullptr;
            must(cudaEventCreate(&event), "cudaEventCreate");
            events_.push_back(event);
        }
    }

    cudaStream_t stream_ = nullptr;
    std::vector<cudaEvent_t> events_;
    buffer numbers_;
    double most_mhz_ = 0;
    int cold_in_a_row_ = 0;
};

// Lives as long as the process: CUDA may be gone before destructors of statics run.
timer& the_timer() {
    static timer* const one = new timer;
    return *one;
}

}  // namespace

void must(cudaError_t error, char const* call) {
    if (error != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
}

bool find_gpu(gpu& found, std::string& why) {
    int count = 0;
    cudaError_t const error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        why = error != cudaSuccess ? cudaGetErrorString(error) : "no device";
        return false;
    }
    int device = 0;
    must(cudaGetDevice(&device), "cudaGetDevice");
    cudaDeviceProp properties{};
    must(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    found.name = properties.name;
    found.l2_bytes = properties.l2CacheSize;
    if (smx::status const s = smx::find_limits(found.limits); !s) throw std::runtime_error(s.requirement);
    std::size_t free_bytes = 0, all_bytes = 0;
    must(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
    found.free_bytes = static_cast<int64>(free_bytes);
    found.most_mhz = highest_clock();
    return true;
}

buffer::buffer(std::size_t bytes) : bytes_(bytes) { must(cudaMalloc(&data_, bytes), "cudaMalloc"); }
buffer::~buffer() { (void)cudaFree(data_); }

void fill_normal(void* data, dtype type, int64 count, double deviation, double hidden_share, unsigned seed) {
    if (count == 0) return;
    with_type(data, type, [&](auto* typed) {
        normal_kernel<<<blocks_for(count), block_threads>>>(typed, count, static_cast<float>(deviation),
                                                            static_cast<float>(hidden_share),
                                                            static_cast<unsigned long long>(seed) << 40);
        must(cudaGetLastError(), "normal_kernel");
    });
    must(cudaDeviceSynchronize(), "normal_kernel");
}

void fill_flags(unsigned char* data, int64 count, double set_share, unsigned seed) {
    if (count == 0) return;
    flags_kernel<<<blocks_for(count), block_threads>>>(data, count, static_cast<float>(set_share),
                                                       static_cast<unsigned long long>(seed) << 40);
    must(cudaGetLastError(), "flags_kernel");
    must(cudaDeviceSynchronize(), "flags_kernel");
}

void fill_bits(unsigned* words, int64 rows, int64 keys, double set_share, unsigned seed) {
    int64 const count = rows * smx::words_for<unsigned>(keys);
    if (count == 0) return;
    bits_kernel<<<blocks_for(count), block_threads>>>(words, rows, keys, static_cast<float>(set_share),
                                                      static_cast<unsigned long long>(seed) << 40);
    must(cudaGetLastError(), "bits_kernel");
    must(cudaDeviceSynchronize(), "bits_kernel");
}

void fill_bytes(void* data, int byte, std::size_t bytes) {
    must(cudaMemset(data, byte, bytes), "cudaMemset");
    must(cudaDeviceSynchronize(), "cudaMemset");
}

int64 count_nan(void const* data, dtype type, int64 count) {
    if (count == 0) return 0;
    static buffer* const found = new buffer(sizeof(unsigned long long));
    must(cudaMemset(found->at(), 0, found->bytes()), "cudaMemset");
    with_type(data, type, [&](auto const* typed) {
        nan_kernel<<<blocks_for(count), block_threads>>>(typed, count, found->at<unsigned long long>());
        must(cudaGetLastError(), "nan_kernel");
    });
    unsigned long long result = 0;
    must(cudaMemcpy(&result, found->at(), sizeof(result), cudaMemcpyDeviceToHost), "nan_kernel");
    return static_cast<int64>(result);
}

std::vector<double> fetch(void const* data, dtype type, int64 first, int64 count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    with_type(data, type, [&](auto const* typed) {
        using element = std::remove_const_t<std::remove_pointer_t<decltype(typed)>>;
        std::vector<element> raw(static_cast<std::size_t>(count));
        must(cudaMemcpy(raw.data(), typed + first, raw.size() * sizeof(element), cudaMemcpyDeviceToHost), "cudaMemcpy");
        for (std::size_t i = 0; i < raw.size(); ++i)
            values[i] = static_cast<double>(smx::dtype<element>::widen(raw[i]));
    });
    return values;
}

void copy(cudaStream_t stream, void* to, void const* from, std::size_t bytes, int threads) {
    int64 const count = static_cast<int64>(bytes / sizeof(uint4));
    auto const blocks = static_cast<unsigned>((count + threads - 1) / threads);
    copy_kernel<<<blocks, static_cast<unsigned>(threads), 0, stream>>>(static_cast<uint4*>(to),
                                                                       static_cast<uint4 const*>(from), count);
    must(cudaGetLastError(), "copy_kernel");
}

timing measure(launch_function const& launch, timing_options options) {
    return the_timer().best_round(launch, 1, options);
}

timing measure_graph(int calls, std::function<void(cudaStream_t, int)> const& call, timing_options options) {
    cudaStream_t const stream = the_timer().stream();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (int i = 0; i < calls; ++i) call(stream, i);
    must(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    must(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    timing const result = the_timer().best_round(
        [&](cudaStream_t s) { must(cudaGraphLaunch(executable, s), "cudaGraphLaunch"); }, calls, options);
    must(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
    must(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return result;
}

double copy_bandwidth(buffer const& to, buffer const& from, std::size_t bytes, timing_options options) {
    timing const time = measure([&](cudaStream_t stream) { copy(stream, to.at(), from.at(), bytes); }, options);
    return 2.0 * static_cast<double>(bytes) / time.median * 1e-9;
}

double stream_bandwidth(buffer const& to, buffer const& first, buffer const& second, std::size_t bytes,
                        timing_options options) {
    int64 const count = static_cast<int64>(bytes / sizeof(uint4));
    auto const blocks = static_cast<unsigned>((count + block_threads - 1) / block_threads);
    timing const time = measure(
        [&](cudaStream_t stream) {
            combine_kernel<<<blocks, block_threads, 0, stream>>>(to.at<uint4>(), first.at<uint4>(), second.at<uint4>(),
                                                                 count);
            must(cudaGetLastError(), "combine_kernel");
        },
        options);
    return 3.0 * static_cast<double>(bytes) / time.median * 1e-9;
}

double median_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace bench
