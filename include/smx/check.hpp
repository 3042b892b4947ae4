// Checking every argument of a call on the host, before anything runs.
#pragma once
#include "placement.hpp"

SMX_BEGIN

namespace detail {

template <class Element>
status check_pointer(Element const* pointer, char const* argument) {
    if (pointer == nullptr) return wrong(errc::null_pointer, argument, "a pointer to its elements", 0);
    if (!is_aligned(pointer, int{sizeof(Element)})) return wrong(errc::misaligned, argument, "aligned to its element", address_of(pointer));
    return {};
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
inline constexpr tensor_names x_names{"x", "x key stride", "x strides"}, y_names{"y", "y key stride", "y strides"},
    undropped_names{"undropped y", "undropped y key stride", "undropped y strides"};

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
template <class Element, hidden Hidden, normalized To>
status check_named(dense_output<Element, Hidden, To> const& y, extents shape, tensor_names names) {
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

inline status check_part(fixed_seed const&, extents) { return {}; }
template <class Integer>
status check_part(device_seed<Integer> const& from, extents) {
    if (status const s = check_pointer(from.seed, "dropout seed"); !s) return s;
    return check_pointer(from.first, "dropout offset");
}
template <class Seed>
status check_part(dropout_by<Seed> const& dropout, extents shape) {
    double const p = dropout.probability;
    if (p != p) return wrong(errc::bad_value, "dropout probability", "from 0 to 1, and not NaN, which reads as -1 here", -1);
    // A status has integers: of numbers that they cannot hold, the largest.
    if (!(p >= 0 && p <= 1)) return wrong(errc::bad_value, "dropout probability", "from 0 to 1; in millionths", static_cast<int64>(p < -1e12 ? -1e18 : p > 1e12 ? 1e18 : p * 1e6));
    return check_part(dropout.seed, shape);
}
template <class Output, class Dropout, class Undropped>
status check_named(dropped_output<Output, Dropout, Undropped> const& y, extents shape, tensor_names names) {
    if (status const s = check_part(y.dropout, shape); !s) return s;
    if (status const s = check_named(y.output, shape, names); !s) return s;
    return check_named(y.undropped, shape, undropped_names);
}
template <class Input, class Dropout>
status check_named(dropped_input<Input, Dropout> const& dy, extents shape, tensor_names names) {
    if (status const s = check_part(dy.dropout, shape); !s) return s;
    return check_named(dy.input, shape, names);
}

// Where an output may lie: where the scores are, or apart from them.
template <class Input, class Output>
status check_place(Input const& x, Output const& y, extents shape, char const* name) {
    placement const place = place_of(x, y, shape);
    if (place.same || place.apart) return {};
    return wrong(errc::overlap, name, "x itself (same pointer, element size and strides) or apart from it; distance in bytes", place.distance);
}
template <class Input, class Output, class Dropout, class Undropped>
status check_place(Input const& x, dropped_output<Output, Dropout, Undropped> const& y, extents shape, char const* name) {
    if (status const s = check_place(x, y.output, shape, name); !s) return s;
    if (status const s = check_place(x, y.undropped, shape, undropped_names.itself); !s) return s;
    placement const place = place_of(y.output, y.undropped, shape);
    if (place.apart) return {};
    return wrong(errc::overlap, undropped_names.itself, "apart from y; distance in bytes", place.distance);
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
    return detail::check_place(o.input, o.output, o.shape, detail::y_names.itself);
}

template <class Input, class Factor, class Mask, class Output, class... Extras>
status check(shaped_input<Input> const& x, Factor const& factor, Mask const& masks, Output const& output, Extras const&... extras) {
    return smx::check(smx::make_operands(x, factor, masks, output, extras...));
}

SMX_END
