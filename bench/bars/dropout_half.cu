// Half rows of 2048 columns with a dropout: forward, as it is stored, and backward, as the gradient is loaded.
#include "launchers.cuh"

namespace bench {

namespace {
using choice = smx::for_columns<article_columns, article_columns>;
auto dropout() { return smx::dropout(dropped_share, 1, 2); }
}  // namespace

smx::status launch_dropout_half(cudaStream_t stream, call const& c) {
    return smx::launch_auto<choice>(stream, scores_of<smx::half>(c), factor_of(c), smx::no_mask(),
                                    smx::dropped(probabilities_of<smx::half>(c), dropout()));
}

smx::status launch_dropout_backward_half(cudaStream_t stream, call const& c) {
    return smx::launch_auto_backward<choice>(
        stream, smx::saved_probabilities(static_cast<smx::half const*>(c.x), c.shape),
        smx::dropped(smx::incoming_gradients(static_cast<smx::half const*>(c.dy)), dropout()), factor_of(c),
        smx::no_mask(), smx::gradients(static_cast<smx::half*>(c.y)));
}

}  // namespace bench
