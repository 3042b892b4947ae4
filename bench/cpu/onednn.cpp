// Scale, additive mask and softmax as a chain of oneDNN primitives.
#include "onednn.hpp"

#include <dnnl.hpp>
#include <unordered_map>
#include <vector>

namespace bench {
namespace {

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

}  // namespace

std::function<void()> make_onednn(onednn_call const& call, std::string& why) {
    try {
        using element = dnnl::memory::data_type;
        element const type = call.element == onednn_call::type::float32    ? element::f32
                             : call.element == onednn_call::type::bfloat16 ? element::bf16
                                                                           : element::f16;
        dnnl::engine const engine(dnnl::engine::kind::cpu, 0);
        dnnl::stream stream(engine);
        dnnl::memory::desc const md({call.heads, call.queries, call.keys}, type, tag::abc);
        dnnl::memory::desc const bias_md({1, call.queries, call.keys}, type, tag::abc);
        dnnl::memory const x(md, engine, const_cast<void*>(call.x)), y(md, engine, call.y);

        std::vector<dnnl::primitive> steps = {scale_primitive(engine, md, call.factor)};
        std::vector<arguments> given = {{{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}}};
        if (call.bias != nullptr) {
            dnnl::memory const bias(bias_md, engine, const_cast<void*>(call.bias));
            steps.push_back(add_primitive(engine, md, bias_md));
            given.push_back({{DNNL_ARG_SRC_0, y}, {DNNL_ARG_SRC_1, bias}, {DNNL_ARG_DST, y}});
        }
        steps.push_back(softmax_primitive(engine, md));
        given.push_back({{DNNL_ARG_SRC, y}, {DNNL_ARG_DST, y}});

        return [stream, steps, given]() mutable {
            for (std::size_t i = 0; i < steps.size(); ++i) steps[i].execute(stream, given[i]);
            stream.wait();
        };
    } catch (dnnl::error const& problem) {
        why = problem.what();
        return {};
    }
}

}  // namespace bench
