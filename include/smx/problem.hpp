// Putting a call together on the host, and checking every argument of it before anything runs.
#pragma once
#include "mask/bias.hpp"
#include "mask/causal.hpp"
#include "mask/lengths.hpp"
#include "mask/predicate.hpp"
#include "mask/tensor.hpp"
#include "row/operands.hpp"
#include "status.hpp"

SMX_BEGIN

namespace detail {
// No tensor of scores or probabilities has key stride 0, so the constant cannot be mistaken for strides.
constexpr bool is_contiguous(strides step) { return step.batch == 0 && step.head == 0 && step.query == 0 && step.key == 0; }
}  // namespace detail

// An input together with the shape of the call.
template <class Input>
struct shaped_input {
    Input input;
    extents shape;
};

// Shape     x: `shape`, `step` elements apart (any outer strides, zero and negative too), key stride 1; packed when left out
template <class T>
shaped_input<dense_input<T>> scores(T const* x, extents shape, strides step = contiguous) {
    return {{x, detail::is_contiguous(step) ? packed_strides(shape) : step}, shape};
}

// Scores that your own input reads.
template <class Input>
shaped_input<Input> scores_from(Input const& input, extents shape) {
    return {input, shape};
}

// Shape     y: the shape of the scores, its own strides; packed when left out. y == x is allowed: same pointer, element size and strides.
template <hidden Hidden = hidden::zeros, class T>
dense_output<T, Hidden> probabilities(T* y, strides step = contiguous) {
    return {y, step};
}

namespace detail {

constexpr status wrong(errc code, char const* argument, char const* requirement, int64 actual) {
    return {code, argument, requirement, actual, 0};
}

inline int64 address_of(void const* pointer) { return static_cast<int64>(reinterpret_cast<uint64>(pointer)); }

template <class T>
status check_pointer(T const* pointer, char const* argument) {
    if (pointer == nullptr) return wrong(errc::null_pointer, argument, "a pointer to its elements", 0);
    if (!is_aligned(pointer, int{sizeof(T)})) return wrong(errc::misaligned, argument, "aligned to its element", address_of(pointer));
    return {};
}

// Distance in bytes from the first element of a tensor to its lowest and past its highest one; false when that leaves 64 bits.
struct byte_range {
    int64 low = 0, high = 0;
};
inline bool reach(extents shape, strides step, int64 element_bytes, byte_range& range) {
    int64 const counts[] = {shape.batch, shape.heads, shape.queries, shape.keys};
    int64 const steps[] = {step.batch, step.head, step.query, step.key};
    for (int axis = 0; axis < 4; ++axis) {
        int64 distance = 0;
        if (__builtin_mul_overflow(counts[axis] - 1, steps[axis], &distance) || __builtin_mul_overflow(distance, element_bytes, &distance))
            return false;
        int64& side = distance < 0 ? range.low : range.high;
        if (__builtin_add_overflow(side, distance, &side)) return false;
    }
    return !__builtin_add_overflow(range.high, element_bytes, &range.high);
}

inline status check_shape(extents shape) {
    if (shape.batch < 0) return wrong(errc::bad_shape, "batch", "0 or more", shape.batch);
    if (shape.heads < 0) return wrong(errc::bad_shape, "heads", "0 or more", shape.heads);
    if (shape.queries < 0) return wrong(errc::bad_shape, "queries", "0 or more", shape.queries);
    if (shape.keys < 0) return wrong(errc::bad_shape, "keys", "0 or more", shape.keys);
    if (shape.keys > most_columns) return wrong(errc::too_large, "keys", "at most 2^31 - 2^16", shape.keys);
    int64 rows = 0;
    if (__builtin_mul_overflow(shape.batch, shape.heads, &rows) || __builtin_mul_overflow(rows, shape.queries, &rows) || rows > most_rows)
        return wrong(errc::too_large, "batch * heads * queries", "at most 2^62 rows", shape.batch);
    return {};
}

// Nothing would be written: no rows, or rows without columns and nobody asking for their statistics.
template <class Input, class Factor, class Mask, class Output, class RowOutput>
bool is_done(operands<Input, Factor, Mask, Output, RowOutput> const& o) {
    return o.rows.count() == 0 || (o.shape.keys == 0 && same_type<RowOutput, no_row_output>);
}

// Checks of the parts of a call. A type that is not listed is the user's own, and checks itself or not at all.
template <class Part>
status check_part(Part const&, extents) {
    return {};
}

template <class T>
status check_part(dense_input<T> const& x, extents shape) {
    if (status const s = check_pointer(x.data, "x"); !s) return s;
    if (x.step.key != 1 && shape.keys > 1) return wrong(errc::bad_stride, "x key stride", "1", x.step.key);
    byte_range range;
    if (!reach(shape, x.step, sizeof(T), range)) return wrong(errc::bad_stride, "x strides", "within 64-bit addresses", x.step.batch);
    return {};
}

// Rows of y may not share elements: ordered by stride, each axis steps over all of the ones before it.
template <class T, hidden Hidden>
status check_part(dense_output<T, Hidden> const& y, extents shape) {
    if (status const s = check_pointer(y.data, "y"); !s) return s;
    if (y.step.key != 1 && shape.keys > 1) return wrong(errc::bad_stride, "y key stride", "1", y.step.key);
    byte_range range;
    if (!reach(shape, y.step, sizeof(T), range)) return wrong(errc::bad_stride, "y strides", "within 64-bit addresses", y.step.batch);
    struct axis {
        int64 count, step;
    } axes[3] = {{shape.batch, y.step.batch}, {shape.heads, y.step.head}, {shape.queries, y.step.query}};
    for (axis& a : axes) a.step = a.step < 0 ? -a.step : a.step;
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2 - i; ++j) {
            if (axes[j].step <= axes[j + 1].step) continue;
            axis const larger = axes[j];
            axes[j] = axes[j + 1];
            axes[j + 1] = larger;
        }
    }
    int64 taken = shape.keys;
    for (axis const& a : axes) {
        if (a.count <= 1) continue;
        if (a.step < taken) return wrong(errc::bad_stride, "y strides", "nested, so that no two rows share an element", a.step);
        taken += (a.count - 1) * a.step;
    }
    return {};
}

