// Kernels that launch_auto never picks, and the factors, outputs and row outputs that the other lists leave out.
#include "device/runners.cuh"

namespace device {

namespace {

using smx::block_group;
using smx::chunked_online;
using smx::chunked_staged;
using smx::cluster_group;
using smx::compact;
using smx::deep;
using smx::resident;
using smx::thread_group;
using smx::warp_group;

// One lane a row, blocks of every size, packs of 1 to 32 columns, groups of a block's odd number of warps.
using odd_list = smx::kernel_list<
    resident<thread_group, 8, 2>, resident<thread_group, 1, 16, 32>, resident<warp_group<2>, 2, 4, 64>,
    resident<warp_group<4>, 16, 1, 256>, resident<warp_group<8>, 1, 4, 8>, resident<warp_group<16>, 4, 3, 1024>,
    resident<warp_group<32>, 32, 1, 32>, resident<block_group<96>, 8, 1>, resident<block_group<1024>, 8, 2>,
    resident<block_group<1024>, 1, 3>, chunked_staged<thread_group, 8, 2>, chunked_staged<warp_group<8>, 4, 1>,
    chunked_staged<warp_group<32>, 1, 3>, chunked_staged<block_group<1024>, 8, 1>, chunked_online<thread_group, 8, 1>,
    chunked_online<warp_group<2>, 2, 3>, chunked_online<warp_group<16>, 32, 1>, chunked_online<block_group<96>, 4, 1>,
    chunked_online<block_group<1024>, 8, 2>>;

// Clusters of every size, with blocks of few and of many warps; packs of one column.
using cluster_list =
    smx::kernel_list<resident<cluster_group<64, 2>, 8, 1>, resident<cluster_group<96, 4>, 4, 3>,
                     resident<cluster_group<1024, 2>, 1, 4>, resident<cluster_group<64, 8>, 8, 2>,
                     resident<cluster_group<128, 16>, 8, 1>, chunked_online<cluster_group<64, 4>, 8, 1>,
                     chunked_online<cluster_group<128, 16>, 2, 2>>;

// Scores that wait as they are stored, in packs of one column to 16 and more packs than numbers would have room for.
using compact_list = smx::kernel_list<compact<thread_group, 8, 2>, compact<warp_group<2>, 1, 9>,
                                      compact<warp_group<8>, 2, 5>, compact<warp_group<32>, 16, 2>,
                                      compact<block_group<96>, 4, 7>, compact<cluster_group<64, 4>, 8, 12>>;

// Scores that wait in registers and, behind them, in shared memory.
using deep_list = smx::kernel_list<deep<block_group<64>, 8, 2, 3>, deep<block_group<96>, 2, 1, 9>,
                                   deep<cluster_group<64, 4>, 8, 3, 6>, deep<cluster_group<96, 16>, 4, 2, 2>>;

using keep_list = smx::kernel_list<resident<thread_group, 4, 8>, deep<block_group<64>, 8, 1, 3>,
                                   compact<block_group<64>, 8, 2>, resident<warp_group<8>, 8, 4>,
                                   resident<block_group<64>, 8, 2>, resident<cluster_group<64, 4>, 8, 1>,
                                   chunked_staged<warp_group<32>, 8, 1>, chunked_online<block_group<64>, 8, 1>>;

using scale_list = smx::kernel_list<resident<warp_group<16>, 8, 2>, compact<warp_group<16>, 8, 2>,
                                    chunked_online<block_group<64>, 8, 1>>;

// Rows that touch, moved by bulk copies.
template <int Vec>
using packed_list = smx::kernel_list<smx::packed<thread_group, Vec, 4>, smx::packed<warp_group<4>, Vec, 2, 64, 3>,
                                     smx::packed<warp_group<8>, 1, 7>, smx::packed<warp_group<32>, Vec, 4>,
                                     smx::packed<warp_group<32>, Vec, 16, 64>>;

}  // namespace

runner_list other_kernels() {
    runner_list all = kernels<smx::half, smx::half, family::structured>(odd_list());
    for (auto const& part :
         {kernels<smx::half, smx::half, family::composed>(cluster_list()),
          kernels<double, double, family::structured>(cluster_list()),
          kernels<smx::half, smx::half, family::structured>(compact_list()),
          kernels<smx::bfloat16, smx::bfloat16, family::flags>(compact_list()),
          kernels<smx::half, smx::half, family::structured>(deep_list()),
          kernels<smx::bfloat16, float, family::structured>(deep_list()),
          kernels<float, float, family::composed>(deep_list()),
          kernels<double, double, family::structured>(deep_list()),
          kernels<smx::half, smx::half, family::composed>(packed_list<8>()),
          kernels<float, float, family::none, factor_type::fixed, smx::hidden::zeros, sums::none>(packed_list<4>()),
          kernels<double, double, family::structured>(packed_list<2>()),
          kernels<smx::half, float, family::composed, factor_type::any, smx::hidden::keep, sums::in_float>(keep_list()),
          kernels<float, smx::half, family::none, factor_type::device, smx::hidden::zeros, sums::in_float>(
              scale_list()),
          kernels<double, double, family::none, factor_type::head, smx::hidden::zeros, sums::in_float>(scale_list())}) {
        all = joined(all, part);
    }
    return all;
}

}  // namespace device
