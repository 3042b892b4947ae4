// Some kernels of every family: those that came first at some length when tune forced them all.
#pragma once
#include "../tune/forced.cuh"
#include "list.hpp"

namespace bench {

template <class T>
std::vector<candidate> crossover_kernels() {
    using smx::block_group, smx::cluster_group, smx::compact, smx::packed, smx::resident, smx::thread_group,
        smx::warp_group;
    using list_type = kernels<T, mask_kind::none>;
    constexpr int vec = list_type::vec, word = list_type::word;
    list_type list;
    list.add(candidate{nullptr, launch_dense<T>});
    list.template add<resident<thread_group, vec, 1>, resident<thread_group, vec, 2>, resident<thread_group, vec, 4>,
                      resident<thread_group, vec, 8>, packed<thread_group, vec, 1, 64>,
                      packed<thread_group, vec, 2, 64>, packed<thread_group, vec, 4, 64>,
                      packed<thread_group, word, 17, 64>, packed<thread_group, word, 32, 64>>();
    list.template add<resident<warp_group<2>, vec, 2>, resident<warp_group<4>, vec, 2>, resident<warp_group<8>, vec, 2>,
                      resident<warp_group<8>, vec, 4, 64>, resident<warp_group<16>, vec, 4>,
                      packed<warp_group<16>, word, 17>, packed<warp_group<16>, vec, 8>>();
    list.template add<resident<warp_group<32>, vec, 1>, resident<warp_group<32>, vec, 2>,
                      resident<warp_group<32>, vec, 4, 64>, resident<warp_group<32>, vec, 8>,
                      packed<warp_group<32>, word, 32>>();
    list.template add<resident<block_group<64>, vec, 1>, resident<block_group<64>, vec, 2>,
                      resident<block_group<64>, vec, 4>, resident<block_group<128>, vec, 4>,
                      resident<block_group<256>, vec, 4>, compact<block_group<256>, vec, 8>,
                      compact<block_group<512>, vec, 8>, compact<block_group<1024>, vec, 8>>();
    list.template add<fitted_resident<cluster_group<256, 16>, vec, 2>, fitted_compact<cluster_group<128, 16>, vec, 8>,
                      fitted_compact<cluster_group<256, 16>, vec, 8>, fitted_compact<cluster_group<512, 16>, vec, 8>,
                      smx::deep<cluster_group<256, 16>, vec, 8, 13>, smx::deep<cluster_group<512, 16>, vec, 8, 13>>();
    list.template add<smx::chunked_staged<block_group<256>, vec, 4>, smx::chunked_staged<block_group<512>, vec, 4>,
                      smx::chunked_online<warp_group<32>, vec, 4>, smx::chunked_online<block_group<256>, vec, 4>,
                      smx::chunked_online<block_group<512>, vec, 4>, smx::chunked_online<block_group<1024>, vec, 4>>();
    return list.list();
}

}  // namespace bench
