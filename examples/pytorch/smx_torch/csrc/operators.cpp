// The operators as PyTorch knows them: schemas, what they give (Meta), their gradients (Autograd), and their types under autocast.
#include <ATen/ExpandUtils.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "prepare.hpp"

// mask: nonzero = visible, or hidden with mask_hides; bias: added to scale * scores, -inf hides; both broadcast. lengths: keys of each batch. diagonal:
// key <= query + diagonal, with bottom_right + keys - queries. All that is given takes part. lse: the log-sum-exp of each row; it has no gradient.
TORCH_LIBRARY(smx, m) {
    auto const tags = std::vector<at::Tag>{at::Tag::pt2_compliant_tag};
    m.def("scaled_mask_softmax(Tensor scores, Tensor? mask=None, Tensor? bias=None, Tensor? lengths=None, *, float scale=1.0, int? diagonal=None, "
          "bool bottom_right=False, bool mask_hides=False, str empty=\"zeros\", ScalarType? out_dtype=None) -> Tensor",
          tags);
    m.def("scaled_mask_softmax_lse(Tensor scores, Tensor? mask=None, Tensor? bias=None, Tensor? lengths=None, *, float scale=1.0, int? diagonal=None, "
          "bool bottom_right=False, bool mask_hides=False, str empty=\"zeros\", ScalarType? out_dtype=None) -> (Tensor probabilities, Tensor lse)",
          tags);
    m.def("scaled_mask_softmax_backward(Tensor grad, Tensor probabilities, Tensor? mask=None, Tensor? bias=None, Tensor? lengths=None, *, "
          "float scale=1.0, int? diagonal=None, bool bottom_right=False, bool mask_hides=False, ScalarType? out_dtype=None) -> Tensor",
          tags);
}

