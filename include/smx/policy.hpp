// Kernel types and the numbers they stand for.
#pragma once
#include "group.hpp"
#include "row/operands.hpp"

SMX_BEGIN

enum class body_kind { resident, compact, deep, packed, staged, online };

// Whether the lanes hold whole rows, as long as policy::columns() says.
SMX_HD constexpr bool holds_row(body_kind body) { return body != body_kind::staged && body != body_kind::online; }

// Whether scores wait as they are stored, where that is less.
SMX_HD constexpr bool keeps_stored(body_kind body) { return body == body_kind::compact || body == body_kind::deep; }

// The numbers that name a kernel.
struct policy {
    body_kind body;
    int lanes;       // that share a row
    int threads;     // a block
    int vec;         // columns a pack
    int packs;       // a lane (and chunk)
    int blocks = 1;     // that share a row, as a cluster
    int behind = 0;     // packs a lane that wait in shared memory
    int rows_each = 1;  // that the lanes take one after the other

    // Columns that the lanes have room for: the longest row, where the lanes hold rows, or a chunk.
    SMX_HD constexpr int columns() const { return lanes * vec * (packs + behind); }
    // The same kernel in clusters of so many blocks.
    SMX_HD constexpr policy with_blocks(int count) const { return {body, lanes / blocks * count, threads, vec, packs, count, behind, rows_each}; }
};

SMX_HD constexpr bool operator==(policy const& a, policy const& b) {
    return a.body == b.body && a.lanes == b.lanes && a.threads == b.threads && a.vec == b.vec && a.packs == b.packs && a.blocks == b.blocks &&
           a.behind == b.behind && a.rows_each == b.rows_each;
}
SMX_HD constexpr bool operator!=(policy const& a, policy const& b) { return !(a == b); }

// At most what a kernel's own variables take of shared memory, beside what it is launched with.
inline constexpr int64 static_shared_bytes = 2 * 1024;

// What of a device decides between kernels.
struct device_limits {
    int64 shared_bytes_per_block = 48 * 1024;  // with opt-in, where the device has it
    bool bulk_copies = false;                  // compute capability 9.0 and later
    int cluster_blocks = 1;                    // the most blocks of a cluster; 1: no clusters
    int multiprocessors = 0;                   // 0: not known, and every call is taken to fill them
};

// The most blocks of a cluster, from a device's major compute capability. 8 is what every device with clusters has.
SMX_HD constexpr int cluster_blocks_of(int major) { return major < 9 ? 1 : major <= 10 ? 16 : 8; }

// What of a call decides between kernels.
struct row_shape {
    int64 cols = 0;
    int element_bytes = 0;     // of the scores
    int compute_bytes = 4;
    bool rows_touch = true;    // x and y are packed, with elements of one size, in one phase of 16 bytes
    int64 rows = 0;            // 0: not asked; so many that they fill any GPU
    int held_bytes = 0;        // of a score that waits as it is stored, where it can; 0: as it is computed with
};

