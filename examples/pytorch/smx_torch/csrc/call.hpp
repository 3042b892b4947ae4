// A call as the kernels take it: what is in PyTorch's tensors, checked, without PyTorch, whose headers would take nvcc half a minute a file.
#pragma once
#include <smx/smx.hpp>

namespace smx_torch {

enum class element { half, bfloat16, single, wide };

// Calls run(a number of the type).
// Requires  no double
template <class Run>
smx::status with_narrow_type(element type, Run const& run) {
    switch (type) {
        case element::half: return run(smx::half());
        case element::bfloat16: return run(smx::bfloat16());
        default: return run(float());
    }
}
template <class Run>
smx::status with_type(element type, Run const& run) {
    return type == element::wide ? run(double()) : with_narrow_type(type, run);
}

SMX_HD constexpr smx::int64 bytes_of(element type) { return type == element::wide ? 8 : type == element::single ? 4 : 2; }

struct tensor {
    void const* data = nullptr;
    smx::strides step;
    element type = element::single;
};

// The rows of a tensor that repeats as `step` says: those that a kernel sums over are one.
constexpr smx::int64 rows_of(smx::extents shape, smx::strides step) {
    return (step.batch == 0 ? 1 : shape.batch) * (step.head == 0 ? 1 : shape.heads) * (step.query == 0 ? 1 : shape.queries);
}

// What a call hides and adds; what is absent is null.
struct mask_parts {
    bool causal = false;
    smx::int64 diagonal = 0;  // key <= query + diagonal
    void const* lengths = nullptr;
    bool lengths_are_long = false;  // 64 bits, not 32
    tensor flags;                   // bytes
    bool nonzero_hides = false;     // of flags
    tensor bias;
};

struct dropout_parts {
    double probability = 0;
    smx::int64 const* seed = nullptr;  // and the offset behind it, in the memory of the scores; null: nothing is dropped
};

struct forward_call {
    smx::extents shape;
    tensor scores;
    double scale = 1;
    mask_parts masks;
    dropout_parts dropout;
    smx::empty_row when_empty = smx::empty_row::zeros;
    void* probabilities = nullptr;  // packed
    element probabilities_type = element::single;
    void* log_sum_exp = nullptr;  // double for scores in double, otherwise float; null: not wanted
};

struct backward_call {
    smx::extents shape;
    tensor probabilities, incoming;  // of one type
    double scale = 1;
    mask_parts masks;
    void* gradients = nullptr;  // packed; null beside those of a bias: not wanted
    element gradients_type = element::single;
    tensor bias_gradients;      // of float; null: not wanted
};

// Behind a dropout the probabilities are made again from the scores.
struct dropout_backward_call {
    smx::extents shape;
    tensor scores, incoming;  // of one type
    void const* log_sum_exp = nullptr;
    double scale = 1;
    mask_parts masks;
    dropout_parts dropout;
    void* gradients = nullptr;  // packed
    element gradients_type = element::single;
    double times = 1;  // multiplies them
};

}  // namespace smx_torch
