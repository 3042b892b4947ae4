// One attention softmax of the engine: what is known of it when the plan is made, and how smx is called for it.
#pragma once
#include <cuda_runtime_api.h>
#include <smx/smx.hpp>

// [parts]
struct attention_softmax {
    char const* name;
    smx::extents shape;
    double head_dim;
    smx::half const* scores;
    smx::half* probabilities;
    int const* lengths;  // keys in use, one a batch

    // The parts of the call, spelled once: use(scores, scale, mask, probabilities) checks, launches or runs them.
    template <class Use>
    auto with_parts(Use use) const {
        return use(smx::scores(scores, shape), smx::inv_sqrt(head_dim),
                   smx::both(smx::causal_mask::bottom_right(), smx::key_lengths(lengths)),
                   smx::probabilities(probabilities));
    }
};
// [/parts]

smx::status launch(attention_softmax const&, cudaStream_t);
