// The kernel that launch_auto takes for a call.
#pragma once
#include "operands.hpp"
#include "smx/automatic_backward.hpp"

namespace bench {

template <class T>
smx::policy policy_of(call const& c, mask_kind masks, smx::device_limits limits) {
    return with_mask<T>(masks, c, [&](auto const& mask) {
        return smx::plan(limits, scores_of<T>(c), factor_of(c), mask, probabilities_of<T>(c)).kernel;
    });
}
inline smx::policy policy_of(call const& c, mask_kind masks, smx::device_limits limits) {
    switch (c.type) {
        case dtype::half:
            return policy_of<smx::half>(c, masks, limits);
        case dtype::bfloat16:
            return policy_of<smx::bfloat16>(c, masks, limits);
        case dtype::float32:
            return policy_of<float>(c, masks, limits);
    }
    return {};
}

// The same of launch_auto_backward.
inline smx::policy backward_policy_of(call const& c, mask_kind masks, smx::device_limits limits) {
    smx::row_shape row;
    row.cols = c.shape.keys;
    auto const choose = [&](auto example) {
        using element = decltype(example);
        return with_kind(masks, [&](auto kind) {
            using mask = decltype(mask_of<element, decltype(kind)::value>(c));
            return smx::choose_backward_policy<element, mask>(row, limits);
        });
    };
    return c.type == dtype::half       ? choose(smx::half())
           : c.type == dtype::bfloat16 ? choose(smx::bfloat16())
                                       : choose(float());
}

}  // namespace bench
