// What every GPU benchmark needs: checked calls, data made on the GPU, times of a cool card, and the copy that
// everything is compared with.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "smx/policy.hpp"

namespace bench {

using int64 = long long;

// Throws std::runtime_error saying what failed.
void must(cudaError_t error, char const* call);

struct gpu {
    std::string name;
    int64 l2_bytes = 0;
    smx::device_limits limits;
    int64 free_bytes = 0;
    double most_mhz = 0;
};

// False where CUDA finds no device; `why` then says so.
bool find_gpu(gpu& found, std::string& why);

class buffer {
public:
    explicit buffer(std::size_t bytes);
    ~buffer();
    buffer(buffer const&) = delete;
    buffer& operator=(buffer const&) = delete;

    std::size_t bytes() const { return bytes_; }
    template <class T = void>
    T* at(std::size_t byte_offset = 0) const {
        return reinterpret_cast<T*>(static_cast<char*>(data_) + byte_offset);
    }

private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

enum class dtype { half, bfloat16, float32 };
inline constexpr dtype every_dtype[] = {dtype::half, dtype::bfloat16, dtype::float32};

constexpr int bytes_of(dtype type) { return type == dtype::float32 ? 4 : 2; }
constexpr char const* name_of(dtype type) {
    return type == dtype::half ? "half" : type == dtype::bfloat16 ? "bfloat16" : "float";
}

// Normally distributed, with a share of -inf. Zeros would flatter: they cost less power, and no slow path is taken.
void fill_normal(void* data, dtype type, int64 count, double deviation, double hidden_share, unsigned seed);
// Bytes 0 and 1.
void fill_flags(unsigned char* data, int64 count, double set_share, unsigned seed);
// The same bytes as bits, in words that each row begins with one of.
void fill_bits(unsigned* words, int64 rows, int64 keys, double set_share, unsigned seed);
void fill_bytes(void* data, int byte, std::size_t bytes);

int64 count_nan(void const* data, dtype type, int64 count);
std::vector<double> fetch(void const* data, dtype type, int64 first, int64 count);

// 16 bytes a thread, nothing else: what the memory of this GPU gives to a kernel that does nothing but move it.
void copy(cudaStream_t stream, void* to, void const* from, std::size_t bytes, int threads = 256);

struct timing {
    std::vector<double> seconds;  // of every launch
    double median = 0;
    double spread = 0;  // between the quartiles, over the median
    double mhz = 0;     // of the SMs, read right after
};

struct timing_options {
    int launches = 15;
    int warm_ups = 3;
    double pause = 0.3;  // seconds before: without it the power cap lowers the clock within a second
    int repeats = 2;     // while the clock is below 0.96 of the highest
};

using launch_function = std::function<void(cudaStream_t)>;

// Times every launch by events, on a card that has just rested; of several rounds the one with the highest clock.
timing measure(launch_function const& launch, timing_options options = {});

// The same for a graph of `calls` calls: the times are those of one call.
timing measure_graph(int calls, std::function<void(cudaStream_t, int)> const& call, timing_options options = {});

// GB/s of the plain copy of that many bytes, read and written bytes counted.
double copy_bandwidth(buffer const& to, buffer const& from, std::size_t bytes, timing_options options = {});

// GB/s of a kernel that reads two tensors of that many bytes and writes one, and does nothing else: what a backward
// pass is measured by.
double stream_bandwidth(buffer const& to, buffer const& first, buffer const& second, std::size_t bytes,
                        timing_options options = {});

double median_of(std::vector<double> values);

}  // namespace bench
