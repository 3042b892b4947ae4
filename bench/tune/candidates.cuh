// The lists of kernels that tune.cpp forces: group x packs x block, each compiled once a dtype.
#pragma once
#include "../bars/launchers.cuh"
#include "candidates.hpp"

namespace bench {

template <class Kernel, class T>
smx::status launch_forced(cudaStream_t stream, call const& c) {
    return smx::launch<Kernel>(stream, scores_of<T>(c), factor_of(c), smx::no_mask(), probabilities_of<T>(c));
}

template <class T, class... Kernels>
void append(std::vector<candidate>& list) {
    (list.push_back({Kernels::value, launch_forced<Kernels, T>}), ...);
}

template <class T, int Lanes, int Vec>
void append_warps(std::vector<candidate>& list) {
    using group = smx::warp_group<Lanes>;
    append<T, smx::resident<group, Vec, 1>, smx::resident<group, Vec, 2>, smx::resident<group, Vec, 4>,
           smx::packed<group, Vec, 2>, smx::packed<group, Vec, 4>>(list);
}

// Packs of one 4-byte word: shared memory serves a word a lane, wherever the row starts.
template <class T, class Group, int Threads, int... Packs>
void append_words(std::vector<candidate>& list) {
    append<T, smx::packed<Group, 4 / int{sizeof(T)}, Packs, Threads>...>(list);
}

template <class T, int Threads, int Vec>
void append_blocks(std::vector<candidate>& list) {
    using group = smx::block_group<Threads>;
    append<T, smx::resident<group, Vec, 2>, smx::resident<group, Vec, 4>, smx::resident<group, Vec, 8>,
           smx::compact<group, Vec, 4>, smx::compact<group, Vec, 8>>(list);
}

template <class T, int Blocks, int Vec>
void append_clusters(std::vector<candidate>& list) {
    using narrow = smx::cluster_group<128, Blocks>;
    using group = smx::cluster_group<256, Blocks>;
    using wide = smx::cluster_group<512, Blocks>;
    append<T, smx::resident<narrow, Vec, 8>, smx::resident<group, Vec, 2>, smx::resident<group, Vec, 4>,
           smx::resident<group, Vec, 6>, smx::resident<group, Vec, 8>, smx::resident<wide, Vec, 4>,
           smx::resident<wide, Vec, 8>, smx::compact<narrow, Vec, 8>, smx::compact<narrow, Vec, 16>,
           smx::compact<group, Vec, 8>, smx::compact<smx::cluster_group<320, Blocks>, Vec, 16>,
           smx::compact<wide, Vec, 16>>(list);
}

template <class T>
std::vector<candidate> candidates() {
    constexpr int vec = 16 / int{sizeof(T)};
    using smx::block_group, smx::packed, smx::resident, smx::thread_group, smx::warp_group;
    std::vector<candidate> list;
    append<T, resident<thread_group, vec, 1>, resident<thread_group, vec, 2>, resident<thread_group, vec, 4>,
           resident<thread_group, vec, 8>, packed<thread_group, vec, 1, 64>, packed<thread_group, vec, 2, 64>,
           packed<thread_group, vec, 4, 64>, packed<thread_group, vec, 8, 64>>(list);
    append_words<T, thread_group, 64, 5, 9, 17, 25, 32>(list);
    append_words<T, warp_group<2>, 64, 17, 25, 32>(list);
    append_words<T, warp_group<4>, 64, 13, 17, 25>(list);
    append_words<T, warp_group<8>, 128, 9, 13, 17, 25>(list);
    append_words<T, warp_group<16>, 128, 9, 13, 17, 25>(list);
    append_words<T, warp_group<32>, 128, 9, 13, 17, 25, 32>(list);
    append_warps<T, 2, vec>(list);
    append_warps<T, 4, vec>(list);
    append_warps<T, 8, vec>(list);
    append_warps<T, 16, vec>(list);
    append_warps<T, 32, vec>(list);
    append<T, resident<warp_group<32>, vec, 8>, resident<warp_group<32>, vec, 4, 64>, packed<warp_group<32>, vec, 8>>(
        list);
    append_blocks<T, 64, vec>(list);
    append_blocks<T, 128, vec>(list);
    append_blocks<T, 256, vec>(list);
    append_blocks<T, 512, vec>(list);
    append_blocks<T, 1024, vec>(list);
    append_clusters<T, 2, vec>(list);
    append_clusters<T, 4, vec>(list);
    append_clusters<T, 8, vec>(list);
    append_clusters<T, 16, vec>(list);
    append<T, smx::chunked_staged<block_group<256>, vec, 4>, smx::chunked_staged<block_group<512>, vec, 4>,
           smx::chunked_staged<block_group<1024>, vec, 4>>(list);
    append<T, smx::chunked_online<warp_group<32>, vec, 4>, smx::chunked_online<block_group<256>, vec, 4>,
           smx::chunked_online<block_group<512>, vec, 4>, smx::chunked_online<block_group<512>, vec, 8>,
           smx::chunked_online<block_group<1024>, vec, 4>>(list);
    return list;
}

}  // namespace bench
