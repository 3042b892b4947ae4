// Rows of 2048 columns with any mask: the one kernel that launch_auto would run.
#pragma once
#include "launchers.cuh"

namespace bench {

template <class T, class Mask>
smx::status launch_chosen(cudaStream_t stream, call const& c, Mask const& masks) {
    using with_bulk = chosen_kernel<T, Mask, article_columns, true>;
    using without = chosen_kernel<T, Mask, article_columns, false>;
    return c.bulk_copies ? smx::launch<with_bulk>(stream, scores_of<T>(c), factor_of(c), masks, probabilities_of<T>(c))
                         : smx::launch<without>(stream, scores_of<T>(c), factor_of(c), masks, probabilities_of<T>(c));
}

template <class T>
smx::status launch_article(cudaStream_t stream, mask_kind masks, call const& c) {
    return with_mask<T>(masks, c, [&](auto const& mask) { return launch_chosen<T>(stream, c, mask); });
}

}  // namespace bench
