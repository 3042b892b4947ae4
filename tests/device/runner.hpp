// A kernel, or the host path, behind one function pointer: what the tests of this folder choose from.
#pragma once

#include <string>
#include <vector>

#include "device/call.hpp"

namespace device {

enum class sums { none, in_float, in_double };  // the log-sum-exp a runner writes

struct runner {
    enum kind_type { host, named, automatic } kind;
    smx::policy policy;  // of a named kernel
    storage x, y;
    family masks;
    factor_type factor;
    smx::hidden hidden;
    sums log_sum_exp;
    bool (*can_run)(smx::row_shape, smx::device_limits);  // of a named kernel
    smx::status (*run)(void* stream, call const&);
};

inline std::string name_of(runner const& r) {
    std::string name;
    if (r.kind == runner::host) {
        name = "softmax_on_host";
    } else if (r.kind == runner::automatic) {
        name = "launch_auto";
    } else {
        smx::policy const& p = r.policy;
        std::string const blocks = p.blocks > 1 ? std::to_string(p.blocks) + " blocks, " : "";
        name = std::string(smx::name_of(p.body)) + " (" + std::to_string(p.lanes) + " lanes, " + blocks +
               std::to_string(p.threads) + " threads, " + std::to_string(p.packs) +
               (p.behind > 0 ? " + " + std::to_string(p.behind) : "") + " packs of " + std::to_string(p.vec) + ")";
    }
    name += std::string(", ") + name_of(r.x) + " to " + name_of(r.y) + ", " + name_of(r.masks);
    if (r.factor == factor_type::device) name += ", device_scale";
    if (r.factor == factor_type::head) name += ", head_scale";
    if (r.hidden == smx::hidden::keep) name += ", hidden::keep";
    return name;
}

using runner_list = std::vector<runner>;

inline runner_list joined(runner_list first, runner_list const& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

// One list a .cu file, so that they compile side by side.
runner_list half_kernels();        // launch_auto's list and launch_auto, composed masks
runner_list bfloat16_kernels();    // the same, structured masks
runner_list float_kernels();       // the same, composed masks
runner_list double_kernels();      // the same, structured masks
runner_list plain_kernels();       // the same in half and float without a mask
runner_list half_mask_kernels();   // every family of masks on a few kernels
runner_list float_mask_kernels();  // the same
runner_list mixed_kernels();       // y of another type than x
runner_list other_kernels();       // kernels outside launch_auto's list, factors and outputs of their own type

// Every kernel above.
inline runner_list const& all_kernels() {
    static runner_list const list = [] {
        runner_list all;
        for (auto part : {half_kernels, bfloat16_kernels, float_kernels, double_kernels, plain_kernels,
                          half_mask_kernels, float_mask_kernels, mixed_kernels, other_kernels}) {
            all = joined(all, part());
        }
        return all;
    }();
    return list;
}

// The host path with a kernel's types.
runner host_twin(runner const& kernel);

}  // namespace device
