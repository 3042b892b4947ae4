// One call of the operator whose shape, masks and factor are known at run time only, and how it becomes the library's
// types: a few kernels then serve many cases.
#pragma once

#include <cstring>

#include "smx/smx.hpp"

namespace device {

enum class storage { f16, bf16, f32, f64 };

// Calls visit(T()) with the type behind a storage.
template <class Visit>
auto with_type(storage which, Visit&& visit) {
    switch (which) {
        case storage::f16:
            return visit(smx::half{});
        case storage::bf16:
            return visit(smx::bfloat16{});
        case storage::f32:
            return visit(float{});
        case storage::f64:
            break;
    }
    return visit(double{});
}

template <class T>
T element_at(unsigned char const* memory) {
    T element;
    std::memcpy(&element, memory, sizeof element);
    return element;
}

inline char const* name_of(storage which) {
    switch (which) {
        case storage::f16:
            return "half";
        case storage::bf16:
            return "bfloat16";
        case storage::f32:
            return "float";
        case storage::f64:
            return "double";
    }
    return "?";
}

inline int bytes_of(storage which) { return which == storage::f64 ? 8 : which == storage::f32 ? 4 : 2; }

template <class T>
inline constexpr storage storage_of = sizeof(T) == 8 ? storage::f64 : storage::f32;
template <>
inline constexpr storage storage_of<smx::half> = storage::f16;
template <>
inline constexpr storage storage_of<smx::bfloat16> = storage::bf16;

// A user's mask with structure and bits: a window round the query's place on the keys, and in it every third key is
// hidden.
struct dotted_window {
    int reach;

    struct row {
        int begin, end;
        static constexpr bool tests = true;
        SMX_HD smx::interval span() const { return {begin, end}; }
        template <int V>
        SMX_HD unsigned visible(int col) const {
            unsigned bits = 0;
            SMX_UNROLL
            for (int i = 0; i < V; ++i) bits |= static_cast<unsigned>((col + i) % 3 != 1) << i;
            return bits;
        }
    };

    SMX_HD row bind(smx::row_id id, smx::extents shape) const {
        smx::int64 const place = id.query * shape.keys / (shape.queries > 0 ? shape.queries : 1);
        smx::int64 const begin = place - reach < 0 ? 0 : place - reach;
        smx::int64 const end = place + reach > shape.keys ? shape.keys : place + reach;
        return {static_cast<int>(begin), static_cast<int>(end)};
    }
};

// A user's mask with structure and a bias: a slope by distance, steeper in every head, and no key after the query's
// place.
struct sloped {
    struct row {
        int end;
        float slope;
        static constexpr bool biases = true;
        SMX_HD smx::interval span() const { return {0, end}; }
        template <int V, class Compute>
        SMX_HD void add_to(smx::pack<Compute, V>& scores, int col) const {
            SMX_UNROLL
            for (int i = 0; i < V; ++i) scores[i] += static_cast<Compute>(slope) * static_cast<Compute>((col + i) % 64);
        }
    };

    SMX_HD row bind(smx::row_id id, smx::extents shape) const {
        smx::int64 const place = id.query * shape.keys / (shape.queries > 0 ? shape.queries : 1);
        return {static_cast<int>(place < shape.keys ? place + 1 : shape.keys),
                -0.125f * static_cast<float>(id.head + 1)};
    }
};

// A user's predicate; period 0 hides nothing.
struct stripes {
    int period;
    SMX_HD bool operator()(smx::row_id row, int col) const {
        return period == 0 || (row.head + row.query + col) % period != 0;
    }
};

// Any of the library's factors, chosen at run time.
struct any_factor {
    smx::fixed_scale fixed{1.0};
    float const* data = nullptr;
    bool per_head = false;

