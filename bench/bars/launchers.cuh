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
template <class T, int Cols>
constexpr smx::row_shape row_of() {
    smx::row_shape row;
    row.cols = Cols;
    row.element_bytes = int{sizeof(T)};
    return row;
}
template <bool BulkCopies>
constexpr smx::device_limits limits_of() {
    smx::device_limits limits;
    limits.bulk_copies = BulkCopies;
    if (BulkCopies) limits.shared_bytes_per_block = 99 * 1024;  // every such device has that much
    return limits;
}
template <class T, int Cols, bool BulkCopies, class Kernel, class... Rest>
constexpr auto first_that_runs(smx::kernel_list<Kernel, Rest...>) {
    if constexpr (Kernel::can_run(row_of<T, Cols>(), limits_of<BulkCopies>())) {
        return Kernel();
    } else {
        return first_that_runs<T, Cols, BulkCopies>(smx::kernel_list<Rest...>());
    }
}
template <class T, class Mask>
using kernels_for =
    smx::detail::automatic_kernels<smx::dense_input<T>, decltype(smx::some<Mask>().bind(smx::some<smx::row_id>(),
                                                                                        smx::some<smx::extents>()))>;
}  // namespace detail

template <class T, class Mask, int Cols, bool BulkCopies>
using chosen_kernel = decltype(detail::first_that_runs<T, Cols, BulkCopies>(detail::kernels_for<T, Mask>()));

}  // namespace bench
