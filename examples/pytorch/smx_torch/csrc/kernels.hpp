// Registers the operators for a device, whose Run makes and launches calls.
#pragma once
#include <torch/library.h>

#include "prepare.hpp"

namespace smx_torch {

template <class Run>
at::Tensor softmax(at::Tensor const& scores, maybe_tensor const& mask, maybe_tensor const& bias, maybe_tensor const& lengths, double scale,
                   std::optional<int64_t> diagonal, bool bottom_right, bool mask_hides, c10::string_view empty,
                   std::optional<at::ScalarType> out_dtype) {
    Run const run(scores);
    return std::get<0>(forward(run, scores, {mask, bias, lengths, diagonal, bottom_right, mask_hides}, scale, empty, out_dtype, false));
}

template <class Run>
std::tuple<at::Tensor, at::Tensor> softmax_lse(at::Tensor const& scores, maybe_tensor const& mask, maybe_tensor const& bias,
                                               maybe_tensor const& lengths, double scale, std::optional<int64_t> diagonal, bool bottom_right,
                                               bool mask_hides, c10::string_view empty, std::optional<at::ScalarType> out_dtype) {
    Run const run(scores);
    return forward(run, scores, {mask, bias, lengths, diagonal, bottom_right, mask_hides}, scale, empty, out_dtype, true);
}

template <class Run>
at::Tensor softmax_backward(at::Tensor const& grad, at::Tensor const& probabilities, maybe_tensor const& mask, maybe_tensor const& bias,
                            maybe_tensor const& lengths, double scale, std::optional<int64_t> diagonal, bool bottom_right, bool mask_hides,
                            std::optional<at::ScalarType> out_dtype) {
    Run const run(probabilities);
    return backward(run, grad, probabilities, {mask, bias, lengths, diagonal, bottom_right, mask_hides}, scale, out_dtype);
}

template <class Run>
std::tuple<at::Tensor, at::Tensor> softmax_backward_with_bias(at::Tensor const& grad, at::Tensor const& probabilities, maybe_tensor const& mask,
                                                              at::Tensor const& bias, maybe_tensor const& lengths, double scale,
                                                              std::optional<int64_t> diagonal, bool bottom_right, bool mask_hides,
                                                              std::optional<at::ScalarType> out_dtype, bool of_scores) {
    Run const run(probabilities);
    maybe_tensor const given = bias;
    return backward_with_bias(run, grad, probabilities, {mask, given, lengths, diagonal, bottom_right, mask_hides}, scale, out_dtype, of_scores);
}

template <class Run>
std::tuple<at::Tensor, at::Tensor> softmax_dropout(at::Tensor const& scores, at::Tensor const& seed, double p, maybe_tensor const& mask,
                                                   maybe_tensor const& bias, maybe_tensor const& lengths, double scale,
                                                   std::optional<int64_t> diagonal, bool bottom_right, bool mask_hides, c10::string_view empty,
                                                   std::optional<at::ScalarType> out_dtype) {
    Run const run(scores);
    at::Tensor kept;
    dropout_parts const dropout = prepared_dropout(seed, p, scores, kept);
    return forward(run, scores, {mask, bias, lengths, diagonal, bottom_right, mask_hides}, scale, empty, out_dtype, true, dropout);
}

template <class Run>
at::Tensor softmax_dropout_backward(at::Tensor const& grad, at::Tensor const& scores, at::Tensor const& lse, at::Tensor const& seed, double p,
                                    maybe_tensor const& mask, maybe_tensor const& bias, maybe_tensor const& lengths, double scale,
                                    std::optional<int64_t> diagonal, bool bottom_right, bool mask_hides, std::optional<at::ScalarType> out_dtype,
                                    bool of_bias) {
    Run const run(scores);
    return dropout_backward(run, grad, scores, lse, seed, p, {mask, bias, lengths, diagonal, bottom_right, mask_hides}, scale, out_dtype, of_bias);
}

template <class Run>
void register_kernels(torch::Library& m) {
    m.impl("scaled_mask_softmax", &softmax<Run>);
    m.impl("scaled_mask_softmax_lse", &softmax_lse<Run>);
    m.impl("scaled_mask_softmax_backward", &softmax_backward<Run>);
    m.impl("scaled_mask_softmax_backward_with_bias", &softmax_backward_with_bias<Run>);
    m.impl("scaled_mask_softmax_dropout", &softmax_dropout<Run>);
    m.impl("scaled_mask_softmax_dropout_backward", &softmax_dropout_backward<Run>);
}

}  // namespace smx_torch
