// How a list of kernels to be forced is made of kernel types.
#pragma once
#include "../bars/launchers.cuh"
#include "candidates.hpp"

namespace bench {

template <class Kernel>
smx::policy policy_for(smx::row_shape row) {
    return Kernel::value.with_blocks(Kernel::blocks_for(row));
}

template <class Kernel, class T, mask_kind Masks>
smx::status launch_forced(cudaStream_t stream, call const& c) {
    return smx::launch<Kernel>(stream, scores_of<T>(c), factor_of(c), mask_of<T, Masks>(c), probabilities_of<T>(c));
}

template <class T, mask_kind Masks>
class kernels {
public:
    static constexpr int vec = 16 / int{sizeof(T)}, word = 4 / int{sizeof(T)};

    template <class... Kernels>
    void add() {
        (list_.push_back({policy_for<Kernels>, launch_forced<Kernels, T, Masks>}), ...);
    }
    void add(candidate const& one) { list_.push_back(one); }
    // All that launch_auto chooses from.
    void add_automatic() {
        using seen = decltype(mask_of<T, Masks>(call()).bind(smx::row_id(), smx::extents()));
        add_all(smx::detail::automatic_kernels<smx::dense_input<T>, seen>());
    }

    std::vector<candidate> const& list() const { return list_; }

private:
    template <class... Kernels>
    void add_all(smx::kernel_list<Kernels...>) {
        add<Kernels...>();
    }

    std::vector<candidate> list_;
};

// A cluster of as few blocks as hold the row.
template <class Group, int Vec, int Packs>
using fitted_resident = smx::detail::fitted<smx::resident<Group, Vec, Packs>>;
template <class Group, int Vec, int Packs>
using fitted_compact = smx::detail::fitted<smx::compact<Group, Vec, Packs>>;

}  // namespace bench
