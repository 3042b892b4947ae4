// Mover: several whole rows that touch in memory pass through shared memory as one stretch; the algorithm runs on them there.
#pragma once
#include "operands.hpp"

SMX_BEGIN

// Rows [first, first + count) of a call, side by side in `memory`, which lies in the same phase of 16 bytes as the tensors they came from.
template <class T>
struct stretch_input {
    T const* memory;
    int64 first;

    using compute = compute_of<T>;
    using row = memory_input_row<T, detail::traffic::shared>;

    SMX_HD row bind(row_id id) const { return {memory + static_cast<int>(id.index - first) * id.cols}; }
};

template <class T>
struct stretch_output {
    T* memory;
    int64 first;

    // Packs of probabilities lie where packs of scores lay, so they are aligned like them.
    struct row {
        T* start;

        template <int V, class Compute>
        SMX_HD void store(int col, pack<Compute, V> const& values) const {
            write_aligned<detail::traffic::shared>(start + col, narrow<T>(values));
        }
    };

    SMX_HD row bind(row_id id) const { return {memory + static_cast<int>(id.index - first) * id.cols}; }
};

// Names the tile and the threads of run_packed (row/bulk.cuh), which a kernel type calls without its header.
template <class Tile, int Threads>
struct block_of {};

// What of a call decides whether its rows can move as stretches.
namespace detail {

template <class Input, class Output>
inline constexpr bool can_touch = false;
template <class X, class Y>
inline constexpr bool can_touch<dense_input<X>, dense_output<Y, hidden::zeros>> = sizeof(X) == sizeof(Y);

template <class Input, class Output>
bool rows_touch(Input const&, Output const&, extents) {
    return false;
}
inline bool is_packed(strides step, extents shape) {
    strides const packed = packed_strides(shape);
    return (shape.batch == 1 || step.batch == packed.batch) && (shape.heads == 1 || step.head == packed.head) &&
           (shape.queries == 1 || step.query == packed.query);
}
template <class X, class Y>
bool rows_touch(dense_input<X> const& x, dense_output<Y, hidden::zeros> const& y, extents shape) {
    return can_touch<dense_input<X>, dense_output<Y, hidden::zeros>> && (reinterpret_cast<uint64>(x.data) - reinterpret_cast<uint64>(y.data)) % 16 == 0 &&
           is_packed(x.step, shape) && is_packed(y.step, shape);
}

// Every row of x starts at a multiple of 16 bytes.
template <class Input>
bool rows_aligned(Input const&) {
    return false;
}
template <class X>
bool rows_aligned(dense_input<X> const& x) {
    int64 const bytes = sizeof(X);
    return (reinterpret_cast<uint64>(x.data) % 16 == 0) && x.step.query * bytes % 16 == 0 && x.step.head * bytes % 16 == 0 &&
           x.step.batch * bytes % 16 == 0;
}

}  // namespace detail

// Row `first + group` of a stretch, by one group. The probabilities take the place of the scores.
// Requires  memory holds the scores of rows [first, first + count), visible to all lanes
// Callers   all lanes of g
template <class Tile, class Group, class Operands, class X, class Y>
SMX_HD void run_stretch(Group& g, Operands const& o, X const* scores, Y* probabilities, int64 first, int count, int group) {
    if (group >= count) return;
    row_id const row = o.rows[first + group];
    auto const stats = softmax_row<Tile>(g, stretch_input<X>{scores, first}, o.factor.template value<typename Tile::compute>(row), o.masks,
                                         stretch_output<Y>{probabilities, first}, row, o.shape, o.when_empty);
    if (g.rank() == 0) o.row_output.store(row, stats);
}

SMX_END
