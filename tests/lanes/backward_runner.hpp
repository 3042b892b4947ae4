// One row by one of the bodies of row/backward.hpp on emulated lanes: the only place where the lanes tests compile
// them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "lanes/row_sweep.hpp"
#include "smx/row/backward.hpp"

namespace lanes {

struct resident_backward {
    static constexpr bool has_capacity = true;

    template <class Tile, class Group, class... Arguments>
    static void run(Group& g, Arguments const&... arguments) {
        smx::softmax_backward_row<Tile>(g, arguments...);
    }
};

struct chunked_backward {
    static constexpr bool has_capacity = false;

    template <class Tile, class Group, class... Arguments>
    static void run(Group& g, Arguments const&... arguments) {
        smx::chunked_backward_row<Tile>(g, arguments...);
    }
};

// What y comes from: itself, or the scores and their log-sum-exp.
enum class probabilities_from { saved, scores };

// The tile of a kernel of the same numbers.
template <class Numbers, bool SpansRow>
using terms_of = smx::tile<Numbers::lanes, Numbers::vec, Numbers::packs, typename Numbers::compute, smx::kept::terms,
                           SpansRow                              ? smx::hidden_packs::all_or_none
                           : Numbers::vec * Numbers::packs <= 32 ? smx::hidden_packs::computed
                                                                 : smx::hidden_packs::skipped>;

// A body on a tile, compiled for some kinds of mask, without those types.
template <class Y, class Dy, class Dx>
struct backward_runner {
    // Of saved probabilities no sum is asked for.
    using run_function = void (*)(any_mask const&, support::mask_material const&, smx::row_id const&, double factor,
                                  Y const*, double const* log_sum_exp, Dy const*, Dx*);
    struct compiled {
        mask_kind kind;
        run_function run;
    };

    int lanes, vec, capacity;
    bool has_capacity;  // rows can be no longer than `capacity`
    probabilities_from from;
    std::vector<compiled> kinds;

    // The same kind, or else one that asks more than the mask has answers for.
    run_function run_for(mask_kind wanted) const {
        for (mask_kind kind : {wanted, mask_kind{wanted.tests, wanted.biases, false},
                               mask_kind{true, wanted.biases, false}, mask_kind{true, true, false}}) {
            for (compiled const& one : kinds) {
                if (one.kind == kind) return one.run;
            }
        }
        std::abort();
    }
};

// In GoogleTest's messages.
template <class Y, class Dy, class Dx>
void PrintTo(backward_runner<Y, Dy, Dx> const& row, std::ostream* out) {
    *out << row.lanes << " lanes, " << row.capacity << " columns at a time";
}

template <class Carrier, class Body, class Numbers, class Y, class Dy, class Dx, probabilities_from From, bool Tests,
          bool Biases, bool SpansRow>
void run_backward(any_mask const& mask, support::mask_material const& material, smx::row_id const& row, double factor,
                  Y const* y, [[maybe_unused]] double const* log_sum_exp, Dy const* dy, Dx* dx) {
    using tile = terms_of<Numbers, SpansRow>;
    using compute = typename tile::compute;
    mask_of_kind<compute, Tests, Biases, SpansRow> const masks{mask.bind<compute>(), &material};
    smx::dense_input<Y> const given{y, {0, 0, 0, 1}};
    smx::dense_input<Dy> const gradients{dy, {0, 0, 0, 1}};
    smx::dense_output<Dx> const output{dx, {0, 0, 0, 1}};
    auto const& shape = material.shape;
    smx::extents const extents(shape.batch, shape.heads, shape.queries, shape.keys);
    auto const run = [&](auto const& probabilities) {
        Carrier::template run<tile::lanes>([&](auto& g) {
            Body::template run<tile>(g, probabilities, gradients, static_cast<compute>(factor), masks, output, row,
                                     extents);
        });
    };
    if constexpr (From == probabilities_from::saved) {
        run(given);
    } else {
        run(smx::recomputed_input<smx::dense_input<Y>, double>{given, log_sum_exp - row.index});
    }
}

template <class Carrier, class Body, class Numbers, class Y = float, class Dy = Y, class Dx = Y,
          kinds Kinds = kinds::two, probabilities_from From = probabilities_from::saved>
backward_runner<Y, Dy, Dx> backward() {
    backward_runner<Y, Dy, Dx> r{Numbers::lanes, Numbers::vec, Numbers::capacity, Body::has_capacity, From, {}};
    r.kinds.push_back({{true, true, false}, &run_backward<Carrier, Body, Numbers, Y, Dy, Dx, From, true, true, false>});
    r.kinds.push_back(
        {{false, false, false}, &run_backward<Carrier, Body, Numbers, Y, Dy, Dx, From, false, false, false>});
    r.kinds.push_back(
        {{false, false, true}, &run_backward<Carrier, Body, Numbers, Y, Dy, Dx, From, false, false, true>});
    if constexpr (Kinds == kinds::each) {
        r.kinds.push_back(
            {{true, false, false}, &run_backward<Carrier, Body, Numbers, Y, Dy, Dx, From, true, false, false>});
        r.kinds.push_back(
            {{false, true, false}, &run_backward<Carrier, Body, Numbers, Y, Dy, Dx, From, false, true, false>});
        r.kinds.push_back(
            {{true, false, true}, &run_backward<Carrier, Body, Numbers, Y, Dy, Dx, From, true, false, true>});
        r.kinds.push_back(
            {{false, true, true}, &run_backward<Carrier, Body, Numbers, Y, Dy, Dx, From, false, true, true>});
    }
    return r;
}

// What a row of a backward pass is asked with.
struct backward_options {
    std::size_t y_offset = 0, dy_offset = 0,
                dx_offset = 0;  // in elements from a 64-byte boundary; y 0: at memory's end
    double factor = 1.0;
    smx::empty_row when_empty = smx::empty_row::zeros;  // of the forward pass
    bool hidden_is_garbage = true;                      // NaN in hidden y and dy; else y as the forward pass wrote it
    bool in_place = false;                              // dx is dy
    double special = 0;                                 // not 0: one visible dy
};

// Row (b, h, q): runs it, and says in a sentence what is wrong, or nothing.
template <class Y, class Dy, class Dx>
std::string check_backward_row(backward_runner<Y, Dy, Dx> const& runner, any_mask const& mask,
                               support::mask_material const& material, support::index b, support::index h,
                               support::index q, backward_options const& options, unsigned long long seed);

// Rows of every length: offsets, factors, rules and garbage vary along the way.
template <class Y, class Dy, class Dx>
void sweep_backward(backward_runner<Y, Dy, Dx> const& runner, any_mask const& mask, std::vector<int> const& lengths);

template <class Y, class Dy, class Dx>
void sweep_backward(backward_runner<Y, Dy, Dx> const& runner, any_mask const& mask) {
    sweep_backward(runner, mask, edge_lengths(runner.vec, runner.capacity, runner.has_capacity));
}

}  // namespace lanes
