// Putting a call together on the host.
#pragma once
#include "mask/bias.hpp"
#include "mask/bits.hpp"
#include "mask/causal.hpp"
#include "mask/compose.hpp"
#include "mask/lengths.hpp"
#include "mask/predicate.hpp"
#include "mask/tensor.hpp"
#include "row/operands.hpp"
#include "status.hpp"

SMX_BEGIN

namespace detail {
constexpr bool is_contiguous(strides step) { return step.key == contiguous.key; }
}  // namespace detail

// An input together with the shape of the call.
template <class Input>
struct shaped_input {
    Input input;
    extents shape;
};

// Shape     x: `shape`, `step` elements apart (any outer strides, zero and negative too), key stride 1; packed when left out
template <class Element>
shaped_input<dense_input<Element>> scores(Element const* x, extents shape, strides step = contiguous) {
    return {{x, detail::is_contiguous(step) ? packed_strides(shape) : step}, shape};
}

// Scores that your own input reads.
template <class Input>
shaped_input<Input> scores_from(Input const& input, extents shape) {
    return {input, shape};
}

// Shape     y: the shape of the scores, its own strides; packed when left out. y == x is allowed: same pointer, element size and strides.
template <hidden Hidden = hidden::zeros, class Element>
dense_output<Element, Hidden> probabilities(Element* y, strides step = contiguous) {
    return {y, step};
}

// The logarithms of the probabilities, -inf in what is hidden; otherwise as probabilities().
template <hidden Hidden = hidden::zeros, class Element>
dense_output<Element, Hidden, normalized::logarithms> log_probabilities(Element* y, strides step = contiguous) {
    return {y, step};
}

