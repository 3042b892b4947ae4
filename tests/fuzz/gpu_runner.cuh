// Kernels on a GPU as runners of the cases of host_fuzz.
#pragma once

#include <string>

#include "device/calls.cuh"
#include "fuzz/call.hpp"

namespace fuzz {

template <class Kernel, signature const& Types, class X, class Y, class Dy>
smx::status run_on_gpu(call const& c) {
    return with_parts<Types, X, Y, Dy>(c, [&](auto const&... parts) {
        smx::launch_place const place(nullptr);
        if constexpr (is_backward(Types.how)) {
            return device::launch_backward_as<Kernel>(place, parts...);
        } else {
            return device::launch_as<Kernel>(place, parts...);
        }
    });
}

template <class Kernel>
std::string name_of_kernel() {
    if constexpr (device::is_automatic<Kernel>) {
        return "launch_auto";
    } else {
        smx::policy const p = Kernel::value;
        return std::string(smx::name_of(p.body)) + " (" + std::to_string(p.lanes) + " lanes, " +
               std::to_string(p.blocks) + " blocks, " + std::to_string(p.packs + p.behind) + " packs of " +
               std::to_string(p.vec) + ")";
    }
}

template <class Kernel>
constexpr int64 longest_row_of() {
    if constexpr (device::is_automatic<Kernel>) {
        return Kernel::choice::to;
    } else {
        return smx::holds_row(Kernel::value.body) ? Kernel::value.columns() : 0;
    }
}

template <class Kernel, family Masks, way How, class X, class Y = X, class Dy = Y>
struct on_gpu {
    static constexpr signature types{device::storage_of<X>, device::storage_of<Y>, device::storage_of<Dy>, Masks, How};
    operator runner() const {
        return {types, name_of_kernel<Kernel>(), longest_row_of<Kernel>(), &run_on_gpu<Kernel, types, X, Y, Dy>};
    }
};

}  // namespace fuzz
