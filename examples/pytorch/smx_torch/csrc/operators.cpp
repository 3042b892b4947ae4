// The operators as PyTorch knows them: schemas, what they give (Meta), their gradients (Autograd), and their types under autocast.
#include <ATen/ExpandUtils.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/dynamo/compiled_autograd.h>
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

// The gradient, as autograd keeps it: a node as those of PyTorch's own operators, since a torch::autograd::Function costs a call 3 us more. Behind a
// dropout the probabilities as they were before it are not stored: they are made again from the scores and the log-sum-exp.
class softmax_node : public torch::autograd::Node {
public:
    enum part { from, mask, bias, lengths, sums, seed, parts };  // from: the probabilities, or behind a dropout the scores

    double scale = 1;
    maybe_int diagonal;
    bool bottom_right = false, mask_hides = false;
    at::ScalarType scores_type = at::kFloat;
    bool drops = false;
    double dropout_p = 0;

    softmax_node(at::Tensor const& scores, maybe_tensor const& mask_given, maybe_tensor const& bias_given, maybe_tensor const& lengths_given,
                 double by, maybe_int last, bool from_bottom, bool hides)
        : scale(by), diagonal(last), bottom_right(from_bottom), mask_hides(hides), scores_type(scores.scalar_type()) {
        set_next_edges(torch::autograd::collect_next_edges(scores, bias_given));
        if (mask_given) keep(mask, *mask_given);
        if (bias_given) keep(bias, *bias_given);
        if (lengths_given) keep(lengths, *lengths_given);
    }

    void keep(part which, at::Tensor const& given, bool is_output = false) { saved_[which] = torch::autograd::SavedVariable(given, is_output); }

    std::string name() const override { return "SmxScaledMaskSoftmaxBackward"; }

    void release_variables() override {
        std::lock_guard<std::mutex> const one(mutex_);
        for (auto& each : saved_) each.reset_data();
    }

    torch::autograd::variable_list apply(torch::autograd::variable_list&& incoming) override {
        std::lock_guard<std::mutex> const one(mutex_);
        torch::autograd::variable_list gradients(2);
        if (!incoming[0].defined()) return gradients;
        bool const scores_want = task_should_compute_output(0), bias_wants = task_should_compute_output(1);
        at::Tensor const given = kept(bias);
        if (drops) {
            auto const run = [&](bool of_bias, at::ScalarType type) {
                return dropout_backward_op().call(incoming[0], kept(from), kept(sums), kept(seed), dropout_p, as_maybe(kept(mask)), as_maybe(given),
                                                  as_maybe(kept(lengths)), scale, diagonal, bottom_right, mask_hides, type, of_bias);
            };
            if (scores_want) gradients[0] = run(false, scores_type);
            bool const is_same = scores_want && scale == 1 && given.scalar_type() == scores_type;
            if (bias_wants) gradients[1] = at::sum_to(is_same ? gradients[0] : run(true, given.scalar_type()), given.sym_sizes());
        } else if (bias_wants) {
            std::tie(gradients[0], gradients[1]) = with_bias_op().call(incoming[0], kept(from), as_maybe(kept(mask)), given, as_maybe(kept(lengths)),
                                                                       scale, diagonal, bottom_right, mask_hides, scores_type, scores_want);
            if (!scores_want) gradients[0] = at::Tensor();
        } else if (scores_want) {
            gradients[0] = backward_op().call(incoming[0], kept(from), as_maybe(kept(mask)), as_maybe(given), as_maybe(kept(lengths)), scale, diagonal,
                                              bottom_right, mask_hides, scores_type);
        }
        return gradients;
    }

    // For compiled autograd. PyTorch 2.5 asks what is not const, later ones what is: one of the two is the base's.
    void compiled_args(torch::dynamo::autograd::CompiledNodeArgs& args) { collect_for(args); }
    void compiled_args(torch::dynamo::autograd::CompiledNodeArgs& args) const { collect_for(args); }
    torch::autograd::variable_list apply_with_saved(torch::autograd::variable_list const& incoming,
                                                    torch::dynamo::autograd::SwapSavedVariables& swapped) override {
        for (auto& each : saved_) swapped.before(each);
        auto gradients = apply(torch::autograd::variable_list(incoming));
        for (auto& each : saved_) swapped.after(each);
        return gradients;
    }

private:
    at::Tensor kept(part which) { return saved_[which].unpack(which == from && !drops ? shared_from_this() : nullptr); }

    void collect_for(torch::dynamo::autograd::CompiledNodeArgs& args) const {
        for (int i = 0; i < parts; ++i) args.collect(saved_[i], i == from && !drops);
        args.collect(scale);
        args.collect(diagonal);
        args.collect(bottom_right);
        args.collect(mask_hides);
        args.collect(scores_type);
        args.collect(drops);
        args.collect(dropout_p);
    }

    torch::autograd::SavedVariable saved_[parts];
};

std::shared_ptr<softmax_node> new_node(at::Tensor const& scores, maybe_tensor const& mask, maybe_tensor const& bias, maybe_tensor const& lengths,
                                       double scale, maybe_int diagonal, bool bottom_right, bool mask_hides) {
    return {new softmax_node(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides), torch::autograd::deleteNode};
}

at::Tensor softmax(at::Tensor const& scores, maybe_tensor const& mask, maybe_tensor const& bias, maybe_tensor const& lengths, double scale,
                   maybe_int diagonal, bool bottom_right, bool mask_hides, c10::string_view empty, maybe_type out_dtype) {
    auto const run = [&] {
        at::AutoDispatchBelowADInplaceOrView const below;
        return softmax_op().call(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype);
    };
    if (!any_wants_gradient(scores, bias)) return run();
    auto const node = new_node(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides);
    at::Tensor const y = run();
    torch::autograd::set_history(y, node);
    node->keep(softmax_node::from, y, true);
    return y;
}

std::tuple<at::Tensor, at::Tensor> softmax_lse(at::Tensor const& scores, maybe_tensor const& mask, maybe_tensor const& bias,
                                               maybe_tensor const& lengths, double scale, maybe_int diagonal, bool bottom_right, bool mask_hides,
                                               c10::string_view empty, maybe_type out_dtype) {
    auto const run = [&] {
        at::AutoDispatchBelowADInplaceOrView const below;
        return softmax_lse_op().call(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype);
    };
    if (!any_wants_gradient(scores, bias)) return run();
    auto const node = new_node(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides);
    auto const both = run();
    torch::autograd::set_history(std::get<0>(both), node);
    node->keep(softmax_node::from, std::get<0>(both), true);
    return both;
}

std::tuple<at::Tensor, at::Tensor> softmax_dropout(at::Tensor const& scores, at::Tensor const& seed, double p, maybe_tensor const& mask,
                                                   maybe_tensor const& bias, maybe_tensor const& lengths, double scale, maybe_int diagonal,
                                                   bool bottom_right, bool mask_hides, c10::string_view empty, maybe_type out_dtype) {
    auto const run = [&] {
        at::AutoDispatchBelowADInplaceOrView const below;
        return dropout_op().call(scores, seed, p, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype);
    };
    if (!any_wants_gradient(scores, bias)) return run();
    auto const node = new_node(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides);
    auto const both = run();
    node->drops = true;
    node->dropout_p = p;
    node->keep(softmax_node::from, scores);
    node->keep(softmax_node::sums, std::get<1>(both));
    node->keep(softmax_node::seed, seed);
    torch::autograd::set_history(std::get<0>(both), node);
    return both;
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
