// From PyTorch's tensors to a call: every argument is checked, and what the kernels cannot read as it is becomes contiguous.
#pragma once
#include <ATen/ATen.h>

#include <optional>

#include "call.hpp"

namespace smx_torch {

using maybe_tensor = std::optional<at::Tensor>;

// The masks of a call as the operators take them. See the schema in operators.cpp.
struct mask_arguments {
    maybe_tensor const &mask, &bias, &lengths;
    std::optional<int64_t> diagonal;
    bool bottom_right, mask_hides;
};

inline element element_of(at::Tensor const& t, char const* name) {
    switch (t.scalar_type()) {
        case at::kHalf: return element::half;
        case at::kBFloat16: return element::bfloat16;
        case at::kFloat: return element::single;
        case at::kDouble: return element::wide;
        default: TORCH_CHECK_TYPE(false, "smx: ", name, " must be float16, bfloat16, float32 or float64, was ", t.scalar_type());
    }
}

inline void check_axes(at::Tensor const& scores) {
    TORCH_CHECK_VALUE(scores.dim() >= 1 && scores.dim() <= 4, "smx: scores must have 1 to 4 axes (batch, heads, queries, keys), had ", scores.dim());
}

// Shape     1 to 4 axes, the last two queries and keys, the first of 3 or 4 the batch
inline smx::extents extents_of(at::Tensor const& scores) {
    check_axes(scores);
    int64_t const axes = scores.dim();
    auto const size = [&](int64_t from_last) { return from_last <= axes ? scores.size(-from_last) : 1; };
    return axes == 4 ? smx::extents(size(4), size(3), size(2), size(1)) : smx::extents(size(3), 1, size(2), size(1));
}

// A tensor whose axes are aligned with the last ones of `scores`, and repeat those of length 1. `kept` holds a copy, where one is made.
inline tensor prepared(at::Tensor const& given, at::Tensor const& scores, char const* name, at::Tensor& kept) {
    kept = given;
    int64_t const axes = given.dim(), all = scores.dim();
    TORCH_CHECK_VALUE(axes <= all, "smx: ", name, " must broadcast to scores ", scores.sizes(), ", was ", given.sizes());
    TORCH_CHECK_VALUE(given.device() == scores.device(), "smx: ", name, " must be on ", scores.device(), " as scores are, was on ", given.device());
    for (int64_t i = 1; i <= axes; ++i) {
        TORCH_CHECK_VALUE(given.size(-i) == 1 || given.size(-i) == scores.size(-i), "smx: ", name, " must broadcast to scores ", scores.sizes(),
                          ", was ", given.sizes());
    }
    auto const repeats = [&](int64_t i) { return i > axes || given.size(-i) == 1; };
    bool const is_dense = repeats(1) || given.stride(-1) == 1 || given.stride(-1) == 0;
    if (!is_dense) kept = given.contiguous();
    auto const stride = [&](int64_t i) { return repeats(i) ? 0 : kept.stride(-i); };
    tensor result;
    result.data = kept.const_data_ptr();
    result.step = all == 4 ? smx::strides{stride(4), stride(3), stride(2), stride(1)} : smx::strides{stride(3), 0, stride(2), stride(1)};
    return result;
}

// Numbers of the shape of the scores, whose keys must lie side by side.
inline tensor prepared_rows(at::Tensor const& given, char const* name, at::Tensor& kept) {
    element const type = element_of(given, name);
    at::Tensor const packed = given.size(-1) == 1 || given.stride(-1) == 1 ? given : given.contiguous();
    tensor result = prepared(packed, packed, name, kept);
    result.step.key = 1;
    result.type = type;
    return result;
}

// The masks, and the tensors that must live until the call is made.
struct prepared_masks {
    mask_parts parts;
    at::Tensor mask, bias, lengths;