namespace smx_torch {
namespace {

using maybe_int = std::optional<int64_t>;
using maybe_type = std::optional<at::ScalarType>;

using softmax_type = at::Tensor(at::Tensor const&, maybe_tensor const&, maybe_tensor const&, maybe_tensor const&, double, maybe_int, bool, bool,
                                c10::string_view, maybe_type);
using softmax_lse_type = std::tuple<at::Tensor, at::Tensor>(at::Tensor const&, maybe_tensor const&, maybe_tensor const&, maybe_tensor const&, double,
                                                            maybe_int, bool, bool, c10::string_view, maybe_type);
using backward_type = at::Tensor(at::Tensor const&, at::Tensor const&, maybe_tensor const&, maybe_tensor const&, maybe_tensor const&, double,
                                 maybe_int, bool, bool, maybe_type);

template <class Type>
auto find(char const* name) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Type>();
}
auto const& softmax_op() {
    static auto const op = find<softmax_type>("smx::scaled_mask_softmax");
    return op;
}
auto const& softmax_lse_op() {
    static auto const op = find<softmax_lse_type>("smx::scaled_mask_softmax_lse");
    return op;
}
auto const& backward_op() {
    static auto const op = find<backward_type>("smx::scaled_mask_softmax_backward");
    return op;
}

// Meta: shape, type and layout of what comes out.

at::Tensor meta_softmax(at::Tensor const& scores, maybe_tensor const&, maybe_tensor const&, maybe_tensor const&, double, maybe_int, bool, bool,
                        c10::string_view, maybe_type out_dtype) {
    check_axes(scores);
    return at::empty_symint(scores.sym_sizes(), scores.options().dtype(out_dtype.value_or(scores.scalar_type())));
}

std::tuple<at::Tensor, at::Tensor> meta_softmax_lse(at::Tensor const& scores, maybe_tensor const&, maybe_tensor const&, maybe_tensor const&, double,
                                                    maybe_int, bool, bool, c10::string_view, maybe_type out_dtype) {
    check_axes(scores);
    auto const sums = scores.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    auto const rows = scores.sym_sizes().slice(0, static_cast<size_t>(scores.dim() - 1));
    return {at::empty_symint(scores.sym_sizes(), scores.options().dtype(out_dtype.value_or(scores.scalar_type()))),
            at::empty_symint(rows, scores.options().dtype(sums))};
}

at::Tensor meta_backward(at::Tensor const&, at::Tensor const& probabilities, maybe_tensor const&, maybe_tensor const&, maybe_tensor const&, double,
                         maybe_int, bool, bool, maybe_type out_dtype) {
    return at::empty_symint(probabilities.sym_sizes(), probabilities.options().dtype(out_dtype.value_or(probabilities.scalar_type())));
}

// Autograd.

bool wants_gradient(at::Tensor const& t) { return t.defined() && t.requires_grad(); }
bool wants_gradient(maybe_tensor const& t) { return t && wants_gradient(*t); }
bool any_wants_gradient(at::Tensor const& a, maybe_tensor const& b) {
    return at::GradMode::is_enabled() && (wants_gradient(a) || wants_gradient(b));
}

maybe_tensor as_maybe(at::Tensor const& t) { return t.defined() ? maybe_tensor(t) : std::nullopt; }

struct softmax_with_gradient : torch::autograd::Function<softmax_with_gradient> {
    static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, at::Tensor const& scores, maybe_tensor const& mask,
                                                  maybe_tensor const& bias, maybe_tensor const& lengths, double scale, maybe_int diagonal,
                                                  bool bottom_right, bool mask_hides, c10::string_view empty, maybe_type out_dtype, bool wants_sums) {
        at::AutoDispatchBelowADInplaceOrView const below;
        torch::autograd::variable_list results;
        if (wants_sums) {
            auto const [y, sums] = softmax_lse_op().call(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype);
            context->mark_non_differentiable({sums});
            results = {y, sums};
        } else {
            results = {softmax_op().call(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype)};
        }
        auto const value = [](maybe_tensor const& t) { return t.value_or(at::Tensor()); };
        context->save_for_backward({results[0], value(mask), value(bias), value(lengths)});
        auto& saved = context->saved_data;
        saved["scale"] = scale;
        saved["diagonal"] = diagonal;
        saved["bottom_right"] = bottom_right;
        saved["mask_hides"] = mask_hides;
        saved["scores_type"] = static_cast<int64_t>(scores.scalar_type());
        return results;
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list const& incoming) {
        constexpr size_t arguments = 11, scores_at = 0, bias_at = 2;  // of forward()
        torch::autograd::variable_list gradients(arguments);
        if (!incoming[0].defined()) return gradients;
        auto const tensors = context->get_saved_variables();
        at::Tensor const &y = tensors[0], &bias = tensors[2];
        auto& saved = context->saved_data;
        double const scale = saved["scale"].toDouble();
        auto const scores_type = static_cast<at::ScalarType>(saved["scores_type"].toInt());
        auto const run = [&](double factor, at::ScalarType type) {
            return backward_op().call(incoming[0], y, as_maybe(tensors[1]), as_maybe(bias), as_maybe(tensors[3]), factor,
                                      saved["diagonal"].to<maybe_int>(), saved["bottom_right"].toBool(), saved["mask_hides"].toBool(), type);
        };
        if (context->needs_input_grad(0)) gradients[scores_at] = run(scale, scores_type);
        // Asked by its place among the tensors that were given.
        if (bias.defined() && context->needs_input_grad(tensors[1].defined() ? 2 : 1)) {
            // What is added to a score has the gradient of the score, without the scale; where the bias repeats, the sum.
            bool const is_same = gradients[scores_at].defined() && scale == 1 && bias.scalar_type() == scores_type;
            at::Tensor const each = is_same ? gradients[scores_at] : run(1, bias.scalar_type());
            gradients[bias_at] = at::sum_to(each, bias.sym_sizes());
        }
        return gradients;
    }
};

at::Tensor softmax(at::Tensor const& scores, maybe_tensor const& mask, maybe_tensor const& bias, maybe_tensor const& lengths, double scale,
                   maybe_int diagonal, bool bottom_right, bool mask_hides, c10::string_view empty, maybe_type out_dtype) {
    if (any_wants_gradient(scores, bias)) {
        return softmax_with_gradient::apply(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype, false)[0];
    }
    at::AutoDispatchBelowADInplaceOrView const below;
    return softmax_op().call(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype);
}

std::tuple<at::Tensor, at::Tensor> softmax_lse(at::Tensor const& scores, maybe_tensor const& mask, maybe_tensor const& bias,
                                               maybe_tensor const& lengths, double scale, maybe_int diagonal, bool bottom_right, bool mask_hides,
                                               c10::string_view empty, maybe_type out_dtype) {
    if (any_wants_gradient(scores, bias)) {
        auto const results = softmax_with_gradient::apply(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype, true);
        return {results[0], results[1]};
    }
    at::AutoDispatchBelowADInplaceOrView const below;
    return softmax_lse_op().call(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype);
}

