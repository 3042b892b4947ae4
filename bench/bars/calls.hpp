// The calls that bars.cu times, behind plain functions, so that their kernels compile in files of their own.
#pragma once
#include <cuda_runtime_api.h>

#include "../support/gpu.hpp"
#include "smx/automatic.hpp"
#include "smx/status.hpp"

namespace bench {

// Everything a call can be given; a launcher takes what its mask needs.
struct call {
    dtype type;
    void const* x;
    void* y;
    void const* dy = nullptr;  // of a backward call, where x are probabilities and y their scores' gradient
    smx::extents shape;
    double factor;
    bool bulk_copies = false;              // of the device: what launch_auto asks for itself
    bool programmatic = false;             // launched while the call before it ends
    unsigned char const* flags = nullptr;  // batch x 1 x queries x keys, nonzero = visible
    smx::strides flags_step{};
    unsigned const* bits = nullptr;  // batch x 1 x queries x words, set = visible
    smx::strides bits_step{};
    void const* bias = nullptr;  // 1 x 1 x queries x keys, elements as x
    smx::strides bias_step{};
    int const* lengths = nullptr;  // one a batch
};

enum class mask_kind {
    none,
    causal,
    flags,
    bits,
    bias,
    causal_lengths_flags,
    causal_bits,
    causal_bias,
    bias_flags,
    all_four
};
inline constexpr mask_kind every_mask[] = {
    mask_kind::none,       mask_kind::causal,      mask_kind::flags,       mask_kind::bits,
    mask_kind::bias,       mask_kind::causal_bits, mask_kind::causal_bias, mask_kind::causal_lengths_flags,
    mask_kind::bias_flags, mask_kind::all_four};

constexpr char const* name_of(mask_kind m) {
    switch (m) {
        case mask_kind::none:
            return "none";
        case mask_kind::causal:
            return "causal";
        case mask_kind::flags:
            return "flags";
        case mask_kind::bits:
            return "bits";
        case mask_kind::bias:
            return "bias";
        case mask_kind::causal_lengths_flags:
            return "causal+lengths+flags";
        case mask_kind::causal_bits:
            return "causal+bits";
        case mask_kind::causal_bias:
            return "causal+bias";
        case mask_kind::bias_flags:
            return "bias+flags";
        case mask_kind::all_four:
            return "all";
    }
    return "";
}

constexpr bool has_causal(mask_kind m) {
    return m == mask_kind::causal || m == mask_kind::causal_lengths_flags || m == mask_kind::causal_bits ||
           m == mask_kind::causal_bias || m == mask_kind::all_four;
}
constexpr bool has_lengths(mask_kind m) { return m == mask_kind::causal_lengths_flags || m == mask_kind::all_four; }
constexpr bool has_flags(mask_kind m) {
    return m == mask_kind::flags || m == mask_kind::causal_lengths_flags || m == mask_kind::bias_flags ||
           m == mask_kind::all_four;
}
constexpr bool has_bits(mask_kind m) { return m == mask_kind::bits || m == mask_kind::causal_bits; }
constexpr bool has_bias(mask_kind m) {
    return m == mask_kind::bias || m == mask_kind::causal_bias || m == mask_kind::bias_flags ||
           m == mask_kind::all_four;
}

// launch_auto. Every dtype without a mask; half with one mask.
template <class T>
smx::status launch_dense(cudaStream_t stream, call const& c);
smx::status launch_causal_half(cudaStream_t stream, call const& c);
smx::status launch_flags_half(cudaStream_t stream, call const& c);
smx::status launch_bits_half(cudaStream_t stream, call const& c);
smx::status launch_bias_half(cudaStream_t stream, call const& c);

// The kernel that choose_policy names for rows of 2048 columns, with any mask: one kernel a dtype and mask where
// launch_auto would compile the whole list.
inline constexpr int article_columns = 2048;
template <class T>
smx::status launch_article(cudaStream_t stream, mask_kind masks, call const& c);

// launch_auto_backward: every dtype without a mask, and 2048 columns with the masks that has_backward() names.
constexpr bool has_backward(mask_kind m) {
    return m == mask_kind::none || m == mask_kind::causal || m == mask_kind::flags || m == mask_kind::bias;
}
template <class T>
smx::status launch_dense_backward(cudaStream_t stream, call const& c);
template <class T>
smx::status launch_article_backward(cudaStream_t stream, mask_kind masks, call const& c);

// Rows of 2048 halves of which a share is dropped.
inline constexpr double dropped_share = 0.125;
smx::status launch_dropout_half(cudaStream_t stream, call const& c);
smx::status launch_dropout_backward_half(cudaStream_t stream, call const& c);

// Host seconds of a call of launch_auto on half scores, and of cudaLaunchKernelEx with the same kernel and arguments:
// medians over rounds short enough for the queue, taken in turn.
struct launch_cost {
    double automatic, bare;
};
inline constexpr int launch_cost_columns = 32;  // of a handful of rows, so that one block has them all
launch_cost measure_launch_cost(call const& c);

}  // namespace bench
