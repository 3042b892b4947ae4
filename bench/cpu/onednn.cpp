// Scale, additive mask and softmax as a chain of oneDNN primitives.
#include "onednn.hpp"

#include <dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "smx/host.hpp"

// The OpenMP that oneDNN brings with it, if it is built on one.
extern "C" __attribute__((weak)) void omp_set_num_threads(int);

namespace bench {
namespace {

bool use_threads(int threads) {
    if (omp_set_num_threads == nullptr) return false;
    omp_set_num_threads(threads);
    return true;
}

using tag = dnnl::memory::format_tag;
using arguments = std::unordered_map<int, dnnl::memory>;

dnnl::primitive scale_primitive(dnnl::engine const& engine, dnnl::memory::desc const& md, float factor) {
#if DNNL_VERSION_MAJOR >= 3
    return dnnl::eltwise_forward(dnnl::eltwise_forward::primitive_desc(
        engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::eltwise_linear, md, md, factor, 0.0f));
#else
    dnnl::eltwise_forward::desc const what(dnnl::prop_kind::forward_inference, dnnl::algorithm::eltwise_linear, md,
                                           factor, 0.0f);
    return dnnl::eltwise_forward(dnnl::eltwise_forward::primitive_desc(what, engine));
#endif
}

dnnl::primitive add_primitive(dnnl::engine const& engine, dnnl::memory::desc const& md,
                              dnnl::memory::desc const& added) {
#if DNNL_VERSION_MAJOR >= 3
    return dnnl::binary(dnnl::binary::primitive_desc(engine, dnnl::algorithm::binary_add, md, added, md));
#else
    return dnnl::binary(
        dnnl::binary::primitive_desc(dnnl::binary::desc(dnnl::algorithm::binary_add, md, added, md), engine));
#endif
}

dnnl::primitive softmax_primitive(dnnl::engine const& engine, dnnl::memory::desc const& md) {
    constexpr int axis = 2;
#if DNNL_VERSION_MAJOR >= 3
    return dnnl::softmax_forward(dnnl::softmax_forward::primitive_desc(
        engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::softmax_accurate, md, md, axis));
#else
    dnnl::softmax_v2_forward::desc const what(dnnl::prop_kind::forward_inference, dnnl::algorithm::softmax_accurate, md,
                                              md, axis);
    return dnnl::softmax_v2_forward(dnnl::softmax_v2_forward::primitive_desc(what, engine));
#endif
}

using element = dnnl::memory::data_type;
using step = std::function<void(dnnl::stream&)>;

step primitive_step(dnnl::primitive const& primitive, arguments const& given) {
    return [primitive, given](dnnl::stream& stream) { primitive.execute(stream, given); };
}

// Halves to floats and back, the loop that the compiler vectorises or the CPU's instruction: oneDNN's own reorder of
// halves is a reference of 75 ns an element in 2.6.
template <class From, class To, class Convert>
step conversion_step(From const* from, To* to, long long count, int threads, Convert const& convert) {
    return [=](dnnl::stream&) {
        constexpr int block = 32;
        smx::parallel_for(count / block, threads, [=](long long first, long long last) {
            for (long long i = first; i < last; ++i) convert(from + i * block, to + i * block);
        });
        for (long long i = count / block * block; i < count; ++i) {
            if constexpr (smx::same_type<From, float>) {
                to[i] = smx::dtype<To>::narrow(from[i]);
            } else {
                to[i] = smx::dtype<From>::widen(from[i]);
            }
        }
    };
}
step widening_step(smx::half const* from, float* to, long long count, int threads) {
    return conversion_step(from, to, count, threads, [](smx::half const* some, float* into) {
        smx::detail::widen_all<32>(some, into);
    });
}
step narrowing_step(float const* from, smx::half* to, long long count, int threads) {
    return conversion_step(from, to, count, threads, [](float const* some, smx::half* into) {
        smx::detail::narrow_all<32>(some, into);
    });
}

// The steps of a call, all on memory of type `computed`: as stored, or floats.
std::function<void()> make_chain(onednn_call const& call, element stored, element computed, int threads) {
    dnnl::engine const engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);
    dnnl::memory::dims const shape = {call.heads, call.queries, call.keys}, panel = {1, call.queries, call.keys};
    dnnl::memory::desc const md(shape, computed, tag::abc), bias_md(panel, computed, tag::abc);
    bool const converts = stored != computed;
    dnnl::memory const x(md, engine, converts ? DNNL_MEMORY_ALLOCATE : const_cast<void*>(call.x));
    dnnl::memory const y = converts ? x : dnnl::memory(md, engine, call.y);
    long long const bias_count = call.queries * call.keys, count = call.heads * bias_count;

    std::vector<step> steps;
    if (converts)
        steps.push_back(widening_step(static_cast<smx::half const*>(call.x), static_cast<float*>(x.get_data_handle()), count, threads));
    steps.push_back(primitive_step(scale_primitive(engine, md, call.factor), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}}));
    if (call.bias != nullptr) {
        dnnl::memory const bias(bias_md, engine, converts ? DNNL_MEMORY_ALLOCATE : const_cast<void*>(call.bias));
        if (converts)
            widening_step(static_cast<smx::half const*>(call.bias), static_cast<float*>(bias.get_data_handle()), bias_count, 1)(stream);
        steps.push_back(primitive_step(add_primitive(engine, md, bias_md),
                                       {{DNNL_ARG_SRC_0, y}, {DNNL_ARG_SRC_1, bias}, {DNNL_ARG_DST, y}}));
    }
    steps.push_back(primitive_step(softmax_primitive(engine, md), {{DNNL_ARG_SRC, y}, {DNNL_ARG_DST, y}}));
    if (converts)
        steps.push_back(narrowing_step(static_cast<float const*>(y.get_data_handle()), static_cast<smx::half*>(call.y), count, threads));

    return [stream, steps, threads]() mutable {
        use_threads(threads);
        for (step const& next : steps) next(stream);
        stream.wait();
    };
}

}  // namespace

std::function<void()> make_onednn(onednn_call const& call, int threads, std::string& why) {
    if (!use_threads(threads)) {
        why = "this oneDNN's threads are not OpenMP's";
        return {};
    }
    element const stored = call.element == onednn_call::type::float32    ? element::f32
                           : call.element == onednn_call::type::bfloat16 ? element::bf16
                                                                         : element::f16;
    try {
        return make_chain(call, stored, stored, threads);
    } catch (dnnl::error const& problem) {
        why = problem.what();
    }
    if (stored != element::f16) return {};
    try {
        return make_chain(call, stored, element::f32, threads);
    } catch (dnnl::error const& problem) {
        why = problem.what();
        return {};
    }
}

}  // namespace bench