namespace detail {

constexpr status wrong(errc code, char const* argument, char const* requirement, int64 actual) {
    return {code, argument, requirement, actual, 0};
}

inline status check_shape(extents shape) {
    if (shape.batch < 0) return wrong(errc::bad_shape, "batch", "0 or more", shape.batch);
    if (shape.heads < 0) return wrong(errc::bad_shape, "heads", "0 or more", shape.heads);
    if (shape.queries < 0) return wrong(errc::bad_shape, "queries", "0 or more", shape.queries);
    if (shape.keys < 0) return wrong(errc::bad_shape, "keys", "0 or more", shape.keys);
    if (shape.batch > most_rows) return wrong(errc::too_large, "batch", "at most 2^62", shape.batch);
    if (shape.heads > most_rows) return wrong(errc::too_large, "heads", "at most 2^62", shape.heads);
    if (shape.queries > most_rows) return wrong(errc::too_large, "queries", "at most 2^62", shape.queries);
    if (shape.keys > most_columns) return wrong(errc::too_large, "keys", "at most 2^31 - 2^16", shape.keys);
    int64 rows = 0;
    bool const wraps = __builtin_mul_overflow(shape.batch, shape.heads, &rows) || __builtin_mul_overflow(rows, shape.queries, &rows);
    if (wraps || rows > most_rows)
        return wrong(errc::too_large, "batch * heads * queries", "at most 2^62 rows", wraps ? 0x7fffffffffffffffll : rows);
    return {};
}

// Elements from every row to the next, by index; 0 where that is not one number, 1 for a single row.
constexpr int64 row_step_of(strides step, extents shape) {
    int64 const counts[] = {shape.queries, shape.heads, shape.batch};
    int64 const steps[] = {step.query, step.head, step.batch};
    uint64 first = 0, next = 0;  // unsigned: strides that check() refuses may wrap
    bool found = false;
    for (int axis = 0; axis < 3; ++axis) {
        if (counts[axis] <= 1) continue;
        if (!found) first = next = static_cast<uint64>(steps[axis]);
        if (static_cast<uint64>(steps[axis]) != next) return 0;
        found = true;
        next *= static_cast<uint64>(counts[axis]);
    }
    return found ? static_cast<int64>(first) : 1;
}

// Strides that were left out, and what follows from strides and shape.
template <class Tensor>
void complete(Tensor&, extents) {}  // one of the user's own says itself where its rows are
// A tensor without elements may have no memory: its rows are where it is.
constexpr strides completed(strides step, extents shape) {
    if (shape.batch == 0 || shape.heads == 0 || shape.queries == 0 || shape.keys == 0) return {0, 0, 0, is_contiguous(step) ? 1 : step.key};
    return is_contiguous(step) ? packed_strides(shape) : step;
}
template <class Element>
void complete(dense_input<Element>& x, extents shape) { x.row_step = row_step_of(x.step = completed(x.step, shape), shape); }
template <class Element, hidden Hidden, normalized To>
void complete(dense_output<Element, Hidden, To>& y, extents shape) { y.row_step = row_step_of(y.step = completed(y.step, shape), shape); }

template <class Output, class Dropout, class Undropped>
void complete(dropped_output<Output, Dropout, Undropped>& y, extents shape) {
    complete(y.output, shape);
    complete(y.undropped, shape);
}
template <class Input, class Dropout>
void complete(dropped_input<Input, Dropout>& dy, extents shape) { complete(dy.input, shape); }

// What several rows read is to stay in the L2.
constexpr cache_policy policy_of(strides step, extents shape) {
    bool const repeats = (step.batch == 0 && shape.batch > 1) || (step.head == 0 && shape.heads > 1) || (step.query == 0 && shape.queries > 1);
    return repeats ? cache_policy::stays : cache_policy::usual;
}

// A mask for rows of this shape: what it would find out for every row, found out once.
template <class Mask>
constexpr Mask prepared(Mask const& mask, extents) {
    return mask;
}
constexpr causal_mask::of_shape prepared(causal_mask const& causal, extents shape) { return causal.from_top_left(shape); }
template <class Flag, nonzero Nonzero>
constexpr flag_tensor<Flag, Nonzero> prepared(flag_tensor<Flag, Nonzero> flags, extents shape) {
    flags.policy = policy_of(flags.step, shape);
    return flags;
}
template <class Element>
constexpr bias_tensor<Element> prepared(bias_tensor<Element> bias, extents shape) {
    bias.policy = policy_of(bias.step, shape);
    return bias;
}
template <class First, class Second>
auto prepared(both_mask<First, Second> const& masks, extents shape);
template <class First, class Second>
auto prepared(either_mask<First, Second> const& masks, extents shape) {
    return smx::either(detail::prepared(masks.first, shape), detail::prepared(masks.second, shape));
}
template <class First, class Second>
auto prepared(both_mask<First, Second> const& masks, extents shape) {
    return smx::both(detail::prepared(masks.first, shape), detail::prepared(masks.second, shape));
}

template <class Mask>
auto prepared_for(Mask const& mask, extents shape) {
    return detail::prepared(mask, check_shape(shape) ? shape : extents());
}

// Parts of a call that ask a row for nothing but its index.
template <class Part>
constexpr bool asks_index_alone(Part const&) {
    return false;
}
constexpr bool asks_index_alone(no_mask const&) { return true; }
constexpr bool asks_index_alone(fixed_scale const&) { return true; }
template <class Element>
constexpr bool asks_index_alone(device_scale<Element> const&) { return true; }
constexpr bool asks_index_alone(no_row_output const&) { return true; }
template <class Element>
constexpr bool asks_index_alone(log_sum_exp<Element> const&) { return true; }
template <class Element>
constexpr bool asks_index_alone(dense_input<Element> const& x) {
    return x.row_step != 0;
}
template <class Input, class Sum, normalized To>
constexpr bool asks_index_alone(recomputed_input<Input, Sum, To> const& y) {
    return asks_index_alone(y.scores);
}
template <class Element, hidden Hidden, normalized To>
constexpr bool asks_index_alone(dense_output<Element, Hidden, To> const& y) {
    return y.row_step != 0;
}
constexpr bool asks_index_alone(no_output const&) { return true; }
template <class Output, class Dropout, class Undropped>
constexpr bool asks_index_alone(dropped_output<Output, Dropout, Undropped> const& y) {
    return asks_index_alone(y.output) && asks_index_alone(y.undropped);
}
template <class Input, class Dropout>
constexpr bool asks_index_alone(dropped_input<Input, Dropout> const& dy) {
    return asks_index_alone(dy.input);
}

template <class RowOutput, class = void>
inline constexpr bool stores_statistics = false;
template <class RowOutput>
inline constexpr bool stores_statistics<RowOutput, always_void<decltype(some<RowOutput>().store(some<row_id>(), some<statistics<float>>()))>> = true;

template <class Factor, class = void>
inline constexpr bool has_value = false;
template <class Factor>
inline constexpr bool has_value<Factor, always_void<decltype(some<Factor>().template value<float>(some<row_id>()))>> = true;

template <class Mask, class = void>
inline constexpr bool binds_row = false;
template <class Mask>
inline constexpr bool binds_row<Mask, always_void<decltype(some<Mask>().bind(some<row_id>(), some<extents>()))>> = true;

template <class Factor, class Mask>
constexpr void are_parts() {
    static_assert(has_value<Factor>,
                  "a scale is fixed_scale(number), inv_sqrt(head_dim), device_scale(pointer), head_scale(pointer) or has value<Compute>(row_id)");
    static_assert(binds_row<Mask>,
                  "a mask has bind(row_id, extents): no_mask{}, causal_mask::bottom_right(), ...; a condition is written visible_where(f)");
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
    static_assert(same_type<First, empty_row> || stores_statistics<First>,
                  "what follows the output is an empty_row or a row output such as log_sum_exp(pointer); hidden::keep is written "
                  "probabilities<hidden::keep>(y)");
    auto all = detail::collect(rest...);
    if constexpr (same_type<First, empty_row>) {
        all.when_empty = first;
        return all;
    } else {
        static_assert(same_type<decltype(all.row_output), no_row_output>, "a call has one row output");
        return extras_of<First>{all.when_empty, first};
    }
}

// The rows of a call, by their index alone where none of its parts asks for more. Shapes that check() refuses never reach a row: none are counted,
// so that no extent is divided by.
template <class... Parts>
row_range rows_of(extents shape, Parts const&... parts) {
    if (!check_shape(shape)) return {};
    return (asks_index_alone(parts) && ...) ? row_range(shape.batch * shape.heads * shape.queries, static_cast<int>(shape.keys)) : row_range(shape);
}
}  // namespace detail

