// The kernel that launch_auto takes for a call.
#pragma once
#include "operands.hpp"

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

}  // namespace bench
