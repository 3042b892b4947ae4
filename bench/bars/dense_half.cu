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

launch_cost measure_launch_cost(call const& c) {
    constexpr int columns = 32;
    using kernel = chosen_kernel<smx::half, columns>;
    auto const o =
        smx::make_operands(scores_of<smx::half>(c), factor_of(c), smx::no_mask(), probabilities_of<smx::half>(c));
    cudaStream_t stream = nullptr;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(kernel::threads);
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
            must(cudaLaunchKernelEx(&config, smx::softmax_kernel<kernel, std::remove_const_t<decltype(o)>>, o),
                 "cudaLaunchKernelEx");
        }));
    }
    must(cudaStreamDestroy(stream), "cudaStreamDestroy");
    if (!failed) throw std::runtime_error(failed.argument);
    return {median_of(automatic), median_of(bare)};
}

}  // namespace bench
