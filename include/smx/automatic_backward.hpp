// The kernels of launch_auto_backward, and which of them runs a row of a given length.
#pragma once
#include "automatic.hpp"

SMX_BEGIN

namespace detail {

// What waits in the registers of a lane: y and dy as 16 bits, or as numbers; more than these, where y is made again or a dropout draws; or sums too.
enum class backward_held { stored, numbers, more, sums };
template <class Operands>
inline constexpr backward_held backward_held_by = numbers_added<Operands> > 0                                                   ? backward_held::sums
                                                  : Operands::draws || is_recomputed<typename Operands::input_type>             ? backward_held::more
                                                  : sizeof(typename Operands::stored_type) < sizeof(typename Operands::compute) ? backward_held::stored
                                                                                                                                : backward_held::numbers;

SMX_HD constexpr bool is_asked(rows_seen rows) { return rows == rows_seen::asked || rows == rows_seen::asked_once; }

// The kernels for elements of y that fill a 16-byte pack with Vec, shortest row first. A lane holds half the packs that it would of a forward pass,
// unless they wait as they are stored; rows seen in part, where all of a row but its packs costs most, have few lanes with many packs.
// Measured on an H200, as a share of a stream of two reads and a write: 32 columns of half 1.00 (a lane a pack: 0.93), 2050 0.98 (192 lanes of 2 packs of
// numbers: 0.82), 10000 1.00 (4 packs of 512 lanes: 0.95), 65536 1.00 (clusters of 256 lanes, 4 packs of numbers: 0.80), 131072 1.00 (read twice: 0.72);
// causal, 2048 columns, as a share of copy: half 0.98 (128 lanes of 2 packs: 0.92), float 0.97 (256 lanes of 2 packs: 0.92).
template <int Vec, rows_seen Rows>
using shortest_backward_rows = chosen_type<is_asked(Rows), kernel_list<resident<warp_group<4>, Vec, 2>>,  // one pack: spills
                                           kernel_list<resident<warp_group<4>, Vec, 1>, resident<warp_group<8>, Vec, 1>>>;
template <int Vec>
using short_backward_rows = kernel_list<resident<warp_group<8>, Vec, 2>, resident<warp_group<16>, Vec, 2>, resident<warp_group<32>, Vec, 2, 64>>;
template <int Vec>
using middle_backward_rows = kernel_list<resident<block_group<64>, Vec, 2>, resident<block_group<96>, Vec, 2>, resident<block_group<128>, Vec, 2>,
                                         resident<block_group<192>, Vec, 2>, resident<block_group<256>, Vec, 2>>;
template <int Vec>
using middle_backward_parts = kernel_list<resident<block_group<64>, Vec, 2>, resident<block_group<64>, Vec, 4>, resident<block_group<96>, Vec, 4>,
                                          resident<block_group<128>, Vec, 4>, resident<block_group<192>, Vec, 4>, resident<block_group<256>, Vec, 4>>;
// 4 packs a lane of 512 leave no registers for what a mask asks, nor for sums.
template <int Vec, bool Crowded>
using block_backward_rows = chosen_type<Crowded, kernel_list<resident<block_group<384>, Vec, 2>, resident<block_group<512>, Vec, 2>>,
                                        kernel_list<resident<block_group<384>, Vec, 2>, resident<block_group<512>, Vec, 2>, resident<block_group<512>, Vec, 4>>>;
template <int Vec>
using long_backward_rows = kernel_list<fitted<resident<cluster_group<256, 16>, Vec, 4>>>;
template <int Vec>
using longest_backward_rows = kernel_list<fitted<resident<cluster_group<256, 16>, Vec, 8>>, fitted<resident<cluster_group<512, 16>, Vec, 8>>>;

template <int Vec>
using shortest_stored_backward_rows = kernel_list<resident<warp_group<2>, Vec, 2>, resident<warp_group<4>, Vec, 2>, resident<warp_group<8>, Vec, 2>>;
template <int Vec>
using short_stored_backward_parts = kernel_list<compact<warp_group<8>, Vec, 4>, compact<warp_group<16>, Vec, 4>, compact<warp_group<32>, Vec, 4, 64>,
                                                compact<block_group<64>, Vec, 4>>;
template <int Vec>
using short_stored_backward_rows = kernel_list<resident<warp_group<16>, Vec, 2>, resident<warp_group<32>, Vec, 2, 64>, resident<block_group<64>, Vec, 2>,
                                               resident<block_group<96>, Vec, 2>, resident<block_group<128>, Vec, 2>>;
template <int Vec>
using middle_stored_backward_rows = kernel_list<compact<block_group<96>, Vec, 4>, resident<block_group<256>, Vec, 2>, compact<block_group<192>, Vec, 4>,
                                                resident<block_group<512>, Vec, 2>>;
template <int Vec>
using middle_stored_backward_parts = kernel_list<compact<block_group<96>, Vec, 4>, compact<block_group<128>, Vec, 4>, compact<block_group<192>, Vec, 4>,
                                                 compact<block_group<256>, Vec, 4>>;
template <int Vec>
using long_stored_backward_rows = kernel_list<compact<block_group<384>, Vec, 4>, compact<block_group<512>, Vec, 4>, fitted<compact<cluster_group<128, 16>, Vec, 8>>,
                                              fitted<compact<cluster_group<256, 16>, Vec, 8>>, fitted<compact<cluster_group<512, 16>, Vec, 8>>>;
template <int Vec>
using read_twice_backward = kernel_list<chunked_online<block_group<512>, Vec, 2>>;

template <int Vec, rows_seen Rows, backward_held Held>
struct automatic_backward_list {
    using middle = chosen_type<Rows == rows_seen::part && Held == backward_held::numbers, middle_backward_parts<Vec>, middle_backward_rows<Vec>>;
    using longest = chosen_type<Held == backward_held::numbers && Vec <= 4 && !is_asked(Rows), longest_backward_rows<Vec>, kernel_list<>>;
    using type = typename joined_lists<shortest_backward_rows<Vec, Rows>, short_backward_rows<Vec>, middle, block_backward_rows<Vec, is_asked(Rows) || Held == backward_held::sums>,
                                       long_backward_rows<Vec>, longest, read_twice_backward<Vec>>::type;
};
template <int Vec, rows_seen Rows>
struct automatic_backward_list<Vec, Rows, backward_held::stored> {
    static constexpr bool in_part = Rows == rows_seen::part;
    using shorts = chosen_type<in_part, short_stored_backward_parts<Vec>, short_stored_backward_rows<Vec>>;
    using middle = chosen_type<Rows == rows_seen::whole, middle_stored_backward_rows<Vec>, middle_stored_backward_parts<Vec>>;
    using type = typename joined_lists<shortest_stored_backward_rows<Vec>, shorts, middle, long_stored_backward_rows<Vec>, read_twice_backward<Vec>>::type;
};

// What launch_auto_backward chooses from.
template <class Operands, class Choice = every_kernel, class Input = typename Operands::input_type>
using automatic_backward_kernels =
    typename chosen_from<Choice, typename automatic_backward_list<(pack_columns_of<Input> > 8 ? 8 : pack_columns_of<Input>),
                                                                  seen_as<typename Operands::seen_type>, backward_held_by<Operands>>::type>::type;

}  // namespace detail

#if SMX_HAS_HOST
// The kernel that launch_auto_backward runs for such rows of probabilities and gradients stored as Element under such a mask.
template <class Element, class Mask = no_mask, class Choice = every_kernel>
constexpr policy choose_backward_policy(row_shape shape, device_limits limits = {}) {
    using input = dense_input<Element>;
    using operands = backward_operands<input, input, fixed_scale, Mask, dense_output<Element>>;
    shape.element_bytes = int{sizeof(Element)};
    shape.compute_bytes = int{sizeof(compute_of<Element>)};
    return detail::policy_of_first(detail::automatic_backward_kernels<operands, Choice>(), shape, limits);
}
#endif

SMX_END
