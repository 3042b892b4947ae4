// Groups that hold slices of a row, as the blocks of a cluster do, on emulated lanes.
#pragma once

#include <type_traits>

#include "support/emulated_group.hpp"

namespace lanes {

// Some of the lanes of a group, which hold one slice of its row.
template <int Lanes, class All>
class slice_group {
public:
    static constexpr int size = Lanes;

    explicit slice_group(All& all) : all_(all) {}
    int rank() const { return all_.rank() % Lanes; }
    int slices() const { return All::size / Lanes; }
    int slice() const { return all_.rank() / Lanes; }
    void sync() { all_.sync(); }
    template <class Value, class Op>
    Value all_reduce(Value value, Op op) {
        return all_.all_reduce(value, op);
    }

private:
    All& all_;
};

template <int Slices>
struct slices {
    template <int Lanes, class Function>
    static void run(Function const& function) {
        support::run_lanes<Lanes * Slices>([&](auto& all) {
            slice_group<Lanes, std::remove_reference_t<decltype(all)>> g(all);
            function(g);
        });
    }
};

}  // namespace lanes
