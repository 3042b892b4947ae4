// One softmax described at run time, as the tool's options do, and its way to the types that smx is called with.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <smx/smx.hpp>

enum class dtype { f16, bf16, f32, f64 };

inline char const* name_of(dtype type) {
    static constexpr char const* names[] = {"f16", "bf16", "f32", "f64"};
    return names[static_cast<int>(type)];
}

inline std::size_t bytes_of(dtype type) { return type == dtype::f64 ? 8 : type == dtype::f32 ? 4 : 2; }

// The type that the arithmetic is done in, and that a bias and the log-sum-exp have.
inline dtype compute_of(dtype type) { return type == dtype::f64 ? dtype::f64 : dtype::f32; }

struct memory {
    void const* data = nullptr;
    std::size_t bytes = 0;
};

template <class Element>
memory view(std::vector<Element> const& values) {
    return {values.data(), values.size() * sizeof(Element)};
}

// What is absent is there as its neutral value, so that two mask types serve every combination of options: a diagonal
// that hides nothing, lengths that are all `keys`, one flag of 1 and one bias of 0 with strides of zero.
struct call {
    dtype in = dtype::f32, out = dtype::f32;
    smx::extents shape;
    double scale = 1;
    memory scores;
    smx::causal_mask causal = smx::causal_mask::diagonal(smx::most_rows);
    memory lengths;  // int, one a batch
    smx::padding side = smx::padding::right;
    bool has_tensors = false;  // a mask or a bias tensor; costs every pack of a row something
    memory flags;              // bytes, nonzero = visible
    smx::strides flag_step;
    memory bias;  // compute type
    smx::strides bias_step;
    smx::empty_row when_empty = smx::empty_row::zeros;
    void* probabilities = nullptr;
    void* log_sum_exp = nullptr;  // compute type, one a row

    std::size_t rows() const { return static_cast<std::size_t>(shape.batch * shape.heads * shape.queries); }
    std::size_t elements() const { return rows() * static_cast<std::size_t>(shape.keys); }
};

// Writes packed probabilities in a dtype that is known only at run time: one kernel for all of them. The branch is the
// same for every lane.
struct any_output {
    void* data;
    dtype type;

    struct row {
        void* data;
        dtype type;
        smx::int64 first;  // element

        template <int V, class Compute>
        SMX_HD void store(int col, smx::pack<Compute, V> const& values) const {
            switch (type) {
                case dtype::f16:
                    return store_as<smx::half>(col, values);
                case dtype::bf16:
                    return store_as<smx::bfloat16>(col, values);
                case dtype::f32:
                    return store_as<float>(col, values);
                case dtype::f64:
                    return store_as<double>(col, values);
            }
        }

        template <class T, int V, class Compute>
        SMX_HD void store_as(int col, smx::pack<Compute, V> const& values) const {
            smx::dense_output<T>{static_cast<T*>(data) + first, {}}.bind(smx::row_id()).store(col, values);
        }
    };

    SMX_HD row bind(smx::row_id id) const { return {data, type, id.index * id.cols}; }
};

// run(scores, factor, mask, probabilities, extras...) with every part in its type.
template <class In, class Run>
smx::status with_input(call const& c, Run run) {
    using compute = smx::compute_of<In>;
    auto const run_with = [&](auto const& mask) {
        return run(smx::scores(static_cast<In const*>(c.scores.data), c.shape), smx::fixed_scale(c.scale), mask,
                   any_output{c.probabilities, c.out}, smx::log_sum_exp(static_cast<compute*>(c.log_sum_exp)),
                   c.when_empty);
    };
    auto const structure = smx::both(c.causal, smx::key_lengths(static_cast<int const*>(c.lengths.data), c.side));
    if (!c.has_tensors) return run_with(structure);
    return run_with(smx::both(structure, smx::mask_tensor(static_cast<unsigned char const*>(c.flags.data), c.flag_step),
                              smx::bias_tensor(static_cast<compute const*>(c.bias.data), c.bias_step)));
}

// f(In()) with the type of the scores.
template <class Function>
smx::status with_scores_type(dtype type, Function f) {
    switch (type) {
        case dtype::f16:
            return f(smx::half());
        case dtype::bf16:
            return f(smx::bfloat16());
        case dtype::f64:
            return f(double());
        case dtype::f32:
            break;
    }
    return f(float());
}

inline void require(smx::status const& result) {
    if (result.ok()) return;
    char sentence[256];
    smx::message(result, sentence, sizeof sentence);
    throw std::runtime_error(sentence);
}
