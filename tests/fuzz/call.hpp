// A case in memory, as the library's types take it, and what can run one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/space.hpp"
#include "fuzz/description.hpp"
#include "smx/host.hpp"

namespace fuzz {

// What a row is asked about one part of a mask, without the part's type.
struct row_answers {
    virtual ~row_answers() = default;
    virtual smx::interval span() const = 0;
    virtual unsigned visible(int col, int width) const = 0;
    virtual void add_to(float* scores, int col, int width) const = 0;
    virtual void add_to(double* scores, int col, int width) const = 0;
};

// A part of a mask with its memory.
struct placed_part {
    part_kind kind = part_kind::absent;
    int64 diagonal = 0;
    bool left = false;
    int reach = 1;
    void const* data = nullptr;
    smx::strides step;

    std::shared_ptr<row_answers const> bind(smx::row_id id, smx::extents shape) const;
};

// One as a mask of smx: a tree of masks is then compiled once for all kinds of its parts.
template <bool Biases>
struct part_mask {
    placed_part const* given;

    struct row {
        std::shared_ptr<row_answers const> ask;
        static constexpr bool tests = !Biases;
        static constexpr bool biases = Biases;
        smx::interval span() const { return ask->span(); }
        template <int Width>
        unsigned visible(int col) const {
            return ask->visible(col, Width);
        }
        template <int Width, class Compute>
        void add_to(smx::pack<Compute, Width>& scores, int col) const {
            ask->add_to(scores.data, col, Width);
        }
    };
    row bind(smx::row_id id, smx::extents shape) const { return {given->bind(id, shape)}; }
};

// A factor that knows only when it runs where it comes from.
struct any_scale {
    factor_kind from = factor_kind::fixed;
    smx::fixed_scale fixed{1};
    smx::device_scale<float> one{nullptr};
    smx::head_scale<float> heads{nullptr};

    template <class Compute>
    SMX_HD Compute value(smx::row_id row) const {
        return from == factor_kind::in_memory  ? one.value<Compute>(row)
               : from == factor_kind::per_head ? heads.value<Compute>(row)
                                               : fixed.value<Compute>(row);
    }
};

struct call {
    smx::extents shape;
    void const* x = nullptr;
    void* y = nullptr;
    void const* dy = nullptr;
    void* undropped = nullptr;
    void* db = nullptr;
    double* scale_gradients = nullptr;
    double* sums = nullptr;  // given to a backward pass, written by others
    smx::strides x_step, y_step, dy_step, db_step;
    any_scale scale;
    placed_part parts[part_count];
    smx::empty_row when_empty = smx::empty_row::zeros;
    double drop = 0;
    unsigned long long drop_seed = 0, drop_offset = 0;
    unsigned long long const* drop_state = nullptr;  // both, in memory
    int64 split = 0;

