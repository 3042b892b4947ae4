// Kernels to be forced on the same rows, by family.
#pragma once
#include <vector>

#include "../bars/calls.hpp"
#include "smx/automatic.hpp"

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

struct candidate {
    smx::policy kernel;
    smx::status (*launch)(cudaStream_t, call const&);
};

// In half.cu, bfloat16.cu and float.cu.
template <class T>
std::vector<candidate> candidates();

}  // namespace bench
