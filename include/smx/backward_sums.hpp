// What a backward call adds up beside the gradient of the scores, put together and checked: the gradient of a bias, and of the scale.
#pragma once
#include "backward.hpp"
#include "row/summed_backward.hpp"

SMX_BEGIN

// The gradient of an additive bias: that of the scores without the scale, summed over every axis along which db repeats, in the order of the rows'
// index, in float, or double where y or dy is. Written, not added to; 0 in what is hidden from all rows it is a sum over.
// Shape     db: `step` elements apart, as the bias; stride 0: summed over, as broadcast({1, heads, queries, keys}) says of an axis of length 1; key
//           stride 0 or 1; packed as the scores when left out. Any floating-point type; nowhere that anything else of the call is
// Cost      one write; nothing else is read, and no other memory needed. One group of lanes runs all rows that share a row of db: fewer rows of
//           db than groups that fill the GPU leave the rest of it idle
template <class Element>
bias_sums<Element> bias_gradients(Element* db, strides step = contiguous) {
    return {{db, step}, {db, step}, step.key == 0};
}

namespace detail {

template <class Extra>
inline constexpr bool is_bias_sums = false;
template <class Element, class Input, class Output>
inline constexpr bool is_bias_sums<bias_sums<Element, Input, Output>> = true;
template <class Extra>
inline constexpr bool is_scale_gradients = false;
template <class Element>
inline constexpr bool is_scale_gradients<scale_gradients<Element>> = true;

// What may follow the gradient of the scores, in any order.
template <class Bias, class Scale>
struct gradient_extras {
    Bias bias;
    Scale scale;
};
inline gradient_extras<no_bias_sums, no_scale_gradients> collect_gradients() { return {}; }
template <class First, class... Rest>
auto collect_gradients(First const& first, Rest const&... rest) {
    static_assert(is_bias_sums<First> || is_scale_gradients<First>,
                  "what follows the gradient of the scores is bias_gradients(db, strides) or scale_gradients(per_row)");
    auto const all = detail::collect_gradients(rest...);
    if constexpr (is_bias_sums<First>) {
        static_assert(same_type<decltype(all.bias), no_bias_sums>, "a call has one bias_gradients");
        return gradient_extras<First, decltype(all.scale)>{first, all.scale};
    } else {
        static_assert(same_type<decltype(all.scale), no_scale_gradients>, "a call has one scale_gradients");
        return gradient_extras<decltype(all.bias), First>{all.bias, first};
    }
}

// An axis of db that is summed over leaves one of its rows, and puts the others into the set that shares it.
constexpr void share_axis(int64 step, int64& left, int64& shared) {
    if (step != 0) return;
    shared = left;
    left = 1;
}
// The shape of db without what repeats; `shared` becomes that of the rows that share one of its rows.
constexpr extents shape_of_sums(strides step, extents shape, extents& shared) {
    shared = {1, 1, 1, 1};
    share_axis(step.batch, shape.batch, shared.batch);
    share_axis(step.head, shape.heads, shared.heads);
    share_axis(step.query, shape.queries, shared.queries);
    share_axis(step.key, shape.keys, shared.keys);
    return shape;
}

}  // namespace detail

// A backward call that adds up, by value.
template <class Input, class Gradient, class Factor, class Mask, class Output, class First, class... Rest>
auto make_backward_operands(shaped_input<Input> const& y, Gradient const& dy, Factor const& factor, Mask const& asked, Output const& dx,
                            First const& first, Rest const&... rest) {
    auto const more = detail::collect_gradients(first, rest...);
    auto each = smx::make_backward_operands(y, dy, factor, asked, dx);
    auto bias = more.bias;
    auto scale = more.scale;
    static_assert(same_type<decltype(scale), no_scale_gradients> || detail::is_made_of_scores<Input>,
                  "the gradient of a scale is a sum of products with the scores: write recomputed_probabilities(scores(x, shape), log_sum_exp) in the "
                  "place of saved_probabilities(y, shape)");
    extents shared{1, 1, 1, 1};
    if constexpr (detail::is_bias_sums<decltype(bias)>) {
        if (detail::is_contiguous(bias.output.step)) bias.input.step = bias.output.step = packed_strides(y.shape);
        extents const left = detail::shape_of_sums(bias.output.step, y.shape, shared);
        row_range const sets = detail::check_shape(y.shape) ? row_range({left.batch, left.heads, left.queries, y.shape.keys}) : row_range();
        each.rows = sets;
        each.axes = sets.axes();
    }
    return summed_operands<decltype(each), decltype(bias), decltype(scale)>{each, bias, scale, shared};
}

