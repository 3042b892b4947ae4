// The kernels of launch_auto_backward, and which of them runs a row of a given length.
#pragma once
#include "automatic.hpp"

SMX_BEGIN

namespace detail {

SMX_HD constexpr bool is_asked(rows_seen rows) { return rows == rows_seen::asked || rows == rows_seen::asked_once; }

// The kernels for elements of y that fill a 16-byte pack with Vec, shortest row first: launch_auto's, with half the packs a lane, since a row of y and
// one of dy wait in the registers.
template <int Vec, rows_seen Rows>
using shortest_backward_rows = chosen_type<is_asked(Rows), kernel_list<resident<warp_group<4>, Vec, 2>>,  // one pack: spills
                                           kernel_list<resident<warp_group<4>, Vec, 1>, resident<warp_group<8>, Vec, 1>>>;
template <int Vec>
using short_backward_rows = kernel_list<resident<warp_group<8>, Vec, 2>, resident<warp_group<16>, Vec, 2>, resident<warp_group<32>, Vec, 2, 64>>;
template <int Vec>
using middle_backward_rows = kernel_list<resident<block_group<64>, Vec, 2>, resident<block_group<96>, Vec, 2>, resident<block_group<128>, Vec, 2>,
                                         resident<block_group<192>, Vec, 2>, resident<block_group<256>, Vec, 2>>;
// 4 packs a lane of 512 leave no registers for what a mask asks.
template <int Vec, rows_seen Rows>
using block_backward_rows = chosen_type<is_asked(Rows), kernel_list<resident<block_group<384>, Vec, 2>, resident<block_group<512>, Vec, 2>>,
                                        kernel_list<resident<block_group<384>, Vec, 2>, resident<block_group<512>, Vec, 2>, resident<block_group<512>, Vec, 4>>>;
template <int Vec>
using long_backward_rows = kernel_list<fitted<resident<cluster_group<256, 16>, Vec, 4>>, chunked_online<block_group<512>, Vec, 2>>;

template <int Vec, rows_seen Rows>
struct automatic_backward_list {
    using type = typename joined_lists<shortest_backward_rows<Vec, Rows>, short_backward_rows<Vec>, middle_backward_rows<Vec>,
                                       block_backward_rows<Vec, Rows>, long_backward_rows<Vec>>::type;
};

// What launch_auto_backward chooses from.
template <class Input, class Seen, class Choice = every_kernel>
using automatic_backward_kernels =
    typename chosen_from<Choice, typename automatic_backward_list<(pack_columns_of<Input> > 8 ? 8 : pack_columns_of<Input>), seen_as<Seen>>::type>::type;

}  // namespace detail

#if SMX_HAS_HOST
// The kernel that launch_auto_backward runs for such rows of probabilities stored as Element under such a mask.
template <class Element, class Mask = no_mask, class Choice = every_kernel>
constexpr policy choose_backward_policy(row_shape shape, device_limits limits = {}) {
    using seen = decltype(some<Mask>().bind(some<row_id>(), some<extents>()));
    shape.element_bytes = int{sizeof(Element)};
    shape.compute_bytes = int{sizeof(compute_of<Element>)};
    using kernels = detail::automatic_backward_kernels<dense_input<Element>, seen, Choice>;
    return detail::policy_of_first(kernels(), shape, limits);
}
#endif

SMX_END
