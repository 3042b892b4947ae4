// How the launchers of calls.hpp are made of smx.
#pragma once
#include <type_traits>

#include "operands.hpp"
#include "smx/smx.cuh"

namespace bench {

template <class T, class Mask>
smx::status launch_automatic(cudaStream_t stream, call const& c, Mask const& masks) {
    return smx::launch_auto({stream, c.programmatic}, scores_of<T>(c), factor_of(c), masks, probabilities_of<T>(c));
}

// The kernel that launch_auto would run for rows of `Cols` elements of type T under a mask, packed and in one phase, on
// a device with bulk copies or on one without: a type where a call has only the value.
namespace detail {
template <class T, class Mask, int Cols, bool BulkCopies>
struct kernel_of {
    static constexpr smx::policy choose() {
        smx::row_shape row;
        row.cols = Cols;
        smx::device_limits limits;
        limits.bulk_copies = BulkCopies;
        if (BulkCopies) limits.shared_bytes_per_block = 99 * 1024;  // every such device has that much
        return smx::choose_policy<T, Mask>(row, limits);
    }
    static constexpr smx::policy chosen = choose();
    static constexpr bool in_warp = chosen.lanes <= 32;
    using warp_lanes =
        std::conditional_t<chosen.lanes == 1, smx::thread_group, smx::warp_group<in_warp ? chosen.lanes : 32>>;
    using group = std::conditional_t<in_warp, warp_lanes, smx::block_group<chosen.lanes>>;
    using resident = smx::resident<group, chosen.vec, chosen.packs, chosen.threads>;
    using packed = smx::packed<warp_lanes, chosen.vec, chosen.packs, chosen.threads>;
    using compact = smx::compact<group, chosen.vec, chosen.packs, chosen.threads>;
    using type = std::conditional_t<chosen.body == smx::body_kind::packed, packed,
                                    std::conditional_t<chosen.body == smx::body_kind::compact, compact, resident>>;
    static_assert(smx::holds_row(chosen.body), "short rows wait on the chip");
};
}  // namespace detail

template <class T, class Mask, int Cols, bool BulkCopies>
using chosen_kernel = typename detail::kernel_of<T, Mask, Cols, BulkCopies>::type;

}  // namespace bench
