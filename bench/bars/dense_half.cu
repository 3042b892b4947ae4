// launch_auto on half scores without a mask, and what its launch costs the host.
#include <chrono>
#include <stdexcept>
#include <type_traits>

#include "launchers.cuh"

namespace bench {

template <>
smx::status launch_dense<smx::half>(cudaStream_t stream, call const& c) {
    return launch_automatic<smx::half>(stream, c, smx::no_mask());
}

template <class Kernel>
static launch_cost cost_beside(call const& c) {
    auto const o =
        smx::make_operands(scores_of<smx::half>(c), factor_of(c), smx::no_mask(), probabilities_of<smx::half>(c));
    smx::row_shape row;
    row.cols = launch_cost_columns;
    row.element_bytes = int{sizeof(smx::half)};
    cudaStream_t stream = nullptr;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(Kernel::threads);
    config.dynamicSmemBytes = static_cast<std::size_t>(Kernel::shared_bytes(row));
    config.stream = stream;

    constexpr int rounds = 41, launches = 200;  // a round fits the stream's queue
    std::vector<double> automatic, bare;
    auto const seconds_of_one = [&](auto const& launch) {
        auto const start = std::chrono::steady_clock::now();
        for (int i = 0; i < launches; ++i) launch();
        auto const end = std::chrono::steady_clock::now();
        must(cudaStreamSynchronize(stream), "launches");
        return std::chrono::duration<double>(end - start).count() / launches;
    };
    smx::status failed;
    for (int i = 0; i < rounds; ++i) {
        automatic.push_back(seconds_of_one([&] {
            if (smx::status const s = launch_dense<smx::half>(stream, c); !s) failed = s;
        }));
        bare.push_back(seconds_of_one([&] {
            must(cudaLaunchKernelEx(&config, smx::softmax_kernel<typename Kernel::plain, std::remove_const_t<decltype(o)>>, o),
                 "cudaLaunchKernelEx");
        }));
    }
    must(cudaStreamDestroy(stream), "cudaStreamDestroy");
    if (!failed.ok()) throw std::runtime_error(failed.argument);
    return {median_of(automatic), median_of(bare)};
}

launch_cost measure_launch_cost(call const& c) {
    return c.bulk_copies ? cost_beside<chosen_kernel<smx::half, smx::no_mask, launch_cost_columns, true>>(c)
                         : cost_beside<chosen_kernel<smx::half, smx::no_mask, launch_cost_columns, false>>(c);
}

}  // namespace bench
