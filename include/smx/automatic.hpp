// The kernels of launch_auto, and which of them runs a row of a given length.
#pragma once
#include "policy.hpp"

SMX_BEGIN

template <class... Kernels>
struct kernel_list {};

namespace detail {

// A kernel for rows that do not fill whole 16 bytes; others have better ones.
template <class Kernel>
struct uneven : Kernel {
    static SMX_HD constexpr bool can_run(row_shape shape, device_limits limits) {
        return shape.cols * shape.element_bytes % 16 != 0 && Kernel::can_run(shape, limits);
    }
};

template <class... Lists>
struct joined_lists;
template <class... Kernels>
struct joined_lists<kernel_list<Kernels...>> {
    using type = kernel_list<Kernels...>;
};
template <class... First, class... Second, class... Lists>
struct joined_lists<kernel_list<First...>, kernel_list<Second...>, Lists...> : joined_lists<kernel_list<First..., Second...>, Lists...> {};

// To 256 columns of 16-bit elements: lanes of one warp.
template <int Vec>
struct short_rows {
    using type = kernel_list<resident<warp_group<2>, Vec, 2>, resident<warp_group<4>, Vec, 2>, resident<warp_group<4>, Vec, 3>,
                             resident<warp_group<4>, Vec, 4>, resident<warp_group<8>, Vec, 3>, resident<warp_group<8>, Vec, 4>>;
};
template <int Vec>
struct middle_rows {
    using type = kernel_list<resident<warp_group<16>, Vec, 3>, resident<warp_group<16>, Vec, 4>, resident<warp_group<32>, Vec, 3, 64>,
                             resident<warp_group<32>, Vec, 4, 64>, resident<block_group<64>, Vec, 3>, resident<block_group<64>, Vec, 4>,
                             resident<block_group<96>, Vec, 4>, resident<block_group<128>, Vec, 4>>;
};
template <int Vec>
struct any_rows {
    using type = kernel_list<chunked_staged<block_group<512>, Vec, 4>, chunked_online<block_group<512>, Vec, 4>>;
};
template <>
struct any_rows<8> {  // H200, half: 40000 columns staged 0.61 of copy, 100000 columns read twice 0.64
    using type = kernel_list<chunked_online<block_group<512>, 8, 4>>;
};

// Uneven rows without a mask, on an H200: half 33, 50, 65, 100, 127 and 257 columns 0.99, 0.98, 1.00, 0.99, 0.99 and 0.96 of copy, where the
// next kernels reach 0.51, 0.68, 0.67, 0.91, 0.86 and 0.77; float 33, 65, 129 and 257 columns 0.99 to 1.00.
template <int Vec>
struct plain_uneven {
    using type = kernel_list<uneven<packed<thread_group, 1, 17, 64>>, uneven<packed<warp_group<2>, 1, 17, 64>>,
                             uneven<packed<warp_group<4>, 1, 17, 64>>, uneven<packed<warp_group<8>, 1, 17>>, uneven<packed<warp_group<16>, 1, 17>>>;
    using after_short = kernel_list<>;
};
template <>
struct plain_uneven<8> {
    using type = kernel_list<uneven<packed<thread_group, 2, 17, 64>>, uneven<packed<thread_group, 2, 25, 64>>, uneven<packed<warp_group<2>, 2, 17, 64>>,
                             uneven<packed<warp_group<2>, 2, 25, 64>>, uneven<packed<warp_group<4>, 8, 4>>>;
    using after_short = kernel_list<uneven<packed<warp_group<8>, 2, 17>>>;
};

// What a mask leaves of a row: all of it without a word; a part, known before it is read; or what it says when it is asked.
enum class rows_seen { whole, part, asked };
template <class Seen>
constexpr rows_seen seen_as = mask_tests<Seen> || mask_biases<Seen> ? rows_seen::asked : spans_row<Seen> ? rows_seen::whole : rows_seen::part;

// The kernels of launch_auto for elements that fill a 16-byte pack with Vec, shortest row first: each is the one that moved its longest rows
// fastest in sweeps on an H200 (bench/tune); bench/bars says what each reaches.
template <int Vec, rows_seen Rows>
struct automatic_list {
    using long_rows = kernel_list<resident<block_group<128>, Vec, 6>, resident<block_group<128>, Vec, 8>, resident<block_group<192>, Vec, 8>,
                                  resident<block_group<256>, Vec, 8>, resident<cluster_group<256, 2>, Vec, 5>, resident<cluster_group<256, 2>, Vec, 8>,
                                  resident<cluster_group<256, 4>, Vec, 5>, resident<cluster_group<256, 4>, Vec, 8>,
                                  resident<cluster_group<256, 8>, Vec, 8>, resident<cluster_group<256, 16>, Vec, 8>,
                                  resident<block_group<512>, Vec, 8>>;  // the last where there are no clusters
    using type = typename joined_lists<typename plain_uneven<Vec>::type, typename short_rows<Vec>::type, typename plain_uneven<Vec>::after_short,
                                       typename middle_rows<Vec>::type, long_rows, typename any_rows<Vec>::type>::type;
};
template <int Vec, class LongRows>
using masked_rows = typename joined_lists<typename short_rows<Vec>::type, typename middle_rows<Vec>::type, LongRows, typename any_rows<Vec>::type>::type;

// With a mask: 4 packs a lane and more lanes, since 8 leave no registers for what a mask asks. H200, half, 8192 columns: a bias 0.86 of copy
// (128 lanes, 8 packs: 0.61), causal 0.88 (0.74).
template <int Vec>
struct automatic_list<Vec, rows_seen::part> {
    using long_rows = kernel_list<resident<block_group<192>, Vec, 4>, resident<block_group<256>, Vec, 4>, resident<block_group<384>, Vec, 4>,
                                  resident<block_group<512>, Vec, 4>>;
    // Longer ones are read twice: what is hidden is jumped over by a whole block at a time. Causal, 131072 columns: 0.78 (by a cluster 0.51).
    using type = masked_rows<Vec, long_rows>;
};
template <int Vec>
struct automatic_list<Vec, rows_seen::asked> {
    // 131072 columns by a cluster: a bias 0.74 (read twice: 0.49), a byte mask 0.74 (0.51).
    using clusters = kernel_list<resident<cluster_group<256, 4>, Vec, 4>, resident<cluster_group<256, 8>, Vec, 4>, resident<cluster_group<256, 16>, Vec, 4>>;
    using long_rows = typename joined_lists<typename automatic_list<Vec, rows_seen::part>::long_rows, clusters>::type;
    using type = masked_rows<Vec, long_rows>;
};

// What launch_auto chooses from. No more than 8 columns a pack: 8 packs of more do not fit the registers.
template <class Input, class Seen>
using automatic_kernels = typename automatic_list<(pack_columns_of<Input> > 8 ? 8 : pack_columns_of<Input>), seen_as<Seen>>::type;

#if SMX_HAS_HOST
// Calls visit(kernel) with the first kernel of the list that can run such rows; gives what it gives.
template <class Visit, class Kernel, class... Rest>
constexpr auto with_first(kernel_list<Kernel, Rest...>, row_shape shape, device_limits limits, Visit const& visit) {
    if constexpr (sizeof...(Rest) > 0) {
        if (!Kernel::can_run(shape, limits)) return with_first(kernel_list<Rest...>(), shape, limits, visit);
    }
    return visit(Kernel());
}

template <class Input, class Seen>
constexpr policy chosen_policy(row_shape shape, device_limits limits) {
    return with_first(automatic_kernels<Input, Seen>(), shape, limits, [](auto kernel) { return decltype(kernel)::value; });
}
#endif

}  // namespace detail

#if SMX_HAS_HOST
// The kernel that launch_auto runs for such rows of Element under such a mask. It does not look at the number of rows: the same row gives the
// same bits in any batch whose rows lie alike (rows_touch).
template <class Element, class Mask = no_mask>
constexpr policy choose_policy(row_shape shape, device_limits limits = {}) {
    using seen = decltype(some<Mask>().bind(some<row_id>(), some<extents>()));
    shape.element_bytes = int{sizeof(Element)};
    shape.compute_bytes = int{sizeof(compute_of<Element>)};
    return detail::chosen_policy<dense_input<Element>, seen>(shape, limits);
}
#endif

SMX_END
