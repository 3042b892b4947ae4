// The host path: every pair of storage types, under masks of any parts.
#include "fuzz/host_runner.hpp"

namespace fuzz {

namespace {

template <class X, class... Y>
void add_pairs(std::vector<runner>& list) {
    (list.push_back(on_host<family::tree, way::probabilities, X, Y>()), ...);
}

template <class... X>
std::vector<runner> pairs_of() {
    std::vector<runner> list;
    (add_pairs<X, X...>(list), ...);
    return list;
}

}  // namespace

std::vector<runner> forward_types() { return pairs_of<float, double, smx::half, smx::bfloat16>(); }

}  // namespace fuzz
