// Random problems of the device tests by random kernels, and the gradients, dropouts, log-softmaxes and sums of
// host_fuzz's cases, compared with the reference: gpu_fuzz --seconds 1800.
#include <algorithm>
#include <variant>

#include "device/suite.hpp"
#include "fuzz/call.hpp"
#include "fuzz/loop.hpp"

namespace {

using device::all_kernels;
using device::int64;
using device::problem;
using device::runner;

struct forward_case {
    std::vector<std::size_t> kernels;  // places in all_kernels()
    problem given;
};
using gpu_case = std::variant<forward_case, fuzz::description>;

bool is_packed(runner const& r) { return r.kind == runner::named && r.policy.body == smx::body_kind::packed; }

// A problem without strides is packed.
bool is_set(smx::strides const& step) { return step.batch != 0 || step.head != 0 || step.query != 0 || step.key != 0; }

// Most lengths are short, or near where a kernel does something else.
int drawn_columns(runner const& kernel, support::random_stream& random) {
    int64 const held =
        kernel.kind == runner::named ? std::max<int64>(kernel.policy.columns(), 1) : int64{1} << (5 + random.below(11));
    int64 const slice = held / std::max(kernel.policy.blocks, 1);
    int64 const near[] = {held, slice * (1 + random.below(std::max(kernel.policy.blocks, 1))), 2 * held};
    int64 cols = 1 + random.below(130);
    if (random.coin(0.4)) cols = near[random.below(3)] + random.below(7) - 3;
    if (random.coin(0.2)) cols = 1 + static_cast<int64>(random.bits() % static_cast<unsigned long long>(held));
    return static_cast<int>(std::clamp<int64>(cols, 1, 200000));
}

// Gradients, dropouts, log-softmaxes and sums. A case's tensors end, or begin, where the GPU may not read, where its
// driver can see to that.
std::vector<fuzz::runner> const& other_runners() {
    static std::vector<fuzz::runner> const list = [] {
        std::vector<fuzz::runner> all;
        for (auto part : {fuzz::backward_gpu, fuzz::dropped_gpu, fuzz::logarithms_gpu, fuzz::summed_gpu}) {
            auto const some = part();
            all.insert(all.end(), some.begin(), some.end());
        }
        return all;
    }();
    return list;
}

std::string fault_of(fuzz::description const& d) {
    static std::vector<fuzz::runner> const placed = [] {
        device::space* const gpu = device::gpu_space();
        auto const fenced = [&](device::fence side) {
            device::space* const found = device::fenced_gpu_space(side);
            return found == nullptr ? gpu : found;
        };
        static fuzz::other_memory const where{fenced(device::fence::behind), fenced(device::fence::before), gpu};
        std::vector<fuzz::runner> all = other_runners();
        for (fuzz::runner& r : all) r.where = &where;
        return all;
    }();
    return fuzz::check(d, placed);
}

gpu_case draw(unsigned long long seed) {
    if (seed % 2 == 0) {
        static std::vector<fuzz::signature> const signatures = fuzz::signatures_of(other_runners());
        fuzz::choices from(seed);
        return fuzz::draw(from, signatures);
    }
    support::random_stream random(seed);
    auto const& all = all_kernels();
    forward_case c;
    auto const first = static_cast<std::size_t>(random.below(static_cast<int>(all.size())));
    c.kernels.push_back(first);
    c.given = device::random_problem(all[first], drawn_columns(all[first], random), random);
    constexpr double factors[] = {1e-3, 8, -3, 20};
    if (c.given.scores != support::pattern::huge && random.coin(0.25)) c.given.factor = factors[random.below(4)];
    // Others that take the same call.
    std::vector<std::size_t> alike;
    for (std::size_t i = 0; i < all.size(); ++i) {
        runner const &a = all[first], &b = all[i];
        if (i != first && a.x == b.x && a.y == b.y && a.masks == b.masks && a.factor == b.factor) alike.push_back(i);
    }
    for (int more = 0; more < 3 && !alike.empty(); ++more)
        c.kernels.push_back(alike[static_cast<std::size_t>(random.below(static_cast<int>(alike.size())))]);
    return c;
}

// Whether a kernel is to take it: rows that are too long, and layouts that packed kernels refuse, have tests of their
// own.
bool takes(runner const& kernel, problem const& p, device::space& where) {
    if (!device::can_take(kernel, p.shape.keys, where)) return false;
    if (!is_packed(kernel)) return true;
    int const in_phase = 16 / device::bytes_of(kernel.y);
    return !is_set(p.x_step) && !is_set(p.y_step) && (p.in_place || (p.x_phase - p.y_phase) % in_phase == 0);
}

std::string fault_of(forward_case const& c) {
    device::space& where = *device::gpu_space();
    for (std::size_t kernel : c.kernels) {
        if (!takes(all_kernels()[kernel], c.given, where)) continue;
        device::execution one(c.given, all_kernels()[kernel], where);
        std::string sentence = one.run();
        if (sentence.empty()) sentence = one.difference();
        if (!sentence.empty()) return sentence + ", by " + name_of(all_kernels()[kernel]);
    }
    return {};
}

std::vector<forward_case> simpler(forward_case const& c) {
    std::vector<forward_case> all;
    problem const& p = c.given;
    auto const with = [&](auto const& change) {
        forward_case next = c;
        change(next.given);
        all.push_back(next);
    };
    if (c.kernels.size() > 1) {
        for (std::size_t kernel : c.kernels) all.push_back({{kernel}, p});
    }
    for (int64 smx::extents::*axis :
         {&smx::extents::batch, &smx::extents::heads, &smx::extents::queries, &smx::extents::keys}) {
        int64 const count = p.shape.*axis;
        for (int64 less : {int64{1}, count / 2, count - count / 4, count - 1}) {
            if (less >= 1 && less < count) with([&](problem& n) { n.shape.*axis = less; });
        }
    }
    device::mask_parts const& m = p.masks;
    if (m.causal != device::causal_kind::none) with([](problem& n) { n.masks.causal = device::causal_kind::none; });
    if (m.lengths != device::lengths_kind::none) with([](problem& n) { n.masks.lengths = device::lengths_kind::none; });
    for (auto part : {&device::mask_parts::flags, &device::mask_parts::hidden_flags, &device::mask_parts::bias,
                      &device::mask_parts::half_bias, &device::mask_parts::bits}) {
        device::mask_tensor_layout const& layout = m.*part;
        if (layout.axes == device::form::absent) continue;
        with([&](problem& n) { n.masks.*part = {}; });
        if (layout.phase != 0) with([&](problem& n) { (n.masks.*part).phase = 0; });
        if (layout.gap != 0) with([&](problem& n) { (n.masks.*part).gap = 0; });
    }
    if (p.scores != support::pattern::equal) with([](problem& n) { n.scores = support::pattern::equal; });
    if (p.scores != support::pattern::equal && p.scores != support::pattern::mild)
        with([](problem& n) { n.scores = support::pattern::mild; });
    bool const may_choose = all_kernels()[c.kernels[0]].factor == device::factor_type::any;
    if (p.factor != 1) with([](problem& n) { n.factor = 1; });
    if (may_choose && (p.factor_on_device || p.factor_per_head))
        with([](problem& n) { n.factor_on_device = n.factor_per_head = false; });
    if (p.when_empty != smx::empty_row::zeros) with([](problem& n) { n.when_empty = smx::empty_row::zeros; });
    if (p.in_place) with([](problem& n) { n.in_place = false; });
    if (is_set(p.x_step)) with([](problem& n) { n.x_step = {}; });
    if (is_set(p.y_step)) with([](problem& n) { n.y_step = {}; });
    if (p.x_phase != 0 || p.y_phase != 0) {
        with([](problem& n) { n.x_phase = n.y_phase = 0; });
        with([](problem& n) { n.x_phase = 0; });
        with([](problem& n) { n.y_phase = 0; });
    }
    return all;
}

std::string in_words(forward_case const& c) {
    std::string text = device::in_words(c.given);
    for (std::size_t kernel : c.kernels) text += "\n  by " + name_of(all_kernels()[kernel]);
    return text;
}

}  // namespace

int main(int count, char** arguments) {
    fuzz::fuzzer<gpu_case> f;
    f.reason_to_skip = [] {
        std::string why;
        device::gpu_space(&why);
        return why;
    };
    f.draw = draw;
    f.check = [](gpu_case const& c) { return std::visit([](auto const& one) { return fault_of(one); }, c); };
    f.simpler = [](gpu_case const& c) {
        return std::visit(
            [](auto const& one) {
                auto const all = simpler(one);
                return std::vector<gpu_case>(all.begin(), all.end());
            },
            c);
    };
    f.in_words = [](gpu_case const& c) { return std::visit([](auto const& one) { return in_words(one); }, c); };
    return fuzz::run(f, fuzz::options_of(count, arguments));
}