// A call by value: what every body and kernel is given.
template <class Input, class Factor, class Mask, class Output, class... Extras>
auto make_operands(shaped_input<Input> const& x, Factor const& factor, Mask const& asked, Output const& given, Extras const&... extras) {
    detail::are_parts<Factor, Mask>();
    static_assert(!is_dropped<Input>, "scores are not dropped: write dropped(probabilities(y), dropout(...))");
    // The parameters are references: GCC 12 takes what an aggregate passed by value points to for unwritten, where that is copied into the result (its ipa-modref pass).
    Input input = x.input;
    Output output = given;
    auto masks = detail::prepared_for(asked, x.shape);
    auto const more = detail::collect(extras...);
    detail::complete(input, x.shape);
    detail::complete(output, x.shape);
    row_range const rows = detail::rows_of(x.shape, input, factor, masks, output, more.row_output);
    bool const is_usual = detail::check_shape(x.shape) && surely_waits(factor) && more.when_empty == empty_row::zeros;
    using made = operands<Input, Factor, decltype(masks), Output, decltype(more.row_output)>;
    auto whole = detail::whole_rows_at(input, output, x.shape, is_usual);
    if constexpr (detail::binds_row<Mask>) whole.find_by(rows.axes(), rows.is_by_index(), made::may_be_by_index);
    return made{whole, masks, rows, input, factor, more.when_empty, output, more.row_output, x.shape, rows.axes()};
}

SMX_END