template <class T>
status check_part(device_scale<T> const& factor, extents) {
    return check_pointer(factor.data, "scale");
}
template <class T>
status check_part(head_scale<T> const& factor, extents) {
    return check_pointer(factor.data, "scale");
}

template <class Index>
status check_part(key_lengths<Index> const& mask, extents) {
    return check_pointer(mask.lengths, "lengths");
}

template <class T>
status check_mask_memory(T const* data, strides step, extents shape, char const* argument, char const* key_stride) {
    if (status const s = check_pointer(data, argument); !s) return s;
    if (step.key != 0 && step.key != 1) return wrong(errc::bad_stride, key_stride, "0 or 1", step.key);
    byte_range range;
    if (!reach(shape, step, sizeof(T), range)) return wrong(errc::bad_stride, argument, "within 64-bit addresses", step.batch);
    return {};
}
template <class Flag, nonzero Nonzero>
status check_part(flag_tensor<Flag, Nonzero> const& mask, extents shape) {
    return check_mask_memory(mask.data, mask.step, shape, "mask", "mask key stride");
}
template <class T>
status check_part(bias_tensor<T> const& mask, extents shape) {
    return check_mask_memory(mask.data, mask.step, shape, "bias", "bias key stride");
}

template <class First, class Second>
status check_part(both_mask<First, Second> const& mask, extents shape);
template <class First, class Second>
status check_part(either_mask<First, Second> const& mask, extents shape);

template <class First, class Second>
status check_part(both_mask<First, Second> const& mask, extents shape) {
    status const s = check_part(mask.first, shape);
    return s ? check_part(mask.second, shape) : s;
}
template <class First, class Second>
status check_part(either_mask<First, Second> const& mask, extents shape) {
    status const s = check_part(mask.first, shape);
    return s ? check_part(mask.second, shape) : s;
}

// x and y: the same elements, or none in common.
template <class Input, class Output>
status check_overlap(Input const&, Output const&, extents) {
    return {};
}
inline bool same_strides(strides a, strides b) { return a.batch == b.batch && a.head == b.head && a.query == b.query; }

