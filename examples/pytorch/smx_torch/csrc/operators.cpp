// The operators as PyTorch knows them: schemas, what they give (Meta), their gradients (Autograd), and their types under autocast.
#include <ATen/ExpandUtils.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <functional>

#include "prepare.hpp"

// mask: nonzero = visible, or hidden with mask_hides; bias: added to scale * scores, -inf hides; both broadcast. lengths: keys of each batch. diagonal:
// key <= query + diagonal, with bottom_right + keys - queries. All that is given takes part. lse: the log-sum-exp of each row; it has no gradient.
// seed: a seed and an offset on the device of the scores, read when the rows run. Whoever calls draws it, so that these operators are functions of
// their arguments; of_bias: the gradient without the scale.
// with_bias: gradients of the scores, of no element without of_scores, and of the bias, of its own shape and type.
// Nothing is keyword-only: a call from Python takes 6.2 us with all arguments in their places, 7.1 us with five of them by name (on the CPU, 16 scores).
TORCH_LIBRARY(smx, m) {
    auto const tags = std::vector<at::Tag>{at::Tag::pt2_compliant_tag};
    std::string const masks = "Tensor? mask=None, Tensor? bias=None, Tensor? lengths=None, float scale=1.0, int? diagonal=None, bool bottom_right=False, "
                              "bool mask_hides=False, ";
    std::string const forward = masks + "str empty=\"zeros\", ScalarType? out_dtype=None) -> ", backward = masks + "ScalarType? out_dtype=None";
    auto const define = [&](std::string const& schema) { m.def(schema.c_str(), tags); };
    define("scaled_mask_softmax(Tensor scores, " + forward + "Tensor");
    define("scaled_mask_softmax_lse(Tensor scores, " + forward + "(Tensor probabilities, Tensor lse)");
    define("scaled_mask_softmax_backward(Tensor grad, Tensor probabilities, " + backward + ") -> Tensor");
    define("scaled_mask_softmax_backward_with_bias(Tensor grad, Tensor probabilities, Tensor? mask, Tensor bias, Tensor? lengths=None, float scale=1.0, "
           "int? diagonal=None, bool bottom_right=False, bool mask_hides=False, ScalarType? out_dtype=None, bool of_scores=True) -> "
           "(Tensor grad_scores, Tensor grad_bias)");
    define("scaled_mask_softmax_dropout(Tensor scores, Tensor seed, float dropout_p, " + forward + "(Tensor probabilities, Tensor lse)");
    define("scaled_mask_softmax_dropout_backward(Tensor grad, Tensor scores, Tensor lse, Tensor seed, float dropout_p, " + backward +
           ", bool of_bias=False) -> Tensor");
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
using with_bias_type = std::tuple<at::Tensor, at::Tensor>(at::Tensor const&, at::Tensor const&, maybe_tensor const&, at::Tensor const&,
                                                          maybe_tensor const&, double, maybe_int, bool, bool, maybe_type, bool);
using dropout_type = std::tuple<at::Tensor, at::Tensor>(at::Tensor const&, at::Tensor const&, double, maybe_tensor const&, maybe_tensor const&,
                                                        maybe_tensor const&, double, maybe_int, bool, bool, c10::string_view, maybe_type);
using dropout_backward_type = at::Tensor(at::Tensor const&, at::Tensor const&, at::Tensor const&, at::Tensor const&, double, maybe_tensor const&,
                                         maybe_tensor const&, maybe_tensor const&, double, maybe_int, bool, bool, maybe_type, bool);

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
auto const& with_bias_op() {
    static auto const op = find<with_bias_type>("smx::scaled_mask_softmax_backward_with_bias");
    return op;
}
auto const& dropout_op() {
    static auto const op = find<dropout_type>("smx::scaled_mask_softmax_dropout");
    return op;
}
auto const& dropout_backward_op() {
    static auto const op = find<dropout_backward_type>("smx::scaled_mask_softmax_dropout_backward");
    return op;
}

// Meta: shape, type and layout of what comes out.

// PyTorch calls these also where only a mask has no data; what they give would be memory that nobody has written.
void check_meta(at::Tensor const& scores) {
    TORCH_CHECK_VALUE(scores.is_meta(), "smx: all tensors must be on ", scores.device(), " as scores are, one was on meta");
}
void check_scores(at::Tensor const& scores) {
    check_meta(scores);
    check_axes(scores);
}

at::Tensor meta_softmax(at::Tensor const& scores, maybe_tensor const&, maybe_tensor const&, maybe_tensor const&, double, maybe_int, bool, bool,
                        c10::string_view, maybe_type out_dtype) {
    check_scores(scores);
    return at::empty_symint(scores.sym_sizes(), scores.options().dtype(out_dtype.value_or(scores.scalar_type())));
}

std::tuple<at::Tensor, at::Tensor> meta_softmax_lse(at::Tensor const& scores, maybe_tensor const&, maybe_tensor const&, maybe_tensor const&, double,
                                                    maybe_int, bool, bool, c10::string_view, maybe_type out_dtype) {
    check_scores(scores);
    auto const sums = scores.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    auto const rows = scores.sym_sizes().slice(0, static_cast<size_t>(scores.dim() - 1));
    return {at::empty_symint(scores.sym_sizes(), scores.options().dtype(out_dtype.value_or(scores.scalar_type()))),
            at::empty_symint(rows, scores.options().dtype(sums))};
}

at::Tensor meta_backward(at::Tensor const&, at::Tensor const& probabilities, maybe_tensor const&, maybe_tensor const&, maybe_tensor const&, double,
                         maybe_int, bool, bool, maybe_type out_dtype) {
    check_meta(probabilities);
    return at::empty_symint(probabilities.sym_sizes(), probabilities.options().dtype(out_dtype.value_or(probabilities.scalar_type())));
}

std::tuple<at::Tensor, at::Tensor> meta_backward_with_bias(at::Tensor const&, at::Tensor const& probabilities, maybe_tensor const&, at::Tensor const& bias,
                                                           maybe_tensor const&, double, maybe_int, bool, bool, maybe_type out_dtype, bool of_scores) {
    check_meta(probabilities);
    auto const options = probabilities.options().dtype(out_dtype.value_or(probabilities.scalar_type()));
    return {of_scores ? at::empty_symint(probabilities.sym_sizes(), options) : at::empty({0}, options), at::empty_symint(bias.sym_sizes(), bias.options())};
}

std::tuple<at::Tensor, at::Tensor> meta_dropout(at::Tensor const& scores, at::Tensor const&, double p, maybe_tensor const& mask, maybe_tensor const& bias,
                                                maybe_tensor const& lengths, double scale, maybe_int diagonal, bool bottom_right, bool mask_hides,
                                                c10::string_view empty, maybe_type out_dtype) {
    check_probability(p);
    return meta_softmax_lse(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype);
}

at::Tensor meta_dropout_backward(at::Tensor const&, at::Tensor const& scores, at::Tensor const&, at::Tensor const&, double, maybe_tensor const&,
                                 maybe_tensor const&, maybe_tensor const&, double, maybe_int, bool, bool, maybe_type out_dtype, bool) {
    check_meta(scores);
    return at::empty_symint(scores.sym_sizes(), scores.options().dtype(out_dtype.value_or(scores.scalar_type())));
}

// Autograd.

bool wants_gradient(at::Tensor const& t) {
    if (!t.defined()) return false;
    TORCH_CHECK_NOT_IMPLEMENTED(!t._fw_grad(0).defined(), "smx: scaled_mask_softmax has no derivative in forward mode: where one is needed, use torch.softmax");
    return t.requires_grad();
}
bool wants_gradient(maybe_tensor const& t) { return t && wants_gradient(*t); }
bool any_wants_gradient(at::Tensor const& a, maybe_tensor const& b, maybe_tensor const& c = {}) {
    bool const first = wants_gradient(a), second = wants_gradient(b), third = wants_gradient(c);  // each is asked, whatever the others say
    return at::GradMode::is_enabled() && (first || second || third);
}

maybe_tensor as_maybe(at::Tensor const& t) { return t.defined() ? maybe_tensor(t) : std::nullopt; }
at::Tensor value_of(maybe_tensor const& t) { return t.value_or(at::Tensor()); }

// What a context keeps beside tensors.
struct kept_numbers {
    double scale;
    maybe_int diagonal;
    bool bottom_right, mask_hides;
    at::ScalarType scores_type;

    void keep(torch::autograd::AutogradContext* context) const {
        auto& saved = context->saved_data;
        saved["scale"] = scale;
        saved["diagonal"] = diagonal;
        saved["bottom_right"] = bottom_right;
        saved["mask_hides"] = mask_hides;
        saved["scores_type"] = static_cast<int64_t>(scores_type);
    }
    static kept_numbers of(torch::autograd::AutogradContext* context) {
        auto& saved = context->saved_data;
        return {saved["scale"].toDouble(), saved["diagonal"].to<maybe_int>(), saved["bottom_right"].toBool(), saved["mask_hides"].toBool(),
                static_cast<at::ScalarType>(saved["scores_type"].toInt())};
    }
};

// sums: where the log-sum-exp goes; null: not wanted. As a second result it would have to be marked as without a gradient, which compiled autograd refuses.
struct softmax_with_gradient : torch::autograd::Function<softmax_with_gradient> {
    static at::Tensor forward(torch::autograd::AutogradContext* context, at::Tensor const& scores, maybe_tensor const& mask, maybe_tensor const& bias,
                              maybe_tensor const& lengths, double scale, maybe_int diagonal, bool bottom_right, bool mask_hides, c10::string_view empty,
                              maybe_type out_dtype, at::Tensor* sums) {
        at::AutoDispatchBelowADInplaceOrView const below;
        at::Tensor y;
        if (sums != nullptr) {
            std::tie(y, *sums) = softmax_lse_op().call(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype);
        } else {
            y = softmax_op().call(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype);
        }
        context->save_for_backward({y, value_of(mask), value_of(bias), value_of(lengths)});
        kept_numbers{scale, diagonal, bottom_right, mask_hides, scores.scalar_type()}.keep(context);
        return y;
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list const& incoming) {
        constexpr size_t arguments = 11, scores_at = 0, bias_at = 2;  // of forward()
        torch::autograd::variable_list gradients(arguments);
        if (!incoming[0].defined()) return gradients;
        auto const tensors = context->get_saved_variables();
        at::Tensor const &y = tensors[0], &bias = tensors[2];
        auto const kept = kept_numbers::of(context);
        maybe_tensor const mask = as_maybe(tensors[1]), lengths = as_maybe(tensors[3]);
        // Asked by its place among the tensors that were given.
        bool const scores_want = context->needs_input_grad(0), bias_wants = bias.defined() && context->needs_input_grad(mask ? 2 : 1);
        if (bias_wants) {
            auto const [of_scores, of_bias] = with_bias_op().call(incoming[0], y, mask, bias, lengths, kept.scale, kept.diagonal, kept.bottom_right,
                                                                  kept.mask_hides, kept.scores_type, scores_want);
            if (scores_want) gradients[scores_at] = of_scores;
            gradients[bias_at] = of_bias;
        } else if (scores_want) {
            gradients[scores_at] = backward_op().call(incoming[0], y, mask, as_maybe(bias), lengths, kept.scale, kept.diagonal, kept.bottom_right,
                                                      kept.mask_hides, kept.scores_type);
        }
        return gradients;
    }
};

// Behind a dropout the probabilities as they were before it are not stored: the backward pass makes them again from the scores and the log-sum-exp.
struct dropout_with_gradient : torch::autograd::Function<dropout_with_gradient> {
    static at::Tensor forward(torch::autograd::AutogradContext* context, at::Tensor const& scores, at::Tensor const& seed, double p,
                              maybe_tensor const& mask, maybe_tensor const& bias, maybe_tensor const& lengths, double scale, maybe_int diagonal,
                              bool bottom_right, bool mask_hides, c10::string_view empty, maybe_type out_dtype, at::Tensor* sums) {
        at::AutoDispatchBelowADInplaceOrView const below;
        at::Tensor y;
        std::tie(y, *sums) = dropout_op().call(scores, seed, p, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype);
        context->save_for_backward({scores, *sums, seed, value_of(mask), value_of(bias), value_of(lengths)});
        context->saved_data["dropout_p"] = p;
        kept_numbers{scale, diagonal, bottom_right, mask_hides, scores.scalar_type()}.keep(context);
        return y;
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list const& incoming) {
        constexpr size_t arguments = 13, scores_at = 0, bias_at = 4;  // of forward()
        torch::autograd::variable_list gradients(arguments);
        if (!incoming[0].defined()) return gradients;
        auto const tensors = context->get_saved_variables();
        at::Tensor const &mask = tensors[3], &bias = tensors[4];
        double const p = context->saved_data["dropout_p"].toDouble();
        auto const kept = kept_numbers::of(context);
        auto const run = [&](bool of_bias, at::ScalarType type) {
            return dropout_backward_op().call(incoming[0], tensors[0], tensors[1], tensors[2], p, as_maybe(mask), as_maybe(bias), as_maybe(tensors[5]),
                                              kept.scale, kept.diagonal, kept.bottom_right, kept.mask_hides, type, of_bias);
        };
        bool const scores_want = context->needs_input_grad(0), bias_wants = bias.defined() && context->needs_input_grad(mask.defined() ? 3 : 2);
        if (scores_want) gradients[scores_at] = run(false, kept.scores_type);
        // What is added to a score has the gradient of the score, without the scale; where the bias repeats, the sum.
        bool const is_same = scores_want && kept.scale == 1 && bias.scalar_type() == kept.scores_type;
        if (bias_wants) gradients[bias_at] = at::sum_to(is_same ? gradients[scores_at] : run(true, bias.scalar_type()), bias.sym_sizes());
        return gradients;
    }
};

at::Tensor softmax(at::Tensor const& scores, maybe_tensor const& mask, maybe_tensor const& bias, maybe_tensor const& lengths, double scale,
                   maybe_int diagonal, bool bottom_right, bool mask_hides, c10::string_view empty, maybe_type out_dtype) {
    if (any_wants_gradient(scores, bias)) {
        return softmax_with_gradient::apply(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype,
                                            static_cast<at::Tensor*>(nullptr));
    }
    at::AutoDispatchBelowADInplaceOrView const below;
    return softmax_op().call(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype);
}

std::tuple<at::Tensor, at::Tensor> softmax_lse(at::Tensor const& scores, maybe_tensor const& mask, maybe_tensor const& bias,
                                               maybe_tensor const& lengths, double scale, maybe_int diagonal, bool bottom_right, bool mask_hides,
                                               c10::string_view empty, maybe_type out_dtype) {
    if (any_wants_gradient(scores, bias)) {
        at::Tensor sums;
        at::Tensor const y =
            softmax_with_gradient::apply(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype, &sums);
        return {y, sums};
    }
    at::AutoDispatchBelowADInplaceOrView const below;
    return softmax_lse_op().call(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype);
}

std::tuple<at::Tensor, at::Tensor> softmax_dropout(at::Tensor const& scores, at::Tensor const& seed, double p, maybe_tensor const& mask,
                                                   maybe_tensor const& bias, maybe_tensor const& lengths, double scale, maybe_int diagonal,
                                                   bool bottom_right, bool mask_hides, c10::string_view empty, maybe_type out_dtype) {
    if (any_wants_gradient(scores, bias)) {
        at::Tensor sums;
        at::Tensor const y =
            dropout_with_gradient::apply(scores, seed, p, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype, &sums);
        return {y, sums};
    }
    at::AutoDispatchBelowADInplaceOrView const below;
    return dropout_op().call(scores, seed, p, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype);
}

// A gradient that says why it has none itself; run() gives it.
struct gradient_without_gradient : torch::autograd::Function<gradient_without_gradient> {
    static torch::autograd::variable_list forward(torch::autograd::AutogradContext*, at::Tensor const&, at::Tensor const&, maybe_tensor const&,
                                                  std::function<torch::autograd::variable_list()> const& run) {
        at::AutoDispatchBelowADInplaceOrView const below;
        return run();
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext*, torch::autograd::variable_list const&) {
        TORCH_CHECK_NOT_IMPLEMENTED(false, "smx: scaled_mask_softmax has no second derivative (double backward): where one is needed, use torch.softmax");
    }
};

// grad, and what else the gradient is a function of.
template <class Run>
torch::autograd::variable_list without_gradient(at::Tensor const& grad, at::Tensor const& from, maybe_tensor const& bias, Run const& run) {
    if (any_wants_gradient(grad, from, bias))
        return gradient_without_gradient::apply(grad, from, bias, std::function<torch::autograd::variable_list()>(run));
    at::AutoDispatchBelowADInplaceOrView const below;
    return run();
}

at::Tensor softmax_backward(at::Tensor const& grad, at::Tensor const& probabilities, maybe_tensor const& mask, maybe_tensor const& bias,
                            maybe_tensor const& lengths, double scale, maybe_int diagonal, bool bottom_right, bool mask_hides, maybe_type out_dtype) {
    return without_gradient(grad, probabilities, {}, [&]() -> torch::autograd::variable_list {
        return {backward_op().call(grad, probabilities, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, out_dtype)};
    })[0];
}

std::tuple<at::Tensor, at::Tensor> softmax_backward_with_bias(at::Tensor const& grad, at::Tensor const& probabilities, maybe_tensor const& mask,
                                                              at::Tensor const& bias, maybe_tensor const& lengths, double scale, maybe_int diagonal,
                                                              bool bottom_right, bool mask_hides, maybe_type out_dtype, bool of_scores) {
    auto const results = without_gradient(grad, probabilities, {}, [&]() -> torch::autograd::variable_list {
        auto const [dx, db] =
            with_bias_op().call(grad, probabilities, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, out_dtype, of_scores);
        return {dx, db};
    });
    return {results[0], results[1]};
}

at::Tensor softmax_dropout_backward(at::Tensor const& grad, at::Tensor const& scores, at::Tensor const& lse, at::Tensor const& seed, double p,
                                    maybe_tensor const& mask, maybe_tensor const& bias, maybe_tensor const& lengths, double scale, maybe_int diagonal,
                                    bool bottom_right, bool mask_hides, maybe_type out_dtype, bool of_bias) {
    return without_gradient(grad, scores, bias, [&]() -> torch::autograd::variable_list {
        return {dropout_backward_op().call(grad, scores, lse, seed, p, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, out_dtype, of_bias)};
    })[0];
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

std::tuple<at::Tensor, at::Tensor> autocast_softmax_dropout(at::Tensor const& scores, at::Tensor const& seed, double p, maybe_tensor const& mask,
                                                            maybe_tensor const& bias, maybe_tensor const& lengths, double scale, maybe_int diagonal,
                                                            bool bottom_right, bool mask_hides, c10::string_view empty, maybe_type out_dtype) {
    c10::impl::ExcludeDispatchKeyGuard const below(c10::autocast_dispatch_keyset);
    return dropout_op().call(scores, seed, p, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, autocast_type(scores, out_dtype));
}

void register_autocast(torch::Library& m) {
    m.impl("scaled_mask_softmax_dropout", &autocast_softmax_dropout);
    m.impl("scaled_mask_softmax", &autocast_softmax);
    m.impl("scaled_mask_softmax_lse", &autocast_softmax_lse);
}

}  // namespace
}  // namespace smx_torch