    prepared_masks(at::Tensor const& scores, smx::extents shape, mask_arguments const& given) {
        if (given.diagonal) {
            int64_t const most = int64_t{1} << 40;  // no sum of it and an extent wraps, and no row is longer
            parts.causal = true;
            parts.diagonal = std::min(std::max(*given.diagonal, -most), most) + (given.bottom_right ? shape.keys - shape.queries : 0);
        }
        if (given.mask) {
            auto const type = given.mask->scalar_type();
            TORCH_CHECK_TYPE(type == at::kBool || type == at::kByte || type == at::kChar, "smx: mask must be bool, uint8 or int8, was ", type,
                             ": write mask != 0 for other integers, bias for numbers that are added");
            parts.flags = prepared(*given.mask, scores, "mask", mask);
            parts.nonzero_hides = given.mask_hides;
        }
        if (given.bias) {
            parts.bias = prepared(*given.bias, scores, "bias", bias);
            parts.bias.type = element_of(*given.bias, "bias");
        }
        if (given.lengths) {
            auto const type = given.lengths->scalar_type();
            TORCH_CHECK_TYPE(type == at::kInt || type == at::kLong, "smx: lengths must be int32 or int64, was ", type);
            TORCH_CHECK_VALUE(given.lengths->dim() == 1 && given.lengths->size(0) == shape.batch, "smx: lengths must have one number for each of the ",
                              shape.batch, " batches, was ", given.lengths->sizes());
            TORCH_CHECK_VALUE(given.lengths->device() == scores.device(), "smx: lengths must be on ", scores.device(), " as scores are, was on ",
                              given.lengths->device());
            lengths = given.lengths->contiguous();
            parts.lengths = lengths.const_data_ptr();
            parts.lengths_are_long = type == at::kLong;
        }
    }
};

inline smx::empty_row empty_row_of(c10::string_view name) {
    TORCH_CHECK_VALUE(name == "zeros" || name == "uniform" || name == "nan", "smx: empty must be \"zeros\", \"uniform\" or \"nan\", was \"", name, "\"");
    return name == "zeros" ? smx::empty_row::zeros : name == "uniform" ? smx::empty_row::uniform : smx::empty_row::nan;
}

inline void require(smx::status const& s) { TORCH_CHECK(s.ok(), "smx: ", smx::sentence(s).text); }

inline void check_probability(double p) {
    TORCH_CHECK_VALUE(p >= 0 && p <= 1, "smx: dropout_p must be from 0 to 1, was ", p);
}

// Two numbers on the device of the scores. `kept` holds a copy, where one is made.
inline dropout_parts prepared_dropout(at::Tensor const& seed, double p, at::Tensor const& scores, at::Tensor& kept) {
    check_probability(p);
    TORCH_CHECK_TYPE(seed.scalar_type() == at::kLong, "smx: seed must be int64, was ", seed.scalar_type());
    TORCH_CHECK_VALUE(seed.dim() == 1 && seed.size(0) == 2, "smx: seed must have two numbers, a seed and an offset, was ", seed.sizes());
    TORCH_CHECK_VALUE(seed.device() == scores.device(), "smx: seed must be on ", scores.device(), " as scores are, was on ", seed.device());
    kept = seed.contiguous();
    return {p, static_cast<smx::int64 const*>(kept.const_data_ptr())};
}

// The operators on one kind of device. Run is forward(forward_call), backward(backward_call), backward_with_bias(backward_call), dropout(forward_call)
// and dropout_backward(dropout_backward_call), which report what went wrong by require(); and is_filled_by(rows, bytes of each), which says whether
// groups of lanes with one row each at a time keep all of the device busy.
template <class Run>
std::tuple<at::Tensor, at::Tensor> forward(Run const& run, at::Tensor const& scores, mask_arguments const& masks, double scale,
                                           c10::string_view empty, std::optional<at::ScalarType> out_dtype, bool wants_sums,
                                           dropout_parts const& dropout = {}) {
    forward_call call;
    call.shape = extents_of(scores);
    call.when_empty = empty_row_of(empty);
    at::Tensor x;
    call.scores = prepared_rows(scores, "scores", x);
    prepared_masks const prepared(scores, call.shape, masks);
    call.masks = prepared.parts;
    call.scale = scale;
    call.dropout = dropout;
    at::Tensor const y = at::empty(scores.sizes(), scores.options().dtype(out_dtype.value_or(scores.scalar_type())));
    call.probabilities_type = element_of(y, "out_dtype");
    call.probabilities = y.mutable_data_ptr();
    at::Tensor sums;
    if (wants_sums) {
        auto const kind = scores.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
        auto const rows = scores.sizes().slice(0, scores.dim() - 1);
        auto const options = scores.options().dtype(kind);
        // A row without keys sees nothing, and no kernel runs that would say so.
        sums = y.numel() > 0 ? at::empty(rows, options) : at::full(rows, -std::numeric_limits<double>::infinity(), options);
        call.log_sum_exp = sums.mutable_data_ptr();
    }
    if (y.numel() > 0) dropout.seed != nullptr ? run.dropout(call) : run.forward(call);
    return {y, sums};
}

inline void check_incoming(at::Tensor const& grad, at::Tensor const& probabilities) {
    TORCH_CHECK_VALUE(grad.sizes() == probabilities.sizes(), "smx: grad must have the shape of probabilities, ", probabilities.sizes(), ", was ",
                      grad.sizes());
    TORCH_CHECK_VALUE(grad.device() == probabilities.device(), "smx: grad must be on ", probabilities.device(), " as probabilities are, was on ",
                      grad.device());
}

// A call without where its gradients go, and the tensors that must live until it is made.
struct prepared_backward {
    at::Tensor y, dy;
    backward_call call;
    prepared_masks masks;

