// Kernels to be forced on the same rows, by family.
#pragma once
#include <string>
#include <vector>

#include "../bars/calls.hpp"
#include "smx/automatic.hpp"
#include "smx/plan.hpp"

namespace bench {

enum class family { thread, part_of_warp, warp, block, cluster, staged, online };
inline constexpr family every_family[] = {family::thread,  family::part_of_warp, family::warp,  family::block,
                                          family::cluster, family::staged,       family::online};

constexpr char const* name_of(family f) {
    switch (f) {
        case family::thread:
            return "thread";
        case family::part_of_warp:
            return "part of warp";
        case family::warp:
            return "warp";
        case family::block:
            return "block";
        case family::cluster:
            return "cluster";
        case family::staged:
            return "staged";
        case family::online:
            return "online";
    }
    return "";
}

constexpr family family_of(smx::policy const& p) {
    if (p.body == smx::body_kind::staged) return family::staged;
    if (p.body == smx::body_kind::online) return family::online;
    if (p.blocks > 1) return family::cluster;
    return p.lanes == 1    ? family::thread
           : p.lanes < 32  ? family::part_of_warp
           : p.lanes == 32 ? family::warp
                           : family::block;
}

// The kernel's type as one writes it: resident<block_group<64>, 8, 4>.
inline std::string type_of(smx::policy const& p) {
    std::string group;
    if (p.blocks > 1) {
        group = "cluster_group<" + std::to_string(p.threads) + ", " + std::to_string(p.blocks) + ">";
    } else if (p.lanes == 1) {
        group = "thread_group";
    } else if (p.lanes <= 32) {
        group = "warp_group<" + std::to_string(p.lanes) + ">";
    } else {
        group = "block_group<" + std::to_string(p.lanes) + ">";
    }
    constexpr int usual_threads = smx::detail::usual_threads<smx::thread_group>;
    bool const says_threads = p.rows_each > 1 || (p.lanes <= 32 && p.threads != usual_threads);
    return std::string(smx::name_of(p.body)) + "<" + group + ", " + std::to_string(p.vec) + ", " +
           std::to_string(p.packs) + (p.behind > 0 ? ", " + std::to_string(p.behind) : "") +
           (says_threads ? ", " + std::to_string(p.threads) : "") +
           (p.rows_each > 1 ? ", " + std::to_string(p.rows_each) : "") + ">";
}

struct candidate {
    smx::policy (*kernel)(smx::row_shape);  // that runs such rows; null: the one that launch_auto takes
    smx::status (*launch)(cudaStream_t, call const&);
};

// What tune forces on rows of T under a mask: every family without one, what may win with one. In forced.cu, compiled
// once a type and mask.
template <class T, mask_kind Masks>
std::vector<candidate> candidates();

}  // namespace bench
