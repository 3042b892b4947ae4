// Additive mask: a tensor added to the scores after the scale.
#pragma once
#include "../mask.hpp"
#include "../tensor.hpp"

SMX_BEGIN

// Shape     data: batch x heads x queries x keys, `step` elements apart; any strides, zero repeats; key stride 0 or 1
// Requires  data aligned to one element; any floating-point storage type
// Gives     -inf hides its column, whatever the score is; NaN and +inf make the row NaN
template <class Element>
struct bias_tensor {
    Element const* data;
    strides step;

    SMX_HD constexpr bias_tensor(Element const* bias, strides distances) : data(bias), step(distances) {}

    struct row {
        Element const* biases_of_row;
        int cols;
        bool repeats;  // key stride 0: one bias for the row

        static constexpr bool biases = true;
        static constexpr bool spans_row = true;

        SMX_HD interval span() const { return {0, cols}; }

        template <int Width, class Compute>
        SMX_HD void add_to(pack<Compute, Width>& scores, int col) const {
            pack<Compute, Width> const added = repeats ? filled_pack<Width>(static_cast<Compute>(dtype<Element>::widen(*biases_of_row)))
                                                   : widen<Compute>(read_shared<Width>(biases_of_row + col));
            SMX_UNROLL
            for (int i = 0; i < Width; ++i) scores[i] = detail::biased(scores[i], added[i]);
        }
    };

    SMX_HD row bind(row_id id, extents) const { return {row_pointer(data, step, id), id.cols, step.key == 0}; }
};

SMX_END
