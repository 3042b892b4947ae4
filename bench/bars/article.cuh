// Rows of 2048 columns with any mask: the one kernel that launch_auto would run.
#pragma once
#include "launchers.cuh"

namespace bench {

template <class T, class Mask>
smx::status launch_chosen(cudaStream_t stream, call const& c, Mask const& masks) {
    using operands = decltype(smx::make_operands(scores_of<T>(c), factor_of(c), masks, probabilities_of<T>(c)));
    using with_bulk = chosen_kernel<T, article_columns, operands::spans_row, true>;
    using without = chosen_kernel<T, article_columns, operands::spans_row, false>;
    return c.bulk_copies ? smx::launch<with_bulk>(stream, scores_of<T>(c), factor_of(c), masks, probabilities_of<T>(c))
                         : smx::launch<without>(stream, scores_of<T>(c), factor_of(c), masks, probabilities_of<T>(c));
}

template <class T>
smx::status launch_article(cudaStream_t stream, mask_kind masks, call const& c) {
    switch (masks) {
        case mask_kind::none:
            return launch_chosen<T>(stream, c, smx::no_mask());
        case mask_kind::causal:
            return launch_chosen<T>(stream, c, causal_of(c));
        case mask_kind::flags:
            return launch_chosen<T>(stream, c, flags_of(c));
        case mask_kind::bias:
            return launch_chosen<T>(stream, c, bias_of<T>(c));
        case mask_kind::causal_lengths_flags:
            return launch_chosen<T>(stream, c, smx::both(causal_of(c), lengths_of(c), flags_of(c)));
        case mask_kind::causal_bias:
            return launch_chosen<T>(stream, c, smx::both(causal_of(c), bias_of<T>(c)));
        case mask_kind::bias_flags:
            return launch_chosen<T>(stream, c, smx::both(bias_of<T>(c), flags_of(c)));
        case mask_kind::all_four:
            return launch_chosen<T>(stream, c, smx::both(causal_of(c), lengths_of(c), flags_of(c), bias_of<T>(c)));
    }
    return {};
}

}  // namespace bench
