// The kernels of launch_auto: for each way that a row is seen, a list from the shortest rows to the longest.
#pragma once
#include "kernel_types.hpp"

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

// And one for those that do.
template <class Kernel>
struct even : Kernel {
    static SMX_HD constexpr bool can_run(row_shape shape, device_limits limits) {
        return shape.cols * shape.element_bytes % 16 == 0 && Kernel::can_run(shape, limits);
    }
};
template <class Kernel>
inline constexpr bool is_even = false;
template <class Kernel>
inline constexpr bool is_even<even<Kernel>> = true;

// A kernel with a second way, for rows that are whole packs (whole_rows.hpp): shorter, at the price of code that is twice as long. H200, half,
// 2048 columns under causal, lengths and bytes 0.97 of copy (0.92), a bias too 0.86 (0.79).
template <class Kernel>
struct with_whole_rows : Kernel {
    static_assert(Kernel::value.body == body_kind::resident || Kernel::value.body == body_kind::compact, "whole rows wait in registers: write resident or compact");
    using plain = with_whole_rows<typename Kernel::plain>;
    template <class Operands>
    static constexpr bool takes_whole_rows = has_whole_rows<Operands> && Kernel::value.vec * Operands::element_bytes <= 16;
};
// The same for masks that jump between their fetches: where nothing does, the compiler lets some loads wait for others (causal and bits 0.96 -> 0.93).
template <class Kernel>
struct with_whole_rows_behind_jumps : with_whole_rows<Kernel> {
    using plain = with_whole_rows_behind_jumps<typename Kernel::plain>;
    template <class Operands>
    static constexpr bool takes_whole_rows = with_whole_rows<Kernel>::template takes_whole_rows<Operands> && !fetches_without_jumps<typename Operands::seen_type>;
};

