// .npy files as the operator takes them: checked against the shape of the scores, converted where smx has no such
// dtype.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "call.hpp"
#include "file.hpp"
#include "npy.hpp"

struct input_file {
    std::string path;
    npy::array array;

    explicit input_file(std::string const& name) : path(name) {
        try {
            array = npy::parse_array(file::read(name));
        } catch (npy::error const& error) {
            refuse(error.what());
        }
    }

    [[noreturn]] void refuse(std::string const& why) const { throw std::runtime_error(path + ": " + why); }
};

namespace detail {

// f(pointer to the elements in their own type)
template <class Function>
auto with_integers(npy::array const& array, Function function) {
    bool const is_signed = array.type.kind == 'i';
    switch (array.type.bytes) {
        case 1:
            return is_signed ? function(array.data<std::int8_t>()) : function(array.data<std::uint8_t>());
        case 2:
            return is_signed ? function(array.data<std::int16_t>()) : function(array.data<std::uint16_t>());
        case 4:
            return is_signed ? function(array.data<std::int32_t>()) : function(array.data<std::uint32_t>());
        default:
            return is_signed ? function(array.data<std::int64_t>()) : function(array.data<std::uint64_t>());
    }
}

template <class From, class To>
std::vector<unsigned char> converted(npy::array const& array) {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(array.count) * sizeof(To));
    for (std::size_t i = 0; i < static_cast<std::size_t>(array.count); ++i) {
        To const value = smx::dtype<To>::narrow(smx::dtype<From>::widen(array.data<From>()[i]));
        std::memcpy(bytes.data() + i * sizeof(To), &value, sizeof(To));
    }
    return bytes;
}

template <class To>
std::vector<unsigned char> converted_to(npy::array const& array) {
    if (array.type.bytes == 2) return converted<smx::half, To>(array);
    return array.type.bytes == 4 ? converted<float, To>(array) : converted<double, To>(array);
}

}  // namespace detail

inline dtype scores_dtype(input_file const& scores, bool is_bfloat16) {
    npy::dtype const type = scores.array.type;
    if (is_bfloat16) {
        if (type == npy::dtype{'u', 2}) return dtype::bf16;
        scores.refuse("bfloat16 scores are stored as u2, and the dtype is " + type.name());
    }
    if (type == npy::dtype{'u', 2})
        scores.refuse("the dtype is u2; if these are bfloat16 bits, add --scores-dtype bf16");
    if (type.kind != 'f') scores.refuse("scores must be f2, f4 or f8, and the dtype is " + type.name());
    return type.bytes == 2 ? dtype::f16 : type.bytes == 4 ? dtype::f32 : dtype::f64;
}

inline smx::extents scores_extents(input_file const& scores) {
    npy::shape const& dims = scores.array.dims;
    if (dims.size() != 2 && dims.size() != 4) {
        scores.refuse("scores must have the shape [batch,heads,queries,keys] or [rows,cols], not " +
                      npy::text_of(dims));
    }
    smx::extents const shape =
        dims.size() == 2 ? smx::extents(dims[0], dims[1]) : smx::extents(dims[0], dims[1], dims[2], dims[3]);
    if (shape.keys > smx::most_columns) {
        scores.refuse("a row has " + std::to_string(shape.keys) + " columns, and at most " +
                      std::to_string(smx::most_columns) + " are possible");
    }
    return shape;
}

// Strides with which the file's array repeats over the scores by NumPy's rules, nothing copied.
inline smx::strides broadcast_over(input_file const& small, npy::shape const& scores) {
    npy::shape const& dims = small.array.dims;
    bool fits = dims.size() <= scores.size();
    long long padded[4] = {1, 1, 1, 1};  // aligned at the last axis
    for (std::size_t i = 0; fits && i < dims.size(); ++i) {
        fits = dims[i] == 1 || dims[i] == scores[scores.size() - dims.size() + i];
        padded[4 - dims.size() + i] = dims[i];
    }
    if (!fits)
        small.refuse("the shape " + npy::text_of(dims) + " does not broadcast to the scores' " + npy::text_of(scores));
    return smx::broadcast(smx::extents(padded[0], padded[1], padded[2], padded[3]));
}

inline std::vector<unsigned char> mask_flags(input_file const& mask) {
    if (mask.array.type.kind == 'f') {
        mask.refuse("a mask must be bool or integer, and the dtype is " + mask.array.type.name() +
                    "; a float mask of 0 and -inf is a --bias");
    }
    return detail::with_integers(mask.array, [&](auto const* values) {
        std::vector<unsigned char> flags(static_cast<std::size_t>(mask.array.count));
        for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = values[i] != 0;
        return flags;
    });
}

inline std::vector<unsigned char> bias_values(input_file const& bias, dtype compute) {
    if (bias.array.type.kind != 'f')
        bias.refuse("a bias must be f2, f4 or f8, and the dtype is " + bias.array.type.name());
    return compute == dtype::f64 ? detail::converted_to<double>(bias.array) : detail::converted_to<float>(bias.array);
}

inline std::vector<int> key_lengths(input_file const& lengths, smx::extents shape) {
    npy::array const& array = lengths.array;
    if (array.type.kind == 'f' || array.type.kind == 'b') {
        lengths.refuse("lengths must be integers, and the dtype is " + array.type.name());
    }
    if (array.dims != npy::shape{shape.batch}) {
        lengths.refuse("lengths must have the shape [" + std::to_string(shape.batch) + "], one a batch, not " +
                       npy::text_of(array.dims));
    }
    return detail::with_integers(array, [&](auto const* values) {
        std::vector<int> keys;
        for (long long i = 0; i < array.count; ++i) {
            // A negative number becomes a large one.
            if (static_cast<std::uint64_t>(values[i]) > static_cast<std::uint64_t>(shape.keys)) {
                lengths.refuse("length " + std::to_string(values[i]) + " of batch " + std::to_string(i) +
                               " is not within 0 and the " + std::to_string(shape.keys) + " keys");
            }
            keys.push_back(static_cast<int>(values[i]));
        }
        return keys;
    });
}
