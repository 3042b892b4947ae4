// How the launchers of calls.hpp are made of smx.
#pragma once
#include <type_traits>

#include "calls.hpp"
#include "smx/smx.cuh"

namespace bench {

template <class T>
auto scores_of(call const& c) {
    return smx::scores(static_cast<T const*>(c.x), c.shape);
}
template <class T>
auto probabilities_of(call const& c) {
    return smx::probabilities(static_cast<T*>(c.y));
}
inline smx::fixed_scale factor_of(call const& c) { return smx::fixed_scale(c.factor); }

inline auto causal_of(call const&) { return smx::causal_mask::top_left(); }
inline auto lengths_of(call const& c) { return smx::key_lengths(c.lengths); }
inline auto flags_of(call const& c) { return smx::mask_tensor(c.flags, c.flags_step); }
template <class T>
auto bias_of(call const& c) {
    return smx::bias_tensor(static_cast<T const*>(c.bias), c.bias_step);
}

template <class T, class Mask>
smx::status launch_automatic(cudaStream_t stream, call const& c, Mask const& masks) {
    return smx::launch_auto(stream, scores_of<T>(c), factor_of(c), masks, probabilities_of<T>(c));
}

// The kernel that launch_auto would run for rows of `Cols` elements of type T, packed and in one phase, on a device
// with bulk copies or on one without: a type where a call has only the value.
namespace detail {
template <class T, int Cols, bool SpansRow, bool BulkCopies>
struct kernel_of {
    static constexpr smx::policy choose() {
        smx::row_shape row;
        row.cols = Cols;
        row.aligned = Cols * int{sizeof(T)} % 16 == 0;
        row.spans_row = SpansRow;
        smx::device_limits limits;
        limits.bulk_copies = BulkCopies;
        return smx::choose_policy<T>(row, limits);
    }
    static constexpr smx::policy chosen = choose();
    using group =
        std::conditional_t<(chosen.lanes <= 32), smx::warp_group<chosen.lanes>, smx::block_group<chosen.lanes>>;
    using resident = smx::resident<group, chosen.vec, chosen.packs, chosen.threads>;
    using packed = smx::packed<std::conditional_t<(chosen.lanes <= 32), group, smx::warp_group<32>>, chosen.vec,
                               chosen.packs, chosen.threads>;
    using type = std::conditional_t<chosen.body == smx::body_kind::packed, packed, resident>;
    static_assert(chosen.body == smx::body_kind::packed || chosen.body == smx::body_kind::resident,
                  "short rows wait on the chip");
};
}  // namespace detail

template <class T, int Cols, bool SpansRow, bool BulkCopies>
using chosen_kernel = typename detail::kernel_of<T, Cols, SpansRow, BulkCopies>::type;

}  // namespace bench