// A gradient that says why it has none itself.
struct gradient_without_gradient : torch::autograd::Function<gradient_without_gradient> {
    static at::Tensor forward(torch::autograd::AutogradContext*, at::Tensor const& grad, at::Tensor const& probabilities, maybe_tensor const& mask,
                              maybe_tensor const& bias, maybe_tensor const& lengths, double scale, maybe_int diagonal, bool bottom_right,
                              bool mask_hides, maybe_type out_dtype) {
        at::AutoDispatchBelowADInplaceOrView const below;
        return backward_op().call(grad, probabilities, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, out_dtype);
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext*, torch::autograd::variable_list const&) {
        TORCH_CHECK_NOT_IMPLEMENTED(false, "smx: scaled_mask_softmax has no second derivative (double backward): where one is needed, use torch.softmax");
    }
};

at::Tensor softmax_backward(at::Tensor const& grad, at::Tensor const& probabilities, maybe_tensor const& mask, maybe_tensor const& bias,
                            maybe_tensor const& lengths, double scale, maybe_int diagonal, bool bottom_right, bool mask_hides, maybe_type out_dtype) {
    if (any_wants_gradient(grad, probabilities)) {
        return gradient_without_gradient::apply(grad, probabilities, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, out_dtype);
    }
    at::AutoDispatchBelowADInplaceOrView const below;
    return backward_op().call(grad, probabilities, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, out_dtype);
}

// Autocast: whatever is not double comes out in autocast's type, which a product with values takes. Arithmetic is in float all the same.

maybe_type autocast_type(at::Tensor const& scores, maybe_type out_dtype) {
    bool const is_cast = !out_dtype && scores.is_floating_point() && scores.scalar_type() != at::kDouble;
    return is_cast ? maybe_type(at::autocast::get_autocast_dtype(scores.device().type())) : out_dtype;
}

at::Tensor autocast_softmax(at::Tensor const& scores, maybe_tensor const& mask, maybe_tensor const& bias, maybe_tensor const& lengths, double scale,
                            maybe_int diagonal, bool bottom_right, bool mask_hides, c10::string_view empty, maybe_type out_dtype) {
    c10::impl::ExcludeDispatchKeyGuard const below(c10::autocast_dispatch_keyset);
    return softmax_op().call(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, autocast_type(scores, out_dtype));
}

std::tuple<at::Tensor, at::Tensor> autocast_softmax_lse(at::Tensor const& scores, maybe_tensor const& mask, maybe_tensor const& bias,
                                                        maybe_tensor const& lengths, double scale, maybe_int diagonal, bool bottom_right,
                                                        bool mask_hides, c10::string_view empty, maybe_type out_dtype) {
    c10::impl::ExcludeDispatchKeyGuard const below(c10::autocast_dispatch_keyset);
    return softmax_lse_op().call(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, autocast_type(scores, out_dtype));
}

void register_autocast(torch::Library& m) {
    m.impl("scaled_mask_softmax", &autocast_softmax);
    m.impl("scaled_mask_softmax_lse", &autocast_softmax_lse);
}

}  // namespace
}  // namespace smx_torch

TORCH_LIBRARY_IMPL(smx, Meta, m) {
    m.impl("scaled_mask_softmax", &smx_torch::meta_softmax);
    m.impl("scaled_mask_softmax_lse", &smx_torch::meta_softmax_lse);
    m.impl("scaled_mask_softmax_backward", &smx_torch::meta_backward);
}

TORCH_LIBRARY_IMPL(smx, Autograd, m) {
    m.impl("scaled_mask_softmax", &smx_torch::softmax);
    m.impl("scaled_mask_softmax_lse", &smx_torch::softmax_lse);
    m.impl("scaled_mask_softmax_backward", &smx_torch::softmax_backward);
}

TORCH_LIBRARY_IMPL(smx, AutocastCUDA, m) { smx_torch::register_autocast(m); }
TORCH_LIBRARY_IMPL(smx, AutocastCPU, m) { smx_torch::register_autocast(m); }