// A kernel for calls that do not fill the GPU: they end when their slowest lane does, so it has little to do. What takes time then is the way to
// a lane's first load and what it jumps over: 12 * 128 rows of 128 columns in a graph 1.28 us (without a way for whole rows 1.52), 32 rows of 32768
// columns 3.5 us (3.85).
template <class Kernel>
struct few : with_whole_rows<Kernel> {
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

template <class... Lists>
struct joined_lists;
template <class... Kernels>
struct joined_lists<kernel_list<Kernels...>> {
    using type = kernel_list<Kernels...>;
};
template <class... First, class... Second, class... Lists>
struct joined_lists<kernel_list<First...>, kernel_list<Second...>, Lists...> : joined_lists<kernel_list<First..., Second...>, Lists...> {};

// 32 rows of 4096 floats in a graph, 256 lanes 0.75 of a copy of that size (clusters of two blocks 0.68).
template <int Vec>
struct few_rows {
    template <class Shortest = resident<warp_group<16>, Vec, 1>>
    using list = kernel_list<few<Shortest>, few<resident<block_group<256>, Vec, 2>>, few<resident<block_group<256>, Vec, 4>>, few<fitted<resident<cluster_group<256, 16>, Vec, 4>>>>;
};
template <>
struct few_rows<8> {
    template <class Shortest = resident<warp_group<16>, 8, 1>>
    using list = kernel_list<few<Shortest>, few<resident<block_group<256>, 8, 2>>, few<fitted<resident<cluster_group<256, 16>, 8, 2>>>>;
};
// To 128 columns of 16-bit elements: some lanes of a warp. H200, 128 columns of half 0.99 (4 lanes, 4 packs: 0.97).
template <int Vec>
struct short_rows {
    template <class Longest = resident<warp_group<8>, Vec, 2>>
    using list = kernel_list<resident<warp_group<2>, Vec, 2>, resident<warp_group<4>, Vec, 2>, resident<warp_group<4>, Vec, 3>, Longest>;
    using type = list<>;
};
// To 3072. 160, 192, 200 and 256 columns 0.96, 1.01, 0.99 and 0.99, by blocks of 64 (200 and 256 of 128: 0.99, 0.97).
template <int Vec>
struct middle_rows {
    template <class FourPacks = resident<block_group<64>, Vec, 4>>
    using list = kernel_list<resident<warp_group<8>, Vec, 4, 64>, resident<warp_group<16>, Vec, 4>, resident<warp_group<32>, Vec, 3, 64>, resident<warp_group<32>, Vec, 4, 64>,
                             resident<block_group<64>, Vec, 3>, FourPacks, resident<block_group<96>, Vec, 4>>;
    using type = list<>;
};
// The same without a mask. Uneven 16-bit rows: 520, 700, 1025, 1100 and 1279 columns 0.87, 0.99, 0.94, 0.98 and 0.97 (in the registers of 32 lanes and
// of 64, 3 packs: 0.80, 0.99, 0.79, 0.84 and 0.94).
template <int Vec>
struct plain_middle : middle_rows<Vec> {};
template <>
struct plain_middle<8> {
    using type = kernel_list<resident<warp_group<8>, 8, 4, 64>, resident<warp_group<16>, 8, 4>, uneven<packed<warp_group<32>, 8, 3>>, resident<warp_group<32>, 8, 4, 64>, uneven<packed<warp_group<32>, 8, 6>>,
                             resident<block_group<64>, 8, 4>, resident<block_group<96>, 8, 4>>;
};
// Longer ones, in the registers of a block: halves are twice the work a byte, and want more packs a lane and fewer lanes. H200, 4096, 8192 and
// 16384 columns of half 0.99, 0.99 and 0.97 of copy (192 lanes, 3 packs; 256 and 512 lanes, 4 packs, as numbers: 0.97, 0.964), 2048, 4096 and 8192
// of float 0.99, 0.97 and 0.99 (128 lanes, 4 packs; 256, 4; 256, 8: 0.965).
template <int Vec>
struct block_rows {
    using type = kernel_list<resident<block_group<256>, Vec, 2>, resident<block_group<128>, Vec, 6>, resident<block_group<384>, Vec, 3>,
                             resident<block_group<384>, Vec, 4>, resident<block_group<512>, Vec, 4>>;
};
template <>
struct block_rows<8> {
    using type = kernel_list<resident<block_group<128>, 8, 6>, compact<block_group<256>, 8, 4>,
                             resident<block_group<192>, 8, 8>, compact<block_group<320>, 8, 7>>;
};
template <int Vec>
using read_twice = kernel_list<chunked_online<block_group<512>, Vec, 4>>;
template <int Vec>
struct any_rows {
    using type = typename joined_lists<kernel_list<chunked_staged<block_group<512>, Vec, 4>>, read_twice<Vec>>::type;
};
template <>
struct any_rows<8> {  // H200, half: 40000 columns staged 0.61 of copy, 100000 columns read twice 0.64
    using type = read_twice<8>;
};

// Short rows without a mask, and uneven ones, on an H200: half 7, 9, 12, 17, 24, 31, 50, 65, 100, 127, 129, 191 and 257 columns 0.98, 0.98, 0.97, 1.00,
// 0.98, 1.00, 0.98, 1.01, 1.00, 1.02, 0.98, 1.01 and 1.01 of copy, where kernels with a row a lane or that hold it themselves reach 0.32, 0.41, 0.57,
// 0.73, 0.92, 0.93, 0.68, 0.87, 0.95, 0.97, 0.82, 0.89 and 0.84; float 3, 7, 9, 17, 33, 65, 129 and 257 columns 0.97 to 1.01.
template <int Vec>
struct plain_uneven {
    using shortest = chosen_type<Vec == 4, kernel_list<uneven<packed<thread_group, 1, 6, 64, 4>>, even<packed<thread_group, 4, 4, 64, 2>>>, kernel_list<packed<thread_group, 1, 6, 64, 4>>>;
    using others = kernel_list<uneven<packed<thread_group, 1, 17, 64, 2>>, uneven<packed<warp_group<2>, 1, 17, 64>>, uneven<packed<warp_group<4>, 1, 17, 64>>,
                               uneven<packed<warp_group<8>, 1, 17>>, uneven<packed<warp_group<16>, 1, 17>>>;
    using type = typename joined_lists<shortest, others>::type;
    using after_short = kernel_list<>;
};
template <>
struct plain_uneven<8> {
    using type = kernel_list<packed<thread_group, 1, 7, 64, 8>, uneven<packed<thread_group, 2, 6, 64, 8>>, even<packed<thread_group, 8, 2, 64, 8>>, packed<thread_group, 2, 12, 64, 3>,
                             uneven<packed<thread_group, 2, 25, 64, 2>>, uneven<packed<warp_group<2>, 2, 17, 64>>, uneven<packed<warp_group<2>, 2, 25, 64>>,
                             uneven<packed<warp_group<4>, 8, 5>>, uneven<packed<warp_group<8>, 8, 3>>>;
    using after_short = kernel_list<uneven<packed<warp_group<8>, 8, 5>>>;
};

// What is seen of a row: all without a word, or with a dropout; a part, known before it is read; what a mask says when it is asked, once or otherwise.
enum class rows_seen { whole, drawn, part, asked_once, asked };
template <class Seen>
constexpr rows_seen seen_as = mask_tests<Seen> != mask_biases<Seen> && spans_row<Seen> ? rows_seen::asked_once
                              : mask_tests<Seen> || mask_biases<Seen>                  ? rows_seen::asked
                              : spans_row<Seen>                                        ? rows_seen::whole
                                                                                       : rows_seen::part;

// The kernels of launch_auto for elements that fill a 16-byte pack with Vec, shortest row first: each is the one that moved its longest rows
// fastest in sweeps on an H200 (bench/tune); bench/bars says what each reaches.
template <int Vec, rows_seen Rows>
struct automatic_list {
    // What is in flight decides: 130 to 200 KB an SM, in clusters that fill the 16 SMs of a GPC. Packs on their way to registers take room in the L1,
    // which has what shared memory leaves of 256 KB: 1048576 columns of half 0.93 of copy, 0.88 while two blocks needed a little more than 132 KB.
    // H200, half: 40000, 65536, 100000 and 131072 columns 0.97; 200000, 262144, 300000 and 524288 0.96 (registers alone: 0.93, 0.95, 0.84 and 0.90);
    // 800000, 1048576 and 1200000 0.88, 0.93 and 0.85. Float: 131072 columns 0.98, 200000, 262144, 300000, 400000, 524288 and 600000
    // 0.96, 0.96, 0.956, 0.92, 0.94 and 0.86.
    using first = fitted<compact<cluster_group<128, 16>, Vec, 8>>;
    using deep_ones = kernel_list<deep<cluster_group<256, 16>, Vec, 8, 13>, deep<cluster_group<512, 16>, Vec, 8, 13>>;
    using clusters = typename joined_lists<chosen_type<Vec == 8, kernel_list<first>, kernel_list<with_whole_rows<first>, fitted<compact<cluster_group<256, 16>, Vec, 8>>>>, deep_ones>::type;
    using without_clusters = kernel_list<compact<block_group<512>, Vec, 8>>;
    using short_ones = typename short_rows<Vec>::template list<with_whole_rows<resident<warp_group<8>, Vec, 2>>>;
    using type = typename joined_lists<typename few_rows<Vec>::template list<resident<warp_group<8>, Vec, 2>>, typename plain_uneven<Vec>::type, short_ones, typename plain_uneven<Vec>::after_short,
                                       typename plain_middle<Vec>::type, typename block_rows<Vec>::type, clusters, without_clusters, read_twice<Vec>>::type;
};
template <int Vec, class LongRows, class Lanes128 = resident<block_group<128>, Vec, 4>, class MiddleRows = typename middle_rows<Vec>::type>
using masked_rows = typename joined_lists<typename few_rows<Vec>::template list<>, typename short_rows<Vec>::type, MiddleRows, kernel_list<Lanes128>, LongRows,
                                          typename any_rows<Vec>::type>::type;
// 2048 columns of float, causal 0.94 (without a way for whole rows 0.935), bytes 0.945 (0.933).
template <int Vec>
using lanes_128 = chosen_type<Vec == 4, with_whole_rows<resident<block_group<128>, Vec, 4>>, resident<block_group<128>, Vec, 4>>;
// With a mask: 4 packs a lane and more lanes, since 8 leave no registers for what a mask asks. H200, half, 8192 columns: a bias 0.85 of copy
// (128 lanes, 8 packs: 0.61), causal 0.92 (0.74).
template <int Vec>
using four_packs = kernel_list<resident<block_group<192>, Vec, 4>, resident<block_group<256>, Vec, 4>, resident<block_group<384>, Vec, 4>,
                               resident<block_group<512>, Vec, 4>>;
template <int Vec>
struct automatic_list<Vec, rows_seen::part> {
    using type = masked_rows<Vec, four_packs<Vec>, lanes_128<Vec>>;
};
// Causal, 8192, 32768 and 131072 columns 0.92, 0.90 and 0.80; 12288 and 16384 0.93 (as numbers, 4 packs: 0.87, 0.77; 32768 read twice: 0.48).
template <>
struct automatic_list<8, rows_seen::part> {
    using long_rows = kernel_list<resident<block_group<192>, 8, 4>, compact<block_group<128>, 8, 8>, compact<block_group<192>, 8, 8>,
                                  compact<block_group<256>, 8, 8>, compact<block_group<512>, 8, 8>, fitted<compact<cluster_group<256, 16>, 8, 8>>>;
    using type = masked_rows<8, long_rows>;
};
template <int Vec>
struct automatic_list<Vec, rows_seen::asked> {
    // 131072 columns by a cluster: a bias 0.75 (read twice: 0.49), a byte mask 0.74 (0.51).
    using clusters = kernel_list<fitted<compact<cluster_group<256, 16>, Vec, 4>>>;
    using long_rows = typename joined_lists<four_packs<Vec>, clusters>::type;
    using type = masked_rows<Vec, long_rows, lanes_128<Vec>>;
};
template <>
struct automatic_list<8, rows_seen::asked> {
    using long_rows = typename joined_lists<four_packs<8>, kernel_list<fitted<compact<cluster_group<256, 16>, 8, 4>>>>::type;
    using type = masked_rows<8, long_rows, resident<block_group<128>, 8, 4>, middle_rows<8>::list<with_whole_rows_behind_jumps<resident<block_group<64>, 8, 4>>>>;
};
template <int Vec>
struct automatic_list<Vec, rows_seen::asked_once> {
    using type = masked_rows<Vec, typename automatic_list<Vec, rows_seen::asked>::long_rows>;
};
// 2048 columns, a byte mask, 256 lanes 0.95 of copy (128 lanes, 4 packs: 0.93).
template <>
struct automatic_list<4, rows_seen::asked_once> {
    using type = masked_rows<4, typename automatic_list<4, rows_seen::asked>::long_rows, with_whole_rows<resident<block_group<256>, 4, 2>>>;
};

// With a dropout: the more packs a lane, the less each draw costs. H200, half, over the time without: 128, 4096 and 16384 columns 1.00, 0.99 and 0.99
// (8 lanes, 2 packs; 128, 6; 384, 6: 1.18, 1.39 and 1.56), 65536 1.07.
template <int Vec>
struct automatic_list<Vec, rows_seen::drawn> {
    using short_rows = kernel_list<resident<warp_group<2>, Vec, 2>, resident<warp_group<4>, Vec, 2>, resident<warp_group<4>, Vec, 4, 64>>;
    using blocks = chosen_type<Vec == 8, kernel_list<resident<block_group<256>, Vec, 4>, resident<block_group<256>, Vec, 8>>, four_packs<Vec>>;
    using type = typename joined_lists<typename few_rows<Vec>::template list<>, short_rows, typename middle_rows<Vec>::type, kernel_list<resident<block_group<128>, Vec, 4>>, blocks,
                                       kernel_list<fitted<resident<cluster_group<128, 16>, Vec, 8>>>, typename any_rows<Vec>::type>::type;
};

}  // namespace detail

SMX_END
