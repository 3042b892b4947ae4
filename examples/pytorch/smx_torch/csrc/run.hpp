// From a call to smx: the types of its tensors become types, its mask a row of the table.
#pragma once
#include "masks.hpp"

namespace smx_torch {

// Numbers of any type, packed.
struct any_output {
    void* data;
    element type;

    struct row {
        void* start;
        element type;

        template <int Width, class Compute>
        SMX_HD void store(int col, smx::pack<Compute, Width> const& values) const {
            switch (type) {
                case element::half: return store_as<smx::half>(col, values);
                case element::bfloat16: return store_as<smx::bfloat16>(col, values);
                case element::single: return store_as<float>(col, values);
                case element::wide: return store_as<double>(col, values);
            }
        }

    private:
        template <class Element, int Width, class Compute>
        SMX_HD void store_as(int col, smx::pack<Compute, Width> const& values) const {
            typename smx::dense_output<Element>::row const as_stored{static_cast<Element*>(start)};
            as_stored.template store<Width>(col, values);
        }
    };

    SMX_HD row bind(smx::row_id id) const {
        return {static_cast<char*>(data) + bytes_of(type) * id.cols * id.index, type};
    }
};

// The same, or nothing.
struct maybe_output {
    any_output output;

    struct row {
        any_output::row stored;

        template <int Width, class Compute>
        SMX_HD void store(int col, smx::pack<Compute, Width> const& values) const {
            if (stored.start != nullptr) stored.template store<Width>(col, values);
        }
    };

    SMX_HD row bind(smx::row_id id) const {
        return {output.data != nullptr ? output.bind(id) : any_output::row{nullptr, output.type}};
    }
};

// The same times a number.
struct multiplied_output {
    any_output output;
    double times;

    struct row {
        any_output::row stored;
        double times;

        template <int Width, class Compute>
        SMX_HD void store(int col, smx::pack<Compute, Width> values) const {
            SMX_UNROLL
            for (int i = 0; i < Width; ++i) values[i] *= static_cast<Compute>(times);
            stored.template store<Width>(col, values);
        }
    };

    SMX_HD row bind(smx::row_id id) const { return {output.bind(id), times}; }
};

// The log-sum-exp of each row, where it is wanted.
struct any_sums {
    void* data;

    template <class Compute>
    SMX_HD void store(smx::row_id row, smx::statistics<Compute> stats) const {
        if (data != nullptr) smx::log_sum_exp<Compute>(static_cast<Compute*>(data)).store(row, stats);
    }
};

// Place is where rows run: forward(x, scale, mask, y, extras...) and backward(y, dy, scale, mask, dx).
template <class Element, class Place>
smx::status run_forward(Place const& place, forward_call const& c) {
    auto const x = smx::scores(static_cast<Element const*>(c.scores.data), c.shape, c.scores.step);
    smx::fixed_scale const factor(c.scale);
    auto const usual = [&](auto const& mask) {
        return place.forward(x, factor, mask, smx::probabilities(static_cast<Element*>(c.probabilities)), c.when_empty);
    };
    auto const any = [&](any_mask const& mask) {
        return place.forward(x, factor, mask, any_output{c.probabilities, c.probabilities_type}, c.when_empty, any_sums{c.log_sum_exp});
    };
    bool const is_usual = c.probabilities_type == type_of<Element> && c.log_sum_exp == nullptr;
    return with_mask<Element>(c.masks, c.shape, is_usual, usual, any);
}

template <class Element, class Place>
smx::status run_backward(Place const& place, backward_call const& c) {
    auto const y = smx::saved_probabilities(static_cast<Element const*>(c.probabilities.data), c.shape, c.probabilities.step);
    auto const dy = smx::incoming_gradients(static_cast<Element const*>(c.incoming.data), c.incoming.step);
    smx::fixed_scale const factor(c.scale);
    auto const usual = [&](auto const& mask) { return place.backward(y, dy, factor, mask, smx::gradients(static_cast<Element*>(c.gradients))); };
    auto const any = [&](any_mask const& mask) { return place.backward(y, dy, factor, mask, any_output{c.gradients, c.gradients_type}); };
    return with_mask<Element>(c.masks, c.shape, c.gradients_type == type_of<Element>, usual, any);
}

// With the gradient of a bias there is the general mask alone.
template <class Element, class Place>
smx::status run_backward_with_bias(Place const& place, backward_call const& c) {
    auto const y = smx::saved_probabilities(static_cast<Element const*>(c.probabilities.data), c.shape, c.probabilities.step);
    auto const dy = smx::incoming_gradients(static_cast<Element const*>(c.incoming.data), c.incoming.step);
    auto* const sums = static_cast<float*>(const_cast<void*>(c.bias_gradients.data));
    return place.backward(y, dy, smx::fixed_scale(c.scale), any_mask(c.masks), maybe_output{{c.gradients, c.gradients_type}},
                          smx::bias_gradients(sums, c.bias_gradients.step));
}

inline auto dropout_of(dropout_parts const& given) { return smx::dropout(given.probability, given.seed, given.seed + 1); }

// With a dropout there is the general mask alone.
template <class Element, class Place>
smx::status run_dropout(Place const& place, forward_call const& c) {
    return place.forward(smx::scores(static_cast<Element const*>(c.scores.data), c.shape, c.scores.step), smx::fixed_scale(c.scale), any_mask(c.masks),
                         smx::dropped(any_output{c.probabilities, c.probabilities_type}, dropout_of(c.dropout)), c.when_empty, any_sums{c.log_sum_exp});
}

template <class Element, class Place>
smx::status run_dropout_backward(Place const& place, dropout_backward_call const& c) {
    auto const x = smx::scores(static_cast<Element const*>(c.scores.data), c.shape, c.scores.step);
    auto const y = smx::recomputed_probabilities(x, static_cast<smx::compute_of<Element> const*>(c.log_sum_exp));
    auto const dy = smx::incoming_gradients(static_cast<Element const*>(c.incoming.data), c.incoming.step);
    return place.backward(y, smx::dropped(dy, dropout_of(c.dropout)), smx::fixed_scale(c.scale), any_mask(c.masks),
                          multiplied_output{{c.gradients, c.gradients_type}, c.times});
}

}  // namespace smx_torch
