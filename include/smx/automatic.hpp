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

// A kernel for calls that do not fill the GPU: they end when their slowest lane does, so it has little to do.
template <class Kernel>
struct few : Kernel {
    static constexpr bool is_for_few = true;
    static SMX_HD constexpr bool can_run(row_shape shape, device_limits limits) {
        constexpr int64 bytes_that_fill = 32 * 1024;  // a multiprocessor
        int64 const row_bytes = shape.cols * shape.element_bytes;
        return shape.rows > 0 && row_bytes > 0 && shape.rows <= limits.multiprocessors * bytes_that_fill / row_bytes && Kernel::can_run(shape, limits);
    }
};

// A kernel for clusters, in clusters of as few blocks as hold the row.
template <class Kernel>
struct fitted : Kernel {
    static SMX_HD constexpr int blocks_for(row_shape shape) {
        int64 const of_block = Kernel::value.columns() / Kernel::blocks;
        int64 const blocks = (shape.cols + of_block - 1) / of_block;
        return blocks < 2 ? 2 : blocks > Kernel::blocks ? Kernel::blocks : static_cast<int>(blocks);
    }
    static SMX_HD constexpr bool can_run(row_shape shape, device_limits limits) {
        return blocks_for(shape) <= limits.cluster_blocks && shape.cols <= Kernel::value.columns();
    }
};

// The same, where clusters of a Roomier kernel would compute more packs: those that no column is in are computed too.
template <class Kernel, class Roomier>
struct snug : fitted<Kernel> {
    static SMX_HD constexpr bool can_run(row_shape shape, device_limits limits) {
        int const packs = fitted<Kernel>::blocks_for(shape) * Kernel::value.packs, roomier = fitted<Roomier>::blocks_for(shape) * Roomier::value.packs;
        return packs < roomier && fitted<Kernel>::can_run(shape, limits);
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

template <int Vec>
using few_rows = kernel_list<few<resident<warp_group<16>, Vec, 1>>, few<resident<block_group<256>, Vec, 2>>,
                             few<fitted<resident<cluster_group<256, 16>, Vec, 2>>>>;
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
    // H200, half: 20001, 50000 and 100000 columns 0.98, 0.98 and 0.96 by 7 packs a lane (by 8: 0.95, 0.95, 0.92; in blocks of 256: 0.81, 0.86, 0.86).
    using in_clusters = resident<cluster_group<128, 16>, Vec, 8>;
    using long_rows = kernel_list<resident<block_group<128>, Vec, 6>, resident<block_group<128>, Vec, 8>, resident<block_group<192>, Vec, 8>,
                                  resident<block_group<256>, Vec, 8>, snug<resident<cluster_group<128, 16>, Vec, 7>, in_clusters>, fitted<in_clusters>,
                                  fitted<resident<cluster_group<256, 16>, Vec, 8>>,
                                  resident<block_group<512>, Vec, 8>>;  // the last where there are no clusters
    using type = typename joined_lists<few_rows<Vec>, typename plain_uneven<Vec>::type, typename short_rows<Vec>::type, typename plain_uneven<Vec>::after_short,
                                       typename middle_rows<Vec>::type, long_rows, typename any_rows<Vec>::type>::type;
};
template <int Vec, class LongRows>
using masked_rows = typename joined_lists<few_rows<Vec>, typename short_rows<Vec>::type, typename middle_rows<Vec>::type, LongRows, typename any_rows<Vec>::type>::type;

// With a mask: 4 packs a lane and more lanes, since 8 leave no registers for what a mask asks. H200, half, 8192 columns: a bias 0.85 of copy
// (128 lanes, 8 packs: 0.61), causal 0.92 (0.74).
template <int Vec>
struct automatic_list<Vec, rows_seen::part> {
    using long_rows = kernel_list<resident<block_group<192>, Vec, 4>, resident<block_group<256>, Vec, 4>, resident<block_group<384>, Vec, 4>,
                                  resident<block_group<512>, Vec, 4>>;
    // Longer ones are read twice: what is hidden is jumped over by a whole block at a time. Causal, 131072 columns: 0.78 (by a cluster 0.51).
    using type = masked_rows<Vec, long_rows>;
};
template <int Vec>
struct automatic_list<Vec, rows_seen::asked> {
    // 131072 columns by a cluster: a bias 0.76 (read twice: 0.49), a byte mask 0.62 (0.51).
    using clusters = kernel_list<fitted<resident<cluster_group<256, 16>, Vec, 4>>>;
    using long_rows = typename joined_lists<typename automatic_list<Vec, rows_seen::part>::long_rows, clusters>::type;
    using type = masked_rows<Vec, long_rows>;
};

// The kernels of a list that a Choice leaves: rows of up to Below columns never reach those that follow, nor few rows of up to BelowFew.
template <class Choice, class List, class Kept = kernel_list<>, int64 Below = -1, int64 BelowFew = -1>
struct chosen_from {
    using type = Kept;
};
template <class Choice, class Kernel, class... Rest, class... Kept, int64 Below, int64 BelowFew>
struct chosen_from<Choice, kernel_list<Kernel, Rest...>, kernel_list<Kept...>, Below, BelowFew> {
    static constexpr bool is_few = Kernel::is_for_few;
    static constexpr int64 longest = Kernel::longest_row;
    static constexpr int64 below = is_few && BelowFew > Below ? BelowFew : Below;
    static constexpr bool is_reached = longest > below && longest >= Choice::from && below < Choice::to && (Choice::looks_at_rows || !is_few);
    static constexpr int64 next = Kernel::runs_anywhere && longest > below ? longest : below;
    using kept = chosen_type<is_reached, kernel_list<Kept..., Kernel>, kernel_list<Kept...>>;
    using type = typename chosen_from<Choice, kernel_list<Rest...>, kept, is_few ? Below : next, is_few ? next : BelowFew>::type;
};

}  // namespace detail

