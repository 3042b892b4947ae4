// Mover: several whole rows that touch in memory pass through shared memory as one stretch; the algorithm runs on them there.
#pragma once
#include "operands.hpp"

SMX_BEGIN

// Rows [first, first + count) of a call, side by side in `memory`, which lies in the same phase of 16 bytes as the tensors they came from.
template <class Element>
struct stretch_input {
    Element const* memory;
    int64 first;

    using compute = compute_of<Element>;
    using row = memory_input_row<Element, detail::traffic::cached>;

    SMX_HD row bind(row_id id) const { return {memory + static_cast<int>(id.index - first) * id.cols}; }
};

template <class Element>
struct stretch_output {
    Element* memory;
    int64 first;

    // Packs of probabilities lie where packs of scores lay, so they are aligned like them.
    struct row {
        Element* start;

        template <int Width, class Compute>
        SMX_HD void store(int col, pack<Compute, Width> const& values) const {
            write_aligned<detail::traffic::cached>(start + col, narrow<Element>(values));
        }
        SMX_HD row from(int col) const { return {start + col}; }
    };

    SMX_HD row bind(row_id id) const { return {memory + static_cast<int>(id.index - first) * id.cols}; }
};

// Which elements of a stretch move by bulk copies, which take whole 16 bytes of Per16 elements; the few others are moved by hand.
template <int Per16>
struct stretch_moves {
    int lead;      // elements from the last multiple of 16 bytes to the first element
    int elements;  // of the stretch

    // What comes in, in elements from the first: what other rows have of the same 16 bytes too, as far as the tensor reaches. By hand: what is
    // before it, and after it.
    // Requires  the stretch begins `start` elements into a tensor of `total`
    SMX_HD interval in(int64 start, int64 total) const {
        int const begin = start >= lead ? -lead : Per16 - lead;
        int const end = start + above(elements) <= total ? above(elements) : below(elements);
        if (end <= begin) return {0, 0};
        return {begin, end};
    }
    // What goes out: nothing of other rows. Never empty between two elements: by hand go those before `begin` and from `end` on.
    SMX_HD interval out() const {
        int const begin = above(0) < elements ? above(0) : elements;
        int const end = below(elements);
        return {begin, end > begin ? end : begin};
    }

private:
    // The next place of a whole 16 bytes, at or above an element, and at or below.
    SMX_HD int above(int element) const { return (lead + element + Per16 - 1) / Per16 * Per16 - lead; }
    SMX_HD int below(int element) const { return (lead + element) / Per16 * Per16 - lead; }
};

// Names the tile, the threads and the rows a group of run_packed (row/bulk.cuh), which a kernel type calls without its header.
template <class Tile, int Threads, int RowsEach>
struct block_of {};

// What of a call decides whether its rows can move as stretches.
namespace detail {

template <class Input, class Output>
inline constexpr bool can_touch = false;
template <class Source, class Target>
inline constexpr bool can_touch<dense_input<Source>, dense_output<Target, hidden::zeros>> = sizeof(Source) == sizeof(Target);

}  // namespace detail

// Row `first + group` of a stretch, by one group. Where the stretch has none of that number, lanes that reduce with others take a row of no
// columns: the groups of a warp stay together. The probabilities take the place of the scores.
// Requires  memory holds the scores of rows [first, first + count), count > 0, visible to all lanes
// Callers   all lanes of g
template <class Tile, class Group, class Operands, class Source, class Target>
SMX_HD void run_stretch(Group& g, Operands const& o, Source const* scores, Target* probabilities, int64 first, int count, int group) {
    bool const is_row = group < count;
    if (Group::size == 1 && !is_row) return;
    row_id row = o.row(first + (is_row ? group : 0));
    if (!is_row) row.cols = 0;
    auto const stats = smx::softmax_row<Tile>(g, stretch_input<Source>{scores, first}, o.factor.template value<typename Tile::compute>(row), o.masks,
                                         stretch_output<Target>{probabilities, first}, row, o.shape, o.when_empty);
    if (is_row && detail::is_first_lane(g)) o.row_output.store(row, stats);
}

SMX_END