    template <class Compute>
    SMX_HD Compute value(smx::row_id row) const {
        return data == nullptr ? fixed.value<Compute>(row) : static_cast<Compute>(per_head ? data[row.head] : *data);
    }
};

struct call {
    void const* x = nullptr;
    void* y = nullptr;
    smx::extents shape;
    smx::strides x_step, y_step;
    any_factor factor;
    smx::causal_mask causal = smx::causal_mask::diagonal(smx::most_rows);
    smx::key_lengths<int> lengths{nullptr};
    smx::flag_tensor<unsigned char, smx::nonzero::visible> flags{nullptr, {}};
    smx::flag_tensor<unsigned char, smx::nonzero::hidden> hidden_flags{nullptr, {}};
    smx::bit_tensor<unsigned char, smx::set_bits::visible> bits{nullptr, {}};
    smx::bit_tensor<unsigned, smx::set_bits::hidden> hidden_bits{nullptr, {}};
    smx::bias_tensor<float> bias{nullptr, {}};
    smx::bias_tensor<smx::half> half_bias{nullptr, {}};
    int window = 0;
    int period = 0;
    smx::empty_row when_empty = smx::empty_row::zeros;
    void* log_sum_exp = nullptr;
    smx::device_limits const* at_most = nullptr;  // what the GPU is to be taken for, where that is less
};

// The types a mask is put together from. `composed` and `structured` serve every subset of their parts, since each part
// has a value that hides nothing.
enum class family {
    none,
    causal,
    lengths,
    flags,
    hidden_flags,
    bits,
    bias,
    half_bias,
    structured,       // causal and lengths
    structured_bits,  // causal and lengths and bits
    composed,         // causal and lengths and flags, with a bias
    either_of,        // lengths or flags or a user's window
    either_bits,      // lengths or hidden bits
    two_ends,         // causal or lengths, with a half bias
    written,          // a user's mask with a span and a bias
    predicate         // a user's function
};

inline char const* name_of(family which) {
    switch (which) {
        case family::none:
            return "no_mask";
        case family::causal:
            return "causal";
        case family::lengths:
            return "key_lengths";
        case family::flags:
            return "mask_tensor";
        case family::hidden_flags:
            return "hidden_where";
        case family::bits:
            return "mask_bits";
        case family::bias:
            return "bias_tensor<float>";
        case family::half_bias:
            return "bias_tensor<half>";
        case family::structured:
            return "both(causal, key_lengths)";
        case family::structured_bits:
            return "both(causal, key_lengths, mask_bits)";
        case family::composed:
            return "both(causal, key_lengths, mask_tensor, bias_tensor)";
        case family::either_of:
            return "either(key_lengths, mask_tensor, window)";
        case family::either_bits:
            return "either(key_lengths, hidden_bits)";
        case family::two_ends:
            return "both(bias_tensor<half>, either(causal, key_lengths))";
        case family::written:
            return "sloped";
        case family::predicate:
            return "visible_where";
    }
    return "?";
}

template <family Family>
auto mask_of(call const& c) {
    if constexpr (Family == family::none) {
        return smx::no_mask{};
    } else if constexpr (Family == family::causal) {
        return c.causal;
    } else if constexpr (Family == family::lengths) {
        return c.lengths;
    } else if constexpr (Family == family::flags) {
        return c.flags;
    } else if constexpr (Family == family::hidden_flags) {
        return c.hidden_flags;
    } else if constexpr (Family == family::bits) {
        return c.bits;
    } else if constexpr (Family == family::bias) {
        return c.bias;
    } else if constexpr (Family == family::half_bias) {
        return c.half_bias;
    } else if constexpr (Family == family::structured) {
        return smx::both(c.causal, c.lengths);
    } else if constexpr (Family == family::structured_bits) {
        return smx::both(c.causal, c.lengths, c.bits);
    } else if constexpr (Family == family::composed) {
        return smx::both(c.causal, c.lengths, c.flags, c.bias);
    } else if constexpr (Family == family::either_of) {
        return smx::either(c.lengths, c.flags, dotted_window{c.window});
    } else if constexpr (Family == family::either_bits) {
        return smx::either(c.lengths, c.hidden_bits);
    } else if constexpr (Family == family::two_ends) {
        return smx::both(c.half_bias, smx::either(c.causal, c.lengths));
    } else if constexpr (Family == family::written) {
        return sloped{};
    } else {
        return smx::visible_where(stripes{c.period});
    }
}

// What a runner takes its factor as.
enum class factor_type { any, fixed, device, head };

template <factor_type Factor>
auto factor_of(call const& c) {
    if constexpr (Factor == factor_type::any) {
        return c.factor;
    } else if constexpr (Factor == factor_type::fixed) {
        return c.factor.fixed;
    } else if constexpr (Factor == factor_type::device) {
        return smx::device_scale<float>(c.factor.data);
    } else {
        return smx::head_scale<float>(c.factor.data);
    }
}

}  // namespace device