// Views of one buffer that lie beside each other: rows of y fall into the gaps between rows of x.
inline bool interleaved(strides step, int64 apart, extents shape) {
    int64 const pitch = step.query < 0 ? -step.query : step.query;
    if (pitch < 2 * shape.keys || step.batch % pitch != 0 || step.head % pitch != 0) return false;
    int64 const offset = (apart % pitch + pitch) % pitch;
    return offset >= shape.keys && pitch - offset >= shape.keys;
}
template <class X, class Y, hidden Hidden>
status check_overlap(dense_input<X> const& x, dense_output<Y, Hidden> const& y, extents shape) {
    byte_range from, to;
    reach(shape, x.step, sizeof(X), from);
    reach(shape, y.step, sizeof(Y), to);
    int64 const apart = address_of(y.data) - address_of(x.data);
    if (apart + to.low >= from.high || apart + to.high <= from.low) return {};
    bool const alike = sizeof(X) == sizeof(Y) && same_strides(x.step, y.step);
    if (alike && apart == 0) return {};
    if (alike && apart % int64{sizeof(X)} == 0 && interleaved(x.step, apart / int64{sizeof(X)}, shape)) return {};
    return wrong(errc::overlap, "y", "x itself (same pointer, element size and strides) or apart from it; distance in bytes", apart);
}

template <class Input>
void complete(Input&, extents) {}
template <class T, hidden Hidden>
void complete(dense_output<T, Hidden>& y, extents shape) {
    if (is_contiguous(y.step)) y.step = packed_strides(shape);
}

// What may follow the output, in any order: an empty_row, a row output.
template <class RowOutput>
struct extras_of {
    empty_row when_empty;
    RowOutput row_output;
};

// An empty_row says what empty rows become; anything else is the row output.
inline extras_of<no_row_output> collect() { return {empty_row::zeros, {}}; }
template <class First, class... Rest>
auto collect(First const& first, Rest const&... rest) {
    auto all = detail::collect(rest...);
    if constexpr (same_type<First, empty_row>) {
        all.when_empty = first;
        return all;
    } else {
        static_assert(same_type<decltype(all.row_output), no_row_output>, "a call has one row output");
        return extras_of<First>{all.when_empty, first};
    }
}

template <class T>
status check_part(log_sum_exp<T> const& row_output, extents) {
    return check_pointer(row_output.data, "log_sum_exp");
}

}  // namespace detail

// A call by value: what every body and kernel is given.
template <class Input, class Factor, class Mask, class Output, class... Extras>
auto make_operands(shaped_input<Input> const& x, Factor const& factor, Mask const& masks, Output const& given, Extras const&... extras) {
    // By reference: GCC 12 takes what an aggregate passed by value points to for unwritten, where that is copied into the result (PR: ipa-modref).
    Output output = given;
    auto const more = detail::collect(extras...);
    detail::complete(output, x.shape);
    using row_output = decltype(more.row_output);
    // Shapes that check() refuses never reach a row: none are counted, so that no extent is divided by.
    row_range const rows = detail::check_shape(x.shape) ? row_range(x.shape) : row_range();
    return operands<Input, Factor, Mask, Output, row_output>{x.input, factor, masks, output, more.row_output, x.shape, rows, more.when_empty};
}

// Whether a call is right, without running it.
// Errors    null_pointer, misaligned, bad_shape, bad_stride, overlap, too_large; tensors without elements are right whatever their pointers
template <class Input, class Factor, class Mask, class Output, class RowOutput>
status check(operands<Input, Factor, Mask, Output, RowOutput> const& o) {
    if (status const s = detail::check_shape(o.shape); !s) return s;
    if (detail::is_done(o)) return {};
    if (status const s = detail::check_part(o.row_output, o.shape); !s) return s;
    if (status const s = detail::check_part(o.factor, o.shape); !s) return s;
    if (status const s = detail::check_part(o.masks, o.shape); !s) return s;
    if (o.shape.keys == 0) return {};
    if (status const s = detail::check_part(o.input, o.shape); !s) return s;
    if (status const s = detail::check_part(o.output, o.shape); !s) return s;
    return detail::check_overlap(o.input, o.output, o.shape);
}

template <class Input, class Factor, class Mask, class Output, class... Extras>
status check(shaped_input<Input> const& x, Factor const& factor, Mask const& masks, Output const& output, Extras const&... extras) {
    return smx::check(make_operands(x, factor, masks, output, extras...));
}

SMX_END
