// Where the tensors of a call lie in memory: what they reach, and what they have in common.
#pragma once
#include "problem.hpp"

SMX_BEGIN

namespace detail {

inline int64 address_of(void const* pointer) { return static_cast<int64>(reinterpret_cast<uint64>(pointer)); }

// The lowest address of a tensor and the one past its highest; false when that leaves 63 bits.
struct byte_range {
    int64 low = 0, high = 0;
};
inline bool reach(void const* data, extents shape, strides step, int64 element_bytes, byte_range& range, int64& taken) {
    range.low = range.high = address_of(data);
    int64 const counts[] = {shape.batch, shape.heads, shape.queries, shape.keys};
    int64 const steps[] = {step.batch, step.head, step.query, step.key};
    for (int axis = 0; axis < 4; ++axis) {
        int64 distance = 0;
        taken = steps[axis];  // the stride that was too much, when this is the last
        if (__builtin_mul_overflow(counts[axis] - 1, steps[axis], &distance) || __builtin_mul_overflow(distance, element_bytes, &distance))
            return false;
        int64& side = distance < 0 ? range.low : range.high;
        if (__builtin_add_overflow(side, distance, &side)) return false;
    }
    return range.low >= 0 && !__builtin_add_overflow(range.high, element_bytes, &range.high);
}

// Where an input and an output lie: the same elements, none in common, or else how many bytes apart they begin. One of the user's own says nothing.
struct placement {
    bool same, apart;
    int64 distance;
};
template <class Input, class Output>
placement place_of(Input const&, Output const&, extents) {
    return {false, true, 0};
}
// The stride of an axis of length 1 is never taken.
inline bool same_strides(strides a, strides b, extents shape) {
    return (shape.batch == 1 || a.batch == b.batch) && (shape.heads == 1 || a.head == b.head) && (shape.queries == 1 || a.query == b.query);
}

// Views of one buffer that lie beside each other: rows of y fall into the gaps between rows of x.
inline bool interleaved(strides step, int64 apart, extents shape) {
    int64 const pitch = step.query < 0 ? -step.query : step.query;
    if (pitch < 2 * shape.keys || (shape.batch > 1 && step.batch % pitch != 0) || (shape.heads > 1 && step.head % pitch != 0)) return false;
    int64 const offset = (apart % pitch + pitch) % pitch;
    return offset >= shape.keys && pitch - offset >= shape.keys;
}
template <class Source, class Target, hidden Hidden, normalized To>
placement place_of(dense_input<Source> const& x, dense_output<Target, Hidden, To> const& y, extents shape) {
    byte_range from, to;
    int64 stride = 0;
    reach(x.data, shape, x.step, sizeof(Source), from, stride);
    reach(y.data, shape, y.step, sizeof(Target), to, stride);
    int64 const distance = address_of(y.data) - address_of(x.data);
    bool const alike = sizeof(Source) == sizeof(Target) && same_strides(x.step, y.step, shape);
    bool const apart = to.low >= from.high || to.high <= from.low ||
                       (alike && distance % int64{sizeof(Source)} == 0 && interleaved(x.step, distance / int64{sizeof(Source)}, shape));
    return {alike && distance == 0, apart, distance};
}
template <class First, class Second, hidden Hidden>
placement place_of(dense_output<First, Hidden> const& a, dense_output<Second, Hidden> const& b, extents shape) {
    return place_of(dense_input<First>(a.data, a.step), b, shape);
}

}  // namespace detail

SMX_END
