// Which rows are taken in panels: those of heads that share masks too long for the L2.
#pragma once
#include "problem.hpp"

SMX_BEGIN

namespace detail {

// Bytes that the row of a query reads of tensors that several heads share.
template <class Mask>
constexpr int64 shared_row_bytes(Mask const&, extents) {
    return 0;
}
constexpr int64 shared_row_bytes(strides step, extents shape, int64 bytes) {
    bool const is_shared = (step.head == 0 && shape.heads > 1) || (step.batch == 0 && shape.batch > 1);
    return is_shared && step.query != 0 && step.key != 0 ? bytes : 0;
}
template <class Flag, nonzero Nonzero>
constexpr int64 shared_row_bytes(flag_tensor<Flag, Nonzero> const& flags, extents shape) {
    return shared_row_bytes(flags.step, shape, shape.keys * int64{sizeof(Flag)});
}
template <class Element>
constexpr int64 shared_row_bytes(bias_tensor<Element> const& bias, extents shape) {
    return shared_row_bytes(bias.step, shape, shape.keys * int64{sizeof(Element)});
}
template <class Word, set_bits Set>
constexpr int64 shared_row_bytes(bit_tensor<Word, Set> const& bits, extents shape) {
    return shared_row_bytes(bits.step, shape, shape.keys / 8);
}
template <class First, class Second>
constexpr int64 shared_row_bytes(both_mask<First, Second> const& masks, extents shape);
template <class First, class Second>
constexpr int64 shared_row_bytes(either_mask<First, Second> const& masks, extents shape) {
    return detail::shared_row_bytes(masks.first, shape) + detail::shared_row_bytes(masks.second, shape);
}
template <class First, class Second>
constexpr int64 shared_row_bytes(both_mask<First, Second> const& masks, extents shape) {
    return detail::shared_row_bytes(masks.first, shape) + detail::shared_row_bytes(masks.second, shape);
}

// Panels of as many queries as can be, whose rows read no more than 12 MB of what is shared: of the 50 MB of an H200's L2 either half keeps its own,
// and scores and probabilities pass through. Longer is better: a bias and bytes for 4096 floats 0.89, 0.90 and 0.92 of copy by 4, 8 and 12 MB, by index
// 0.68. Where rows see a part, they are taken to read half.
// Requires  a shape that check() takes
template <class Mask>
row_panels panels_of(Mask const& masks, extents shape, bool spans_row) {
    constexpr int64 most_bytes = 12 << 20, fewest_queries = 64, tries = 16;
    int64 const bytes = detail::shared_row_bytes(masks, shape) / (spans_row ? 1 : 2), heads = shape.batch * shape.heads;
    if (bytes == 0 || shape.queries <= most_bytes / bytes || heads * shape.queries > 0x7fffffff) return {};
    int64 const queries = most_bytes / bytes, fewest = (shape.queries - 1) / (queries > 0 ? queries : 1) + 1;
    for (int64 count = fewest; count < fewest + tries && count * fewest_queries <= shape.queries; ++count) {
        if (shape.queries % count == 0) return {shape.queries / count, count, heads};
    }
    return {};
}

// Says so to operands that passed check(). Not for kernels that move the rows of a block as one piece, which lie in the order of their index, nor for
// clusters.
template <class Operands>
void take_in_panels(Operands& o) {
    row_panels const panels = panels_of(o.masks, o.shape, spans_row<typename Operands::seen_type>);
    if (!panels.are_several()) return;
    o.panels = panels;
    o.rows.take_in_panels();
    o.whole.take_in_panels();
}
template <class Operands, class = void>
inline constexpr bool may_be_in_panels = false;
template <class Operands>
inline constexpr bool may_be_in_panels<Operands, always_void<decltype(Operands::may_be_in_panels)>> = Operands::may_be_in_panels;

}  // namespace detail

SMX_END