namespace detail {

template <class Group>
constexpr int usual_threads = 128;
template <int Threads>
constexpr int usual_threads<block_group<Threads>> = Threads;
template <int Threads, int Blocks>
constexpr int usual_threads<cluster_group<Threads, Blocks>> = Threads;

template <class Group>
constexpr int group_size = Group::size;
template <int Lanes>
constexpr int group_size<warp_group<Lanes>> = Lanes;
template <int Threads>
constexpr int group_size<block_group<Threads>> = Threads;
template <int Threads, int Blocks>
constexpr int group_size<cluster_group<Threads, Blocks>> = Threads;

template <class Group>
constexpr int group_blocks = 1;
template <int Threads, int Blocks>
constexpr int group_blocks<cluster_group<Threads, Blocks>> = Blocks;

// What a mask asks of a lane's registers, whether a dropout draws, and whether the pass is backward, and adds up too.
struct row_traits {
    bool tests, biases, spans_row, draws, differentiates, adds;
};
template <class Operands, class Seen = typename Operands::seen_type>
inline constexpr row_traits traits_of = {mask_tests<Seen>, mask_biases<Seen>, spans_row<Seen>, Operands::draws, is_backward<Operands>, (numbers_added<Operands> > 0)};

// An output that stores 16 bits or less of a probability.
template <class Output, class = void>
inline constexpr bool is_narrow = false;
template <class Output>
inline constexpr bool is_narrow<Output, always_void<typename Output::element>> = sizeof(typename Output::element) <= 2;
template <class Output, class Dropout, class Undropped>
inline constexpr bool is_narrow<dropped_output<Output, Dropout, Undropped>> = is_narrow<Output> && (is_narrow<Undropped> || same_type<Undropped, no_output>);

// What kernel types have in common.
template <class Group, int Vec, int Packs, int Threads, body_kind Body, int Behind = 0, int RowsEach = 1>
struct kernel_type {
    using group = Group;
    static constexpr int lanes_per_slice = group_size<Group>;
    static constexpr int threads = Threads;
    static constexpr int blocks = group_blocks<Group>;
    static constexpr int lanes = lanes_per_slice * blocks;
    static_assert(Threads % lanes_per_slice == 0 && Threads >= 1 && Threads <= 1024, "a block holds whole groups, and at most 1024 threads");
    static_assert(blocks > 1 || lanes <= 32 || Threads == lanes, "a block_group is the whole block: leave the threads out");
    static_assert(blocks == 1 || Threads == lanes_per_slice, "the threads of a cluster's blocks are its group's: leave them out");
    // Threads an SM that leave a lane the registers it needs without spills (ptxas 13.0, sm_90): other rows hide a row's latency. With a number,
    // the share of copy on an H200 (and what the next choice got); without, as many as compile without spills.
    static SMX_HD constexpr int threads_wanted(row_traits row, int compute_bytes, int held_bytes) {
        int const words = Vec * Packs * held_bytes / 4;
        if (row.adds) return summed_threads_wanted(row, words);
        if (row.differentiates && holds_row(Body)) return backward_threads_wanted(row, words, held_bytes <= compute_bytes);
        if (held_bytes < compute_bytes) return words <= 32 ? 1024 : words <= 40 ? 896 : 640;
        constexpr bool wide = blocks == 1 && lanes >= 64;  // the edges of a row take one slot a lane
        bool const asks = row.tests || row.biases;
        if (!holds_row(Body)) return 512;
        if (words > 40) return Threads <= 256 && !asks && row.spans_row ? 768 : 512;  // 16384 columns of half 0.98 (512: 0.85)
        if (words > 36) return !asks && row.spans_row ? 1024 : 512;
        if (compute_bytes > 4) return words > 32 ? 640 : 768;
        if (Body == body_kind::packed && lanes == 1 && Vec > 2) return 1152;
        if (words <= 16 && (wide || !row.biases)) return row.tests && (row.biases || !(wide || row.spans_row)) ? 1152 : 1280;
        if (row.tests && row.biases) return wide ? (row.spans_row ? 1152 : 1024) : words > 24 ? 640 : 768;
        if (row.biases) return wide ? (row.spans_row ? 1280 : 1152) : 1024;
        if (row.tests) return !wide ? 768 : 1152;  // 2048 columns of bfloat16 0.974 (768: 0.901); 512 of half 0.952 (1152: 0.827)
        if (Body == body_kind::packed) return 1152; // 255 columns of half 0.963 (1024: 0.941)
        if (words <= 24) return row.spans_row ? 1152 : 1024;
        if (wide) return row.spans_row || Threads % 64 == 0 ? 1280 : 1152;  // causal, 2048 columns of half 0.955
        return 1024;
    }
    // The same of a backward pass, whose rows wait twice: as they are stored, or as numbers.
    static SMX_HD constexpr int backward_threads_wanted(row_traits row, int words, bool stored) {
        constexpr bool wide = blocks == 1 && lanes >= 64;
        bool const asks = row.tests || row.biases, asks_twice = row.tests && row.biases;
        if (stored && words > 32) return asks ? 512 : 640;
        if (stored && words > 16) return asks_twice ? 640 : asks || !wide ? 896 : 1024;
        if (words > 32) return words <= 48 ? (asks ? 512 : 640) : asks ? 256 : 512;
        if (words <= 16) return wide ? (asks ? 1152 : 1280) : asks ? 896 : 1152;
        if (words <= 24) return asks ? 768 : 1024;
        if (wide) return asks_twice ? 896 : asks ? 1152 : 1280;
        return asks_twice ? 512 : asks ? 768 : lanes <= 2 ? 896 : 1024;
    }
    // And of one that adds up, whose sums are numbers. As many as compile without spills.
    static SMX_HD constexpr int summed_threads_wanted(row_traits row, int words) {
        constexpr bool wide = blocks == 1 && lanes >= 64;
        bool const asks = row.tests || row.biases;
        if (!holds_row(Body)) return 384;
        if (words > 72 && !wide) return 256;
        if (words > 48 || (words == 48 && !wide && (asks || lanes <= 2))) return 384;
        return words <= 12 || (words <= 24 && wide) ? 768 : wide && !asks ? 640 : 512;
    }
    static SMX_HD constexpr int blocks_per_sm(row_traits row, int compute_bytes, int held_bytes) {
        // Threads that an SM of any GPU since 8.0 takes, and 7.5; blocks that one of 8.0, 9.0 and later takes, and one of the others.
        constexpr int most_threads = SMX_ARCH == 750 ? 1024 : 1536;
        constexpr int most_blocks = SMX_ARCH == 750 || SMX_ARCH == 860 || SMX_ARCH == 870 ? 16 : 24;
        constexpr int registers = 64 * 1024;  // of an SM
        // Of a lane that draws while its row, or two, are on their way. Gradients of 2048 columns of half 1.00 of the time without (4: 1.27).
        int const of_draws = row.differentiates ? 12 : lanes < 64 && Vec * Packs * held_bytes <= 64 ? 8 : 0;
        int const undrawn = threads_wanted(row, compute_bytes, held_bytes);
        int const wanted = row.draws ? registers / (registers / undrawn + of_draws) : undrawn;
        int const fit = (wanted < most_threads ? wanted : most_threads) / Threads;
        return fit < 1 ? 1 : fit > most_blocks ? most_blocks : fit;
    }
    static constexpr policy value{Body, lanes, Threads, Vec, Packs, blocks, Behind, RowsEach};

