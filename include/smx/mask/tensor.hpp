// Mask tensor: one byte or integer a score says whether it is visible.
#pragma once
#include "../mask.hpp"
#include "../tensor.hpp"

SMX_BEGIN

enum class nonzero { visible, hidden };

// Shape     data: batch x heads x queries x keys, `step` elements apart; any strides, zero repeats; key stride 0 or 1
// Requires  data aligned to one element; any integer type and bool
template <class Flag, nonzero Nonzero>
struct flag_tensor {
    static_assert(Flag(3) / Flag(2) == Flag(1), "a mask tensor holds bools or integers: for numbers that are added write bias_tensor");
    Flag const* data;
    strides step;
    // Launches say that what rows share is to stay in the L2. H200, 2048 columns of half, 32 heads: 0.982 of copy (as usual: 0.970).
    detail::cache_policy policy = detail::cache_policy::usual;

    struct row {
        Flag const* flags;
        interval seen;
        bool repeats;  // key stride 0: one flag for the row, already in the span
        detail::cache_policy policy;

        static constexpr bool tests = true;
        static constexpr bool spans_row = true;
        static constexpr bool answers_from_packs = true;

        SMX_HD interval span() const { return seen; }

        template <int Width>
        SMX_HD detail::raw_pack<Flag, Width> fetch(int col) const {
            if (!repeats) return read_pack<Width>(flags + col);
            return detail::raw_pack<Flag, Width>::of([](int) { return Flag(Nonzero == nonzero::visible); });
        }

        template <int Width>
        SMX_HD detail::packs_of_row<Width, Flag> packs_from(int col) const {
            return detail::packs_of_row<Width, Flag>(flags + col, !repeats, policy);
        }

        template <int Width>
        SMX_HD unsigned visible(int col) const {
            return visible<Width>(col, fetch<Width>(col));
        }
        template <int Width>
        SMX_HD unsigned visible(int, detail::raw_pack<Flag, Width> const& fetched) const {
            unsigned const set = nonzero_bits(fetched);
            return Nonzero == nonzero::visible ? set : ~set;
        }
    };

    SMX_HD row bind(row_id id, extents) const {
        Flag const* const flags = row_pointer(data, step, id);
        if (step.key != 0) return {flags, {0, id.cols}, false, policy};
        bool const all = (*flags != Flag(0)) == (Nonzero == nonzero::visible);
        return {flags, {0, all ? id.cols : 0}, true, policy};
    }

private:
    // Bit i = flag i is not zero.
    template <int Width>
    static SMX_HD unsigned nonzero_bits(detail::raw_pack<Flag, Width> const& raw) {
        unsigned bits = 0;
        SMX_UNROLL
        for (int i = 0; i < Width; ++i) bits |= static_cast<unsigned>(raw[i] != Flag(0)) << i;
        return bits;
    }
};

// Nonzero = visible.
template <class Flag>
SMX_HD flag_tensor<Flag, nonzero::visible> mask_tensor(Flag const* data, strides step) {
    return {data, step};
}

// Nonzero = hidden.
template <class Flag>
SMX_HD flag_tensor<Flag, nonzero::hidden> hidden_where(Flag const* data, strides step) {
    return {data, step};
}

SMX_END