    template <class T>
    T const* x_as() const {
        return static_cast<T const*>(x);
    }
    template <class T>
    T* y_as() const {
        return static_cast<T*>(y);
    }
    template <class T>
    T const* dy_as() const {
        return static_cast<T const*>(dy);
    }
};

template <family Masks>
auto mask_of(call const& c) {
    auto const hides = [&](int i) { return part_mask<false>{&c.parts[i]}; };
    auto const biases = [&](int i) { return part_mask<true>{&c.parts[i]}; };
    if constexpr (Masks == family::none) {
        return smx::no_mask{};
    } else if constexpr (Masks == family::causal) {
        return smx::causal_mask::diagonal(c.parts[2].diagonal);
    } else if constexpr (Masks == family::one) {
        return hides(2);
    } else if constexpr (Masks == family::composed) {
        placed_part const* const p = c.parts;
        return smx::both(
            smx::causal_mask::diagonal(p[2].diagonal),
            smx::key_lengths(static_cast<int const*>(p[3].data), p[3].left ? smx::padding::left : smx::padding::right),
            smx::mask_tensor(static_cast<unsigned char const*>(p[4].data), p[4].step),
            smx::mask_bits(static_cast<unsigned char const*>(p[5].data), p[5].step),
            smx::bias_tensor(static_cast<float const*>(p[0].data), p[0].step));
    } else {
        return smx::both(biases(0), biases(1), hides(2), hides(3), smx::either(hides(4), hides(5)));
    }
}

// Calls run(scores, factor, mask, output, extras...) for a forward pass, run(probabilities, gradient, factor, mask,
// gradients, sums...) for a backward one.
template <signature const& Types, class X, class Y, class Dy, class Run>
smx::status with_parts(call const& c, Run const& run) {
    constexpr way how = Types.how;
    auto const masks = mask_of<Types.masks>(c);
    auto const x = smx::scores(c.x_as<X>(), c.shape, c.x_step);
    auto const dropout = [&](auto const& with) {
        // Seed and offset as numbers or from memory: each takes as long to compile.
        if constexpr (sizeof(X) == 2) {
            return with(smx::dropout(c.drop, c.drop_state, c.drop_state + 1, 3));
        } else {
            return with(smx::dropout(c.drop, c.drop_seed, c.drop_offset + 3));
        }
    };
    if constexpr (how == way::probabilities) {
        return run(x, c.scale, masks, smx::probabilities(c.y_as<Y>(), c.y_step), c.when_empty,
                   smx::log_sum_exp(c.sums));
    } else if constexpr (how == way::kept) {
        return run(x, c.scale, masks, smx::probabilities<smx::hidden::keep>(c.y_as<Y>(), c.y_step), c.when_empty,
                   smx::log_sum_exp(c.sums));
    } else if constexpr (how == way::logarithms) {
        return run(x, c.scale, masks, smx::log_probabilities(c.y_as<Y>(), c.y_step), c.when_empty,
                   smx::log_sum_exp(c.sums));
    } else if constexpr (how == way::dropped) {
        return dropout([&](auto const& by) {
            return run(x, c.scale, masks,
                       smx::dropped(smx::probabilities(c.y_as<Y>(), c.y_step), by,
                                    smx::probabilities(static_cast<Y*>(c.undropped), c.y_step)),
                       c.when_empty, smx::log_sum_exp(c.sums));
        });
    } else {
        auto const dy = smx::incoming_gradients(c.dy_as<Dy>(), c.dy_step);
        auto const dx = smx::gradients(c.y_as<Y>(), c.y_step);
        [[maybe_unused]] auto const db = [&] { return smx::bias_gradients(static_cast<Y*>(c.db), c.db_step); };
        if constexpr (how == way::from_saved) {
            return run(x, dy, c.scale, masks, dx);
        } else if constexpr (how == way::from_saved_kept) {
            return run(x, dy, c.scale, masks, smx::gradients<smx::hidden::keep>(c.y_as<Y>(), c.y_step));
        } else if constexpr (how == way::from_scores) {
            return run(smx::recomputed_probabilities(x, static_cast<double const*>(c.sums)), dy, c.scale, masks, dx);
        } else if constexpr (how == way::from_saved_logarithms) {
            return run(smx::saved_log_probabilities(c.x_as<X>(), c.shape, c.x_step), dy, c.scale, masks, dx);
        } else if constexpr (how == way::from_scores_logarithms) {
            return run(smx::recomputed_log_probabilities(x, static_cast<double const*>(c.sums)), dy, c.scale, masks,
                       dx);
        } else if constexpr (how == way::from_saved_summed) {
            return run(x, dy, c.scale, masks, dx, db());
        } else if constexpr (how == way::from_scores_scaled) {
            return run(smx::recomputed_probabilities(x, static_cast<double const*>(c.sums)), dy, c.scale, masks, dx,
                       smx::scale_gradients(c.scale_gradients));
        } else if constexpr (how == way::from_scores_summed) {
            return run(smx::recomputed_probabilities(x, static_cast<double const*>(c.sums)), dy, c.scale, masks, dx,
                       db(), smx::scale_gradients(c.scale_gradients));
        } else if constexpr (how == way::from_scores_logarithms_summed) {
            return run(smx::recomputed_log_probabilities(x, static_cast<double const*>(c.sums)), dy, c.scale, masks, dx,
                       smx::scale_gradients(c.scale_gradients), db());
        } else {
            return dropout([&](auto const& by) { return run(x, smx::dropped(dy, by), c.scale, masks, dx); });
        }
    }
}

// Memory other than the host's, by what borders on it there.
struct other_memory {
    device::space *behind, *before, *offset;
};

// A path through the library that can run the cases of one signature.
struct runner {
    signature types;
    std::string name;
    int64 longest;  // rows; 0: no limit
    smx::status (*run)(call const&);
    other_memory const* where = nullptr;  // null: it runs on the host
};

std::vector<runner> forward_host();
std::vector<runner> forward_types();
std::vector<runner> forward_lanes();
std::vector<runner> backward_host();
std::vector<runner> backward_lanes();
std::vector<runner> summed_host();
std::vector<runner> summed_lanes();
std::vector<runner> backward_gpu();
std::vector<runner> dropped_gpu();
std::vector<runner> logarithms_gpu();
std::vector<runner> summed_gpu();

// Those of the host.
std::vector<runner> const& all_runners();
std::vector<signature> const& all_signatures();
std::vector<signature> signatures_of(std::vector<runner> const& runners);

// Runs a case by every runner of its signature, those of all_runners() and `more`, and says in a sentence what is
// wrong, or nothing.
std::string check(description const& d, std::vector<runner> const& more = {});

}  // namespace fuzz