namespace detail {

// Rows without columns are done, but not the sums over such.
template <class Each>
bool sums_columns(Each const&) {
    return false;
}
template <class Element>
bool sums_columns(bias_sums<Element> const& bias) {
    return bias.over_columns;
}
template <class Each, class Bias, class Scale>
bool is_done(summed_operands<Each, Bias, Scale> const& o) {
    return o.rows.count() == 0 || (o.shape.keys == 0 && !is_scale_gradients<Scale> && !sums_columns(o.bias));
}

// Work of a call, in elements that are read.
template <class Operands>
int64 elements_of(Operands const& o) {
    return o.rows.count() * o.shape.keys;
}
template <class Each, class Bias, class Scale>
int64 elements_of(summed_operands<Each, Bias, Scale> const& o) {
    return o.shape.batch * o.shape.heads * o.shape.queries * o.shape.keys;
}

// The memory of a part of a call, where smx knows it.
template <class Part>
bool find_memory(Part const&, extents, byte_range&) {
    return false;
}
template <class Element>
bool find_memory(Element const* data, strides step, extents shape, byte_range& range) {
    int64 stride = 0;
    bool const has_elements = shape.batch > 0 && shape.heads > 0 && shape.queries > 0 && shape.keys > 0;
    return has_elements && reach(data, shape, step, sizeof(Element), range, stride);
}
template <class Element>
bool find_memory(dense_input<Element> const& x, extents shape, byte_range& range) {
    return find_memory(x.data, x.step, shape, range);
}
template <class Element, hidden Hidden, normalized To>
bool find_memory(dense_output<Element, Hidden, To> const& y, extents shape, byte_range& range) {
    return find_memory(y.data, y.step, shape, range);
}
template <class Input, class Sum, normalized To>
bool find_memory(recomputed_input<Input, Sum, To> const& y, extents shape, byte_range& range) {
    return find_memory(y.scores, shape, range);
}
template <class Input, class Dropout>
bool find_memory(dropped_input<Input, Dropout> const& dy, extents shape, byte_range& range) {
    return find_memory(dy.input, shape, range);
}

// Whether memory that is written lies apart from a part of the call.
template <class Part>
status check_apart(byte_range written, char const* name, Part const& part, extents shape, char const* requirement) {
    byte_range range;
    if (!find_memory(part, shape, range) || written.high <= range.low || range.high <= written.low) return {};
    return wrong(errc::overlap, name, requirement, written.low - range.low);
}
template <class Each>
status check_apart_from_call(byte_range written, char const* name, Each const& o) {
    constexpr bool of_scores = is_made_of_scores<typename Each::input_type>;
    if (status const s = check_apart(written, name, o.input, o.shape, of_scores ? "apart from x; distance in bytes" : "apart from y; distance in bytes"); !s) return s;
    if (status const s = check_apart(written, name, o.gradient, o.shape, "apart from dy; distance in bytes"); !s) return s;
    return check_apart(written, name, o.output, o.shape, "apart from dx; distance in bytes");
}

inline constexpr tensor_names db_names{"db", "db key stride", "db strides"};

// Of db without what repeats, and of a number a row.
template <class Element>
bool find_memory(bias_sums<Element> const& bias, extents shape, byte_range& range) {
    extents shared;
    return find_memory(bias.output, shape_of_sums(bias.output.step, shape, shared), range);
}
template <class Element>
bool find_memory(scale_gradients<Element> const& scale, extents shape, byte_range& range) {
    extents const rows(1, 1, shape.batch * shape.heads * shape.queries, 1);
    return find_memory(scale.data, packed_strides(rows), rows, range);
}

template <class Each>
status check_sums(Each const&, no_bias_sums const&) {
    return {};
}
template <class Each, class Element>
status check_sums(Each const& o, bias_sums<Element> const& bias) {
    extents shared;
    extents const shape = shape_of_sums(bias.output.step, o.shape, shared);
    if (shape.keys == 0) return {};
    if (bias.output.step.key != 1 && shape.keys > 1) return wrong(errc::bad_stride, db_names.key_stride, "0 or 1", bias.output.step.key);
    if (status const s = check_named(bias.output, shape, db_names); !s) return s;
    byte_range written;
    return find_memory(bias, o.shape, written) ? check_apart_from_call(written, db_names.itself, o) : status();
}
template <class Each, class Element>
status check_sums(Each const& o, scale_gradients<Element> const& scale) {
    if (o.shape.batch * o.shape.heads * o.shape.queries == 0) return {};
    if (status const s = check_pointer(scale.data, "scale gradients"); !s) return s;
    byte_range written;
    return find_memory(scale, o.shape, written) ? check_apart_from_call(written, "scale gradients", o) : status();
}
template <class Each>
status check_sums(Each const&, no_scale_gradients const&) {
    return {};
}

// What is read of rows without columns.
template <class Each>
status check_besides(Each const& o) {
    if (status const s = check_part(o.factor, o.shape); !s) return s;
    if (status const s = check_part(o.masks, o.shape); !s) return s;
    if constexpr (is_made_of_scores<typename Each::input_type>) return check_pointer(o.input.sums, "log_sum_exp");
    return {};
}

}  // namespace detail

// Whether a backward call that adds up is right, without running it.
// Errors    as of one that does not; db and the scale's gradients also where they overlap y or x, dy, dx or each other; masks and log-sum-exps are the caller's to keep apart
template <class Each, class Bias, class Scale>
status check(summed_operands<Each, Bias, Scale> const& o) {
    if (status const s = detail::check_shape(o.shape); !s) return s;
    if (detail::is_done(o)) return {};
    Each const& each = o;
    if (o.shape.batch * o.shape.heads * o.shape.queries != 0) {
        if (status const s = o.shape.keys != 0 ? smx::check(each) : detail::check_besides(each); !s) return s;
    }
    if (status const s = detail::check_sums(each, o.bias); !s) return s;
    if (status const s = detail::check_sums(each, o.scale); !s) return s;
    detail::byte_range written;
    if (!detail::find_memory(o.bias, o.shape, written)) return {};
    return detail::check_apart(written, detail::db_names.itself, o.scale, o.shape, "apart from the scale gradients; distance in bytes");
}

template <class Input, class Gradient, class Factor, class Mask, class Output, class First, class... Rest>
status check_backward(shaped_input<Input> const& y, Gradient const& dy, Factor const& factor, Mask const& masks, Output const& dx, First const& first,
                      Rest const&... rest) {
    return smx::check(smx::make_backward_operands(y, dy, factor, masks, dx, first, rest...));
}

SMX_END
