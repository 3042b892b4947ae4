// The host path as a runner.
#pragma once

#include <algorithm>

#include "fuzz/call.hpp"

namespace fuzz {

// Two ranges of rows on this thread; or, where there is no such split, all cores.
template <signature const& Types, class X, class Y, class Dy>
smx::status run_on_host(call const& c) {
    return with_parts<Types, X, Y, Dy>(c, [&](auto const&... parts) {
        int64 rows = c.shape.batch * c.shape.heads * c.shape.queries;
        // A range counts rows of db, where there is one.
        if constexpr (sums_biases(Types.how)) rows = smx::make_backward_operands(parts...).rows.count();
        auto const run = [&](auto const&... range) {
            if constexpr (is_backward(Types.how)) {
                return smx::softmax_backward_on_host(range..., parts...);
            } else {
                return smx::softmax_on_host(range..., parts...);
            }
        };
        int64 const split = std::min(c.split, rows);
        if (split == 0) return run();
        smx::status const first = run(smx::rows{0, split});
        return first ? run(smx::rows{split, rows}) : first;
    });
}

template <family Masks, way How, class X, class Y = X, class Dy = Y>
struct on_host {
    static constexpr signature types{device::storage_of<X>, device::storage_of<Y>, device::storage_of<Dy>, Masks, How};
    operator runner() const { return {types, "host", 0, &run_on_host<types, X, Y, Dy>}; }
};

}  // namespace fuzz
