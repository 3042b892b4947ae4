// The host path as a runner.
#pragma once

#include "fuzz/call.hpp"

namespace fuzz {

// Two ranges of rows on this thread; or, where there is no such split, all cores.
template <signature const& Types, class X, class Y, class Dy>
smx::status run_on_host(call const& c) {
    return with_parts<Types, X, Y, Dy>(c, [&](auto const&... parts) {
        int64 const rows = c.shape.batch * c.shape.heads * c.shape.queries;
        auto const run = [&](auto const&... range) {
            if constexpr (is_backward(Types.how)) {
                return smx::softmax_backward_on_host(range..., parts...);
            } else {
                return smx::softmax_on_host(range..., parts...);
            }
        };
        if (c.split == 0) return run();
        smx::status const first = run(smx::rows{0, c.split});
        return first ? run(smx::rows{c.split, rows}) : first;
    });
}

template <family Masks, way How, class X, class Y = X, class Dy = Y>
struct on_host {
    static constexpr signature types{device::storage_of<X>, device::storage_of<Y>, device::storage_of<Dy>, Masks, How};
    operator runner() const { return {types, "host", 0, &run_on_host<types, X, Y, Dy>}; }
};

}  // namespace fuzz