    // Of a row in few registers what is hidden is computed too: jumps cost as much, and keep the compiler from overlapping packs.
    static constexpr hidden_packs parts_as = holds_row(Body) && Vec * Packs <= 32 ? hidden_packs::computed : hidden_packs::skipped;
    // Stored: what the registers hold of a score, Compute or what it is stored as.
    template <class Compute, class Seen, hidden_packs Parts = parts_as, class Stored = Compute, exponent Exponent = exponent::of_difference, bool Logarithms = false,
              bool AsStored = !same_type<Stored, Compute>>
    using tile_type = tile<lanes_per_slice, Vec, Packs, Compute,
                           Body == body_kind::online || Logarithms ? kept::scores : AsStored ? kept::stored : kept::weights,
                           spans_row<Seen> ? hidden_packs::all_or_none : Parts, mask_biases<Seen> ? product::until_biased : product::until_weighed, Stored,
                           row_ends::single, Exponent, Behind>;
    template <class Operands>
    static constexpr bool logarithms_of = wants_logarithms<typename Operands::output_type>;
    template <class Operands>
    using held_of = chosen_type<keeps_stored(Body), typename Operands::stored_type, typename Operands::compute>;
    // What waits behind the registers, of rows that nothing is added to, is read once for the sum and once for the store.
    template <class Operands>
    static constexpr bool as_stored = sizeof(held_of<Operands>) < sizeof(typename Operands::compute) || (Behind > 0 && Operands::waits_as_stored);
    // Masks that test, of rows seen in part, are bound by their instructions. A chunk that waits keeps its maximum, and no more.
    template <class Operands, class Seen = typename Operands::seen_type>
    static constexpr exponent exponent_of =
        SMX_DEVICE_CODE && holds_row(Body) && same_type<typename Operands::compute, float> && mask_tests<Seen> && !spans_row<Seen> && is_narrow<typename Operands::output_type> && !logarithms_of<Operands>
            ? exponent::of_product
            : exponent::of_difference;
    template <class Operands, class Compute = typename Operands::compute, class Seen = typename Operands::seen_type>
    using tile_of = chosen_type<is_backward<Operands>, tile<lanes_per_slice, Vec, Packs, Compute, kept::terms, spans_row<Seen> ? hidden_packs::all_or_none : parts_as, product::until_weighed, held_of<Operands>>,
                                tile_type<Compute, Seen, parts_as, held_of<Operands>, exponent_of<Operands>, logarithms_of<Operands>, as_stored<Operands>>>;
    template <class Operands>  // of a column, in the registers
    static constexpr int held_bytes =
        int{sizeof(held_of<Operands>)} * numbers_held<Operands> + int{sizeof(typename Operands::compute)} * numbers_added<Operands>;

    static constexpr int rows_per_block = Threads / lanes_per_slice * RowsEach;  // or per cluster
    static SMX_HD constexpr int64 shared_bytes(row_shape) { return 0; }
    static SMX_HD constexpr bool has_blocks(device_limits limits) { return blocks <= limits.cluster_blocks; }
    // What launch_auto's list is sorted by: the longest row; whether a device may lack what the kernel needs; whether few rows alone take it.
    static constexpr int64 longest_row = holds_row(Body) ? value.columns() : most_columns;
    static constexpr bool runs_anywhere = blocks == 1 && Behind == 0 && Body != body_kind::packed && Body != body_kind::staged;
    static constexpr bool is_for_few = false;
    // Whether the kernel has a way of its own for rows that are whole packs.
    template <class Operands>
    static constexpr bool takes_whole_rows = false;
    // Blocks that share a row of the shape.
    static SMX_HD constexpr int blocks_for(row_shape) { return blocks; }
};

}  // namespace detail

SMX_END