// Whether a call of few rows may take a kernel with more lanes a row.
enum class row_count { decides, ignored };

// What launch_auto may choose from, at compile time: kernels for rows of From to To columns.
template <int64 From, int64 To, row_count Rows>
struct kernel_choice {
    static_assert(From >= 0 && From <= To, "a range of columns: write for_columns<1, 4096>");
    static constexpr int64 from = From, to = To;
    static constexpr bool looks_at_rows = Rows == row_count::decides;
};
using every_kernel = kernel_choice<0, most_columns, row_count::decides>;
// Fewer kernels to compile, where the engine knows its rows.
template <int64 From, int64 To>
using for_columns = kernel_choice<From, To, row_count::decides>;
// The same row gives the same bits in any batch whose rows lie alike (rows_touch).
template <int64 From = 0, int64 To = most_columns>
using batch_invariant = kernel_choice<From, To, row_count::ignored>;

namespace detail {

// What launch_auto chooses from. No more than 8 columns a pack: 8 packs of more do not fit the registers.
template <class Input, class Seen, class Choice = every_kernel>
using automatic_kernels =
    typename chosen_from<Choice, typename automatic_list<(pack_columns_of<Input> > 8 ? 8 : pack_columns_of<Input>), seen_as<Seen>>::type>::type;

#if SMX_HAS_HOST
// Calls visit(kernel) with the first kernel of the list that can run such rows; gives what it gives.
template <class Visit, class Kernel, class... Rest>
constexpr auto with_first(kernel_list<Kernel, Rest...>, row_shape shape, device_limits limits, Visit const& visit) {
    if constexpr (sizeof...(Rest) > 0) {
        if (!Kernel::can_run(shape, limits)) return with_first(kernel_list<Rest...>(), shape, limits, visit);
    }
    return visit(Kernel());
}

template <class Input, class Seen, class Choice>
constexpr policy chosen_policy(row_shape shape, device_limits limits) {
    return with_first(automatic_kernels<Input, Seen, Choice>(), shape, limits, [&](auto kernel) { return decltype(kernel)::value.with_blocks(decltype(kernel)::blocks_for(shape)); });
}
#endif

}  // namespace detail

#if SMX_HAS_HOST
// The kernel that launch_auto runs for such rows of Element under such a mask. Without a number of rows in `shape` it is that of many rows.
template <class Element, class Mask = no_mask, class Choice = every_kernel>
constexpr policy choose_policy(row_shape shape, device_limits limits = {}) {
    using seen = decltype(some<Mask>().bind(some<row_id>(), some<extents>()));
    shape.element_bytes = int{sizeof(Element)};
    shape.compute_bytes = int{sizeof(compute_of<Element>)};
    return detail::chosen_policy<dense_input<Element>, seen, Choice>(shape, limits);
}
#endif

SMX_END
