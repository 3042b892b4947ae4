// Checking every argument of a call on the host, before anything runs.
#pragma once
#include "problem.hpp"

SMX_BEGIN

namespace detail {

inline int64 address_of(void const* pointer) { return static_cast<int64>(reinterpret_cast<uint64>(pointer)); }

template <class Element>
status check_pointer(Element const* pointer, char const* argument) {
    if (pointer == nullptr) return wrong(errc::null_pointer, argument, "a pointer to its elements", 0);
    if (!is_aligned(pointer, int{sizeof(Element)})) return wrong(errc::misaligned, argument, "aligned to its element", address_of(pointer));
    return {};
}

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

// Nothing would be written: no rows, or rows without columns and nobody asking for their statistics.
template <class Input, class Factor, class Mask, class Output, class RowOutput>
bool is_done(operands<Input, Factor, Mask, Output, RowOutput> const& o) {
    return o.rows.count() == 0 || (o.shape.keys == 0 && same_type<RowOutput, no_row_output>);
}

template <class Part, class = void>
inline constexpr bool checks_itself = false;
template <class Part>
inline constexpr bool checks_itself<Part, always_void<decltype(some<Part>().check(some<extents>()))>> = true;

// Checks of the parts of a call. A type that is not listed is the user's own: it may have a member  status check(extents) const.
template <class Part>
status check_part(Part const& part, extents shape) {
    if constexpr (checks_itself<Part>) {
        return part.check(shape);
    } else {
        return {};
    }
}

// What a tensor of a call is called in a status.
struct tensor_names {
    char const* itself;
    char const* key_stride;
    char const* strides;
};
inline constexpr tensor_names x_names{"x", "x key stride", "x strides"}, y_names{"y", "y key stride", "y strides"};

template <class Element>
status check_tensor(Element const* data, strides step, extents shape, tensor_names names) {
    if (status const s = check_pointer(data, names.itself); !s) return s;
    if (step.key != 1 && shape.keys > 1) return wrong(errc::bad_stride, names.key_stride, "1", step.key);
    byte_range range;
    int64 stride = 0;
    if (!reach(data, shape, step, sizeof(Element), range, stride)) return wrong(errc::bad_stride, names.strides, "within 64-bit addresses", stride);
    return {};
}

template <class Part>
status check_named(Part const& part, extents shape, tensor_names) {
    return check_part(part, shape);
}
template <class Element>
status check_named(dense_input<Element> const& x, extents shape, tensor_names names) {
    return check_tensor(x.data, x.step, shape, names);
}
// Rows of an output may not share elements: ordered by stride, each axis steps over all of the ones before it.
template <class Element, hidden Hidden>
status check_named(dense_output<Element, Hidden> const& y, extents shape, tensor_names names) {
    if (status const s = check_tensor(y.data, y.step, shape, names); !s) return s;
    struct axis {
        int64 count, step;
    } axes[3] = {{shape.batch, y.step.batch}, {shape.heads, y.step.head}, {shape.queries, y.step.query}};
    // A step that is never taken says nothing; the others are within 64-bit addresses, as reach() has seen.
    for (axis& a : axes) a.step = a.count <= 1 ? 0 : a.step < 0 ? -a.step : a.step;
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
        if (a.step < taken) return wrong(errc::bad_stride, names.strides, "nested, so that no two rows share an element", a.step);
        taken += (a.count - 1) * a.step;
    }
    return {};
}

template <class Element>
status check_part(device_scale<Element> const& factor, extents) {
    return check_pointer(factor.data, "scale");
}
template <class Element>
status check_part(head_scale<Element> const& factor, extents) {
    return check_pointer(factor.data, "scale");
}

template <class Index>
status check_part(key_lengths<Index> const& padded, extents) {
    return check_pointer(padded.lengths, "lengths");
}

template <class Element>
status check_mask_memory(Element const* data, strides step, extents shape, char const* argument, char const* key_stride) {
    if (shape.keys == 0 && step.key != 0) return {};  // a tensor without elements
    if (status const s = check_pointer(data, argument); !s) return s;
    if (step.key != 0 && step.key != 1) return wrong(errc::bad_stride, key_stride, "0 or 1", step.key);
    byte_range range;
    int64 stride = 0;
    if (!reach(data, shape, step, sizeof(Element), range, stride)) return wrong(errc::bad_stride, argument, "within 64-bit addresses", stride);
    return {};
}
template <class Flag, nonzero Nonzero>
status check_part(flag_tensor<Flag, Nonzero> const& flags, extents shape) {
    return check_mask_memory(flags.data, flags.step, shape, "mask", "mask key stride");
}
template <class Word, set_bits Set>
status check_part(bit_tensor<Word, Set> const& bits, extents shape) {
    if (shape.keys == 0) return {};
    shape.keys = words_for<Word>(shape.keys);
    if (status const s = check_mask_memory(bits.data, bits.step, shape, "mask", "mask key stride"); !s) return s;
    if (bits.step.key == 0 && shape.keys > 1) return wrong(errc::bad_stride, "mask key stride", "1, where a row has several words", 0);
    return {};
}
template <class Element>
status check_part(bias_tensor<Element> const& bias, extents shape) {
    return check_mask_memory(bias.data, bias.step, shape, "bias", "bias key stride");
}

template <class First, class Second>
status check_part(both_mask<First, Second> const& masks, extents shape);
template <class First, class Second>
status check_part(either_mask<First, Second> const& masks, extents shape);

template <class First, class Second>
status check_part(both_mask<First, Second> const& masks, extents shape) {
    status const s = check_part(masks.first, shape);
    return s ? check_part(masks.second, shape) : s;
}
template <class First, class Second>
status check_part(either_mask<First, Second> const& masks, extents shape) {
    status const s = check_part(masks.first, shape);
    return s ? check_part(masks.second, shape) : s;
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
template <class Source, class Target, hidden Hidden>
placement place_of(dense_input<Source> const& x, dense_output<Target, Hidden> const& y, extents shape) {
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

template <class Element>
status check_part(log_sum_exp<Element> const& row_output, extents) {
    return check_pointer(row_output.data, "log_sum_exp");
}

}  // namespace detail

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
    if (status const s = detail::check_named(o.input, o.shape, detail::x_names); !s) return s;
    if (status const s = detail::check_named(o.output, o.shape, detail::y_names); !s) return s;
    detail::placement const place = detail::place_of(o.input, o.output, o.shape);
    if (place.same || place.apart) return {};
    return detail::wrong(errc::overlap, "y", "x itself (same pointer, element size and strides) or apart from it; distance in bytes", place.distance);
}

template <class Input, class Factor, class Mask, class Output, class... Extras>
status check(shaped_input<Input> const& x, Factor const& factor, Mask const& masks, Output const& output, Extras const&... extras) {
    return smx::check(smx::make_operands(x, factor, masks, output, extras...));
}

SMX_END
