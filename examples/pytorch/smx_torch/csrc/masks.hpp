// The masks that kernels are compiled for. A kernel is compiled for every type of mask, so parts that cost nothing a row share a type and are there
// or not when it runs.
#pragma once
#include "call.hpp"

namespace smx_torch {

// What a query sees at most: keys up to a diagonal, the first keys of its batch, or the overlap.
struct interval_mask {
    smx::int64 first_end;  // one past the last key that query 0 sees
    void const* lengths;
    bool lengths_are_long;

    explicit interval_mask(mask_parts const& parts)
        : first_end(parts.causal ? parts.diagonal + 1 : smx::most_columns), lengths(parts.lengths), lengths_are_long(parts.lengths_are_long) {}

    struct row {
        smx::interval seen;
        SMX_HD smx::interval span() const { return seen; }
    };

    SMX_HD row bind(smx::row_id id, smx::extents shape) const {
        smx::int64 const end = id.query + first_end;
        smx::interval const below{0, static_cast<int>(end < 0 ? 0 : end > id.cols ? id.cols : end)};
        if (lengths == nullptr) return {below};
        smx::interval const counted = lengths_are_long ? smx::key_lengths(static_cast<long long const*>(lengths)).bind(id, shape).span()
                                                       : smx::key_lengths(static_cast<int const*>(lengths)).bind(id, shape).span();
        return {smx::overlap(below, counted)};
    }
};

// A byte a score, nonzero = visible or nonzero = hidden: smx::mask_tensor, whose answer is turned over when it runs.
struct flag_mask {
    using tensor_type = decltype(smx::mask_tensor(static_cast<unsigned char const*>(nullptr), {}));
    tensor_type tensor;
    bool nonzero_hides;

    flag_mask(mask_parts const& parts, smx::extents shape)
        : tensor(smx::mask_tensor(static_cast<unsigned char const*>(parts.flags.data), parts.flags.step)), nonzero_hides(parts.nonzero_hides) {
        tensor.policy = smx::detail::policy_of(tensor.step, shape);  // as launch_auto does for a mask_tensor: 0.98 of copy, not 0.97
    }

    struct row : tensor_type::row {
        unsigned turned;

        template <int Width>
        SMX_HD unsigned visible(int col) const {
            return tensor_type::row::template visible<Width>(col) ^ turned;
        }
        template <int Width, class Fetched>
        SMX_HD unsigned visible(int col, Fetched const& fetched) const {
            return tensor_type::row::template visible<Width>(col, fetched) ^ turned;
        }
    };

    SMX_HD row bind(smx::row_id id, smx::extents shape) const {
        auto const seen = tensor.bind(id, shape);
        if (!seen.repeats) return {seen, nonzero_hides ? ~0u : 0u};
        bool const all = (*seen.flags != 0) != nonzero_hides;  // one byte for the row
        return {{seen.flags, {0, all ? id.cols : 0}, true, seen.policy}, 0u};
    }

    smx::status check(smx::extents shape) const { return smx::detail::check_part(tensor, shape); }
};

// Whatever flags and biases there are, of any type: every pack asks what there is.
struct any_mask {
    interval_mask interval;
    tensor flags, bias;  // strides in bytes
    bool nonzero_hides;

    explicit any_mask(mask_parts const& parts) : interval(parts), flags(parts.flags), bias(parts.bias), nonzero_hides(parts.nonzero_hides) {
        smx::int64 const bytes = bytes_of(bias.type);
        bias.step = {bytes * bias.step.batch, bytes * bias.step.head, bytes * bias.step.query, bias.step.key};
    }

    struct row {
        smx::interval seen;
        unsigned char const* flags;
        unsigned char const* bias;
        element bias_type;
        bool flag_repeats, bias_repeats, nonzero_hides;  // one flag, one bias for the row

        static constexpr bool tests = true;
        static constexpr bool biases = true;

        SMX_HD smx::interval span() const { return seen; }

