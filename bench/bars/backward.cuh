// The backward pass as launch_auto_backward runs it.
#pragma once
#include "launchers.cuh"

namespace bench {

template <class Choice, class T, class Mask>
smx::status launch_automatic_backward(cudaStream_t stream, call const& c, Mask const& masks) {
    return smx::launch_auto_backward<Choice>(stream, smx::saved_probabilities(static_cast<T const*>(c.x), c.shape),
                                             smx::incoming_gradients(static_cast<T const*>(c.dy)), factor_of(c), masks,
                                             smx::gradients(static_cast<T*>(c.y)));
}

template <class T>
smx::status launch_dense_backward(cudaStream_t stream, call const& c) {
    return launch_automatic_backward<smx::every_kernel, T>(stream, c, smx::no_mask());
}

template <class T>
smx::status launch_article_backward(cudaStream_t stream, mask_kind masks, call const& c) {
    using choice = smx::for_columns<article_columns, article_columns>;
    return with_kind(masks, [&](auto kind) {
        constexpr mask_kind known = decltype(kind)::value;
        if constexpr (has_backward(known)) {
            return launch_automatic_backward<choice, T>(stream, c, mask_of<T, known>(c));
        } else {
            return smx::status{smx::errc::bad_shape, "masks", "one that has_backward() names"};
        }
    });
}

}  // namespace bench