    prepared_backward(at::Tensor const& grad, at::Tensor const& probabilities, mask_arguments const& given, double scale)
        : masks(probabilities, extents_of(probabilities), given) {
        check_incoming(grad, probabilities);
        call.shape = extents_of(probabilities);
        call.probabilities = prepared_rows(probabilities, "probabilities", y);
        call.incoming = prepared_rows(grad.to(probabilities.scalar_type()), "grad", dy);
        call.masks = masks.parts;
        call.scale = scale;
    }

    // Memory for the gradient of the scores.
    at::Tensor gradients(at::Tensor const& probabilities, std::optional<at::ScalarType> type) {
        at::Tensor const dx = at::empty(probabilities.sizes(), probabilities.options().dtype(type.value_or(probabilities.scalar_type())));
        call.gradients_type = element_of(dx, "out_dtype");
        call.gradients = dx.mutable_data_ptr();
        return dx;
    }
};

template <class Run>
at::Tensor backward(Run const& run, at::Tensor const& grad, at::Tensor const& probabilities, mask_arguments const& masks, double scale,
                    std::optional<at::ScalarType> out_dtype) {
    prepared_backward ready(grad, probabilities, masks, scale);
    at::Tensor const dx = ready.gradients(probabilities, out_dtype);
    if (dx.numel() > 0) run.backward(ready.call);
    return dx;
}

// The gradient of the bias is that of the scores without the scale, summed over the axes that the bias repeats. One kernel gives both where numbers of
// the bias are shared, so that sums in float take no more memory than gradients of the scores in half would, and it has rows enough for the device: one
// group runs all that share a row of it. Otherwise, and for double, one kernel each, and a sum.
template <class Run>
std::tuple<at::Tensor, at::Tensor> backward_with_bias(Run const& run, at::Tensor const& grad, at::Tensor const& probabilities,
                                                      mask_arguments const& masks, double scale, std::optional<at::ScalarType> out_dtype,
                                                      bool of_scores) {
    at::Tensor const& bias = *masks.bias;
    prepared_backward ready(grad, probabilities, masks, scale);
    backward_call& call = ready.call;
    auto const type = out_dtype.value_or(probabilities.scalar_type());
    at::Tensor const dx = of_scores ? ready.gradients(probabilities, type) : at::empty({0}, probabilities.options().dtype(type));
    if (probabilities.numel() == 0) return {dx, at::zeros(bias.sizes(), bias.options())};
    smx::int64 const rows = bias.dim() == 0 ? 1 : bias.numel() / bias.size(-1), row_bytes = call.shape.keys * bytes_of(call.probabilities.type);
    bool const is_double = call.probabilities.type == element::wide;
    if (!is_double && 2 * bias.numel() <= probabilities.numel() && run.is_filled_by(rows, row_bytes)) {
        at::Tensor kept;
        at::Tensor const sums = at::empty(bias.sizes(), bias.options().dtype(at::kFloat));
        call.bias_gradients = prepared(sums, probabilities, "bias", kept);
        run.backward_with_bias(call);
        return {dx, sums.to(bias.scalar_type())};
    }
    if (of_scores) run.backward(call);
    bool const is_same = of_scores && scale == 1 && bias.scalar_type() == dx.scalar_type();
    at::Tensor const each = is_same ? dx : backward(run, grad, probabilities, masks, 1, bias.scalar_type());
    at::Tensor const sum = at::sum_to(each, bias.sizes());
    return {dx, sum.is_same(dx) ? dx.clone() : sum};
}

template <class Run>
at::Tensor dropout_backward(Run const& run, at::Tensor const& grad, at::Tensor const& scores, at::Tensor const& sums, at::Tensor const& seed, double p,
                            mask_arguments const& masks, double scale, std::optional<at::ScalarType> out_dtype, bool of_bias) {
    TORCH_CHECK_VALUE(grad.sizes() == scores.sizes(), "smx: grad must have the shape of scores, ", scores.sizes(), ", was ", grad.sizes());
    TORCH_CHECK_VALUE(grad.device() == scores.device(), "smx: grad must be on ", scores.device(), " as scores are, was on ", grad.device());
    dropout_backward_call call;
    call.shape = extents_of(scores);
    TORCH_CHECK_VALUE(sums.sizes() == scores.sizes().slice(0, scores.dim() - 1), "smx: lse must have one number for each row of scores ", scores.sizes(),
                      ", was ", sums.sizes());
    TORCH_CHECK_VALUE(sums.device() == scores.device(), "smx: lse must be on ", scores.device(), " as scores are, was on ", sums.device());
    element_of(scores, "scores");
    element_of(grad, "grad");
    // One type for both, in which neither is rounded: where they differ, one is copied.
    auto const type = at::promote_types(scores.scalar_type(), grad.scalar_type());
    bool const is_zero = of_bias && scale == 0;  // the bias alone made the probabilities
    at::Tensor x, dy, kept_seed;
    call.scores = prepared_rows(is_zero ? at::zeros_like(scores, scores.options().dtype(type)) : scores.to(type), "scores", x);
    call.incoming = prepared_rows(grad.to(type), "grad", dy);
    at::Tensor const kept_sums = sums.to(type == at::kDouble ? at::kDouble : at::kFloat).contiguous();
    call.log_sum_exp = kept_sums.const_data_ptr();
    prepared_masks const prepared(scores, call.shape, masks);
    call.masks = prepared.parts;
    call.dropout = prepared_dropout(seed, p, scores, kept_seed);
    call.scale = is_zero ? 1 : scale;
    call.times = of_bias ? 1 / call.scale : 1;
    at::Tensor const dx = at::empty(scores.sizes(), scores.options().dtype(out_dtype.value_or(scores.scalar_type())));
    call.gradients_type = element_of(dx, "out_dtype");
    call.gradients = dx.mutable_data_ptr();
    if (dx.numel() > 0) run.dropout_backward(call);
    return dx;
}

}  // namespace smx_torch