        template <int Width>
        SMX_HD unsigned visible(int col) const {
            unsigned bits = ~0u;
            if (flags == nullptr) return bits;
            if (flag_repeats) {
                bits = *flags != 0 ? ~0u : 0u;
            } else {
                auto const read = smx::read_pack<Width>(flags + col);
                bits = 0;
                SMX_UNROLL
                for (int i = 0; i < Width; ++i) bits |= static_cast<unsigned>(read[i] != 0) << i;
            }
            return nonzero_hides ? ~bits : bits;
        }

        template <int Width, class Compute>
        SMX_HD void add_to(smx::pack<Compute, Width>& scores, int col) const {
            if (bias == nullptr) return;
            switch (bias_type) {
                case element::half: return add<smx::half>(scores, col);
                case element::bfloat16: return add<smx::bfloat16>(scores, col);
                case element::single: return add<float>(scores, col);
                case element::wide: return add<double>(scores, col);
            }
        }

    private:
        template <class Element, int Width, class Compute>
        SMX_HD void add(smx::pack<Compute, Width>& scores, int col) const {
            auto const* const stored = reinterpret_cast<Element const*>(bias);
            smx::pack<Compute, Width> added;
            if (bias_repeats) {
                added = smx::filled_pack<Width>(static_cast<Compute>(smx::dtype<Element>::widen(*stored)));
            } else {
                added = smx::widen<Compute>(smx::read_pack<Width>(stored + col));
            }
            SMX_UNROLL
            for (int i = 0; i < Width; ++i) scores[i] = added[i] == smx::neg_inf<Compute>() ? added[i] : scores[i] + added[i];
        }
    };

    SMX_HD row bind(smx::row_id id, smx::extents shape) const {
        auto const start = [&](tensor const& t) {
            auto const* const first = static_cast<unsigned char const*>(t.data);
            return first == nullptr ? first : smx::row_pointer(first, t.step, id);
        };
        return {interval.bind(id, shape).seen, start(flags), start(bias), bias.type, flags.step.key == 0, bias.step.key == 0, nonzero_hides};
    }
};

template <class Element>
inline constexpr element type_of = element::single;
template <>
inline constexpr element type_of<smx::half> = element::half;
template <>
inline constexpr element type_of<smx::bfloat16> = element::bfloat16;
template <>
inline constexpr element type_of<double> = element::wide;

// The table: the parts of a call choose its row, and every row is a mask that kernels are compiled for. Calls run(mask) with it, or
// run_any(any_mask) for what has no row of its own: flags with biases, biases of another type than the scores, all of double, calls that are not usual.
// Cost      a row is some 24 kernels forward and 14 backward for each of half, bfloat16 and float: 16 s of nvcc and 1.2 MB, three times
template <class Element, class Run, class RunAny>
smx::status with_mask(mask_parts const& parts, smx::extents shape, bool is_usual, Run run, RunAny run_any) {
    constexpr int structure = 1, flags = 2, bias = 4;
    int const given = (parts.causal || parts.lengths != nullptr ? structure : 0) | (parts.flags.data != nullptr ? flags : 0) |
                      (parts.bias.data != nullptr ? bias : 0);
    if constexpr (type_of<Element> != element::wide) {
        bool const is_same = parts.bias.data == nullptr || parts.bias.type == type_of<Element>;
        if (is_usual && is_same) {
            auto const biases = [&] { return smx::bias_tensor<Element>(static_cast<Element const*>(parts.bias.data), parts.bias.step); };
            switch (given) {
                case 0: return run(smx::no_mask());
                case structure: return run(interval_mask(parts));
                case flags: return run(flag_mask(parts, shape));
                case structure | flags: return run(smx::both(interval_mask(parts), flag_mask(parts, shape)));
                case bias: return run(biases());
                case structure | bias: return run(smx::both(interval_mask(parts), biases()));
                default: break;
            }
        }
    }
    return run_any(any_mask(parts));
}

}  // namespace smx_torch
