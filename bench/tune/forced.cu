// The kernels that tune.cpp forces on rows of SMX_TUNE_TYPE under the mask SMX_TUNE_MASK: the build says which, so that
// each list is a file of its own to the compiler.
#include "forced.cuh"

namespace bench {
namespace {

template <class List, class Group>
void add_warps(List& list) {
    constexpr int vec = List::vec;
    list.template add<smx::resident<Group, vec, 1>, smx::resident<Group, vec, 2>, smx::resident<Group, vec, 4>,
                      smx::packed<Group, vec, 2>, smx::packed<Group, vec, 4>>();
}

// Packs of one 4-byte word: shared memory serves a word a lane, wherever the row starts.
template <class List, class Group, int Threads, int... Packs>
void add_words(List& list) {
    list.template add<smx::packed<Group, List::word, Packs, Threads>...>();
}

template <class List, int Threads>
void add_blocks(List& list) {
    using group = smx::block_group<Threads>;
    constexpr int vec = List::vec;
    list.template add<smx::resident<group, vec, 2>, smx::resident<group, vec, 3>, smx::resident<group, vec, 4>,
                      smx::resident<group, vec, 6>, smx::resident<group, vec, 8>, smx::compact<group, vec, 4>,
                      smx::compact<group, vec, 6>, smx::compact<group, vec, 8>>();
}

// Each in clusters of as few blocks as hold the row.
template <class List>
void add_clusters(List& list) {
    using narrow = smx::cluster_group<128, 16>;
    using group = smx::cluster_group<256, 16>;
    using wide = smx::cluster_group<512, 16>;
    constexpr int vec = List::vec;
    list.template add<fitted_resident<group, vec, 2>, fitted_resident<group, vec, 4>, fitted_resident<group, vec, 6>,
                      fitted_resident<group, vec, 8>, fitted_resident<wide, vec, 2>, fitted_resident<wide, vec, 4>,
                      fitted_resident<wide, vec, 8>, fitted_compact<narrow, vec, 8>, fitted_compact<narrow, vec, 16>,
                      fitted_compact<group, vec, 4>, fitted_compact<group, vec, 8>, fitted_compact<group, vec, 16>,
                      fitted_compact<smx::cluster_group<320, 16>, vec, 10>,
                      fitted_compact<smx::cluster_group<320, 16>, vec, 16>, fitted_compact<wide, vec, 8>,
                      fitted_compact<wide, vec, 16>, fitted_compact<smx::cluster_group<768, 16>, vec, 8>,
                      fitted_compact<smx::cluster_group<1024, 16>, vec, 8>>();
}

template <class List>
void add_chunked(List& list) {
    using smx::block_group;
    constexpr int vec = List::vec;
    list.template add<smx::chunked_staged<block_group<256>, vec, 4>, smx::chunked_staged<block_group<512>, vec, 4>,
                      smx::chunked_staged<block_group<1024>, vec, 4>>();
    list.template add<smx::chunked_online<smx::warp_group<32>, vec, 4>, smx::chunked_online<block_group<256>, vec, 4>,
                      smx::chunked_online<block_group<512>, vec, 4>, smx::chunked_online<block_group<512>, vec, 8>,
                      smx::chunked_online<block_group<1024>, vec, 4>>();
}

// Few rows: a GPU's worth of lanes, and little to do for each.
template <class List>
void add_for_few(List& list) {
    using smx::cluster_group, smx::block_group;
    constexpr int vec = List::vec;
    list.template add<smx::resident<block_group<256>, vec, 1>, smx::resident<block_group<512>, vec, 1>,
                      smx::resident<block_group<1024>, vec, 1>, fitted_resident<cluster_group<256, 16>, vec, 1>,
                      fitted_resident<cluster_group<512, 16>, vec, 1>, fitted_resident<cluster_group<512, 16>, vec, 2>,
                      fitted_resident<cluster_group<1024, 16>, vec, 1>>();
}

// Every family, group by pack by block.
template <class List>
void add_everything(List& list) {
    using smx::packed, smx::resident, smx::thread_group, smx::warp_group;
    constexpr int vec = List::vec;
    list.template add<resident<thread_group, vec, 1>, resident<thread_group, vec, 2>, resident<thread_group, vec, 4>,
                      resident<thread_group, vec, 8>, packed<thread_group, vec, 1, 64>,
                      packed<thread_group, vec, 2, 64>, packed<thread_group, vec, 4, 64>,
                      packed<thread_group, vec, 8, 64>>();
    add_words<List, thread_group, 64, 5, 9, 17, 25, 32>(list);
    list.template add<packed<thread_group, 1, 7, 64, 8>, packed<thread_group, List::word, 6, 64, 8>,
                      packed<thread_group, List::word, 9, 64, 3>, packed<thread_group, List::word, 12, 64, 3>,
                      packed<thread_group, List::word, 17, 64, 2>, packed<thread_group, List::word, 25, 64, 2>>();
    add_words<List, warp_group<2>, 64, 17, 25, 32>(list);
    add_words<List, warp_group<4>, 64, 13, 17, 25>(list);
    add_words<List, warp_group<8>, 128, 9, 13, 17, 25>(list);
    add_words<List, warp_group<16>, 128, 9, 13, 17, 25>(list);
    add_words<List, warp_group<32>, 128, 9, 13, 17, 25, 32>(list);
    add_warps<List, warp_group<2>>(list);
    add_warps<List, warp_group<4>>(list);
    add_warps<List, warp_group<8>>(list);
    add_warps<List, warp_group<16>>(list);
    add_warps<List, warp_group<32>>(list);
    list.template add<resident<warp_group<32>, vec, 8>, resident<warp_group<32>, vec, 4, 64>,
                      packed<warp_group<32>, vec, 8>>();
    add_blocks<List, 64>(list);
    add_blocks<List, 96>(list);
    add_blocks<List, 128>(list);
    add_blocks<List, 192>(list);
    add_blocks<List, 256>(list);
    add_blocks<List, 384>(list);
    add_blocks<List, 512>(list);
    add_blocks<List, 1024>(list);
    add_clusters(list);
    add_chunked(list);
}

// What may win under a mask: a lane holds little, since what the mask says of it takes registers too.
template <class List, class Group>
void add_masked_group(List& list) {
    constexpr int vec = List::vec;
    list.template add<smx::resident<Group, vec, 2>, smx::resident<Group, vec, 3>, smx::resident<Group, vec, 4>>();
}
template <class List>
void add_masked(List& list) {
    using smx::packed, smx::compact, smx::warp_group, smx::block_group, smx::cluster_group;
    constexpr int vec = List::vec, word = List::word;
    list.template add<packed<smx::thread_group, word, 17, 64>, packed<warp_group<2>, word, 17, 64>,
                      packed<warp_group<4>, word, 17, 64>, packed<warp_group<8>, word, 17>,
                      packed<warp_group<16>, word, 17>, packed<warp_group<4>, vec, 4>, packed<warp_group<8>, vec, 4>,
                      packed<warp_group<16>, vec, 4>, packed<warp_group<32>, vec, 4>>();
    add_masked_group<List, warp_group<2>>(list);
    add_masked_group<List, warp_group<4>>(list);
    add_masked_group<List, warp_group<8>>(list);
    add_masked_group<List, warp_group<16>>(list);
    add_masked_group<List, warp_group<32>>(list);
    add_masked_group<List, block_group<64>>(list);
    add_masked_group<List, block_group<96>>(list);
    add_masked_group<List, block_group<128>>(list);
    add_masked_group<List, block_group<192>>(list);
    add_masked_group<List, block_group<256>>(list);
    add_masked_group<List, block_group<384>>(list);
    add_masked_group<List, block_group<512>>(list);
    list.template add<compact<block_group<64>, vec, 8>, compact<block_group<128>, vec, 8>,
                      compact<block_group<256>, vec, 8>, compact<block_group<512>, vec, 8>,
                      smx::resident<block_group<1024>, vec, 2>, compact<block_group<1024>, vec, 4>>();
    list.template add<fitted_resident<cluster_group<256, 16>, vec, 2>, fitted_resident<cluster_group<256, 16>, vec, 4>,
                      fitted_resident<cluster_group<512, 16>, vec, 4>, fitted_compact<cluster_group<128, 16>, vec, 8>,
                      fitted_compact<cluster_group<256, 16>, vec, 8>, fitted_compact<cluster_group<512, 16>, vec, 8>>();
    list.template add<smx::chunked_online<block_group<512>, vec, 4>>();
}

}  // namespace

template <class T, mask_kind Masks>
std::vector<candidate> candidates() {
    using list_type = kernels<T, Masks>;
    list_type list;
    list.add_automatic();
    if constexpr (Masks == mask_kind::none) {
        add_everything(list);
    } else {
        add_masked(list);
    }
    add_for_few(list);
    return list.list();
}

template std::vector<candidate> candidates<SMX_TUNE_TYPE, mask_kind::SMX_TUNE_MASK>();

}  // namespace bench
