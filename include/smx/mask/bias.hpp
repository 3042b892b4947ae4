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
    detail::cache_policy policy = detail::cache_policy::usual;  // as a mask tensor's: 0.981 (0.965)

    SMX_HD constexpr bias_tensor(Element const* bias, strides distances) : data(bias), step(distances) {}

    struct row {
        Element const* biases_of_row;
        int cols;
        bool repeats;  // key stride 0: one bias for the row
        detail::cache_policy policy;

        static constexpr bool biases = true;
        static constexpr bool spans_row = true;
        static constexpr bool answers_from_packs = true;

        SMX_HD interval span() const { return {0, cols}; }

        template <int Width>
        SMX_HD detail::raw_pack<Element, Width> fetch(int col) const {
            if (!repeats) return read_pack<Width>(biases_of_row + col);
            Element const one = *biases_of_row;
            return detail::raw_pack<Element, Width>::of([&](int) { return one; });
        }

        template <int Width>
        SMX_HD detail::packs_of_row<Width, Element> packs_from(int col) const {
            return detail::packs_of_row<Width, Element>(biases_of_row + col, !repeats, policy);
        }

        template <int Width, class Storage = dtype<Element>>
        static SMX_HD auto hiding() -> decltype(Storage::neg_inf(), detail::raw_pack<Element, Width>()) {
            return detail::raw_pack<Element, Width>::of([](int) { return Storage::neg_inf(); });
        }

        template <int Width, class Compute>
        SMX_HD void add_to(pack<Compute, Width>& scores, int col) const {
            add_to(scores, col, fetch<Width>(col));
        }
        template <int Width, class Compute>
        SMX_HD void add_to(pack<Compute, Width>& scores, int, detail::raw_pack<Element, Width> const& fetched) const {
            pack<Compute, Width> const added = widen<Compute>(fetched);
            SMX_UNROLL
            for (int i = 0; i < Width; ++i) scores[i] = detail::biased(scores[i], added[i]);
        }
    };

    SMX_HD row bind(row_id id, extents) const { return {row_pointer(data, step, id), id.cols, step.key == 0, policy}; }
};

SMX_END