TORCH_LIBRARY_IMPL(smx, Meta, m) {
    m.impl("scaled_mask_softmax", &smx_torch::meta_softmax);
    m.impl("scaled_mask_softmax_lse", &smx_torch::meta_softmax_lse);
    m.impl("scaled_mask_softmax_backward", &smx_torch::meta_backward);
    m.impl("scaled_mask_softmax_backward_with_bias", &smx_torch::meta_backward_with_bias);
    m.impl("scaled_mask_softmax_dropout", &smx_torch::meta_dropout);
    m.impl("scaled_mask_softmax_dropout_backward", &smx_torch::meta_dropout_backward);
}

TORCH_LIBRARY_IMPL(smx, Autograd, m) {
    m.impl("scaled_mask_softmax", &smx_torch::softmax);
    m.impl("scaled_mask_softmax_lse", &smx_torch::softmax_lse);
    m.impl("scaled_mask_softmax_backward", &smx_torch::softmax_backward);
    m.impl("scaled_mask_softmax_backward_with_bias", &smx_torch::softmax_backward_with_bias);
    m.impl("scaled_mask_softmax_dropout", &smx_torch::softmax_dropout);
    m.impl("scaled_mask_softmax_dropout_backward", &smx_torch::softmax_dropout_backward);
}

TORCH_LIBRARY_IMPL(smx, AutocastCUDA, m) { smx_torch::register_autocast(m); }
TORCH_LIBRARY_IMPL(smx, AutocastCPU, m) { smx_torch::register_autocast(m); }
