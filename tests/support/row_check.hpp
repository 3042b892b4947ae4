// One row of a problem by one of smx's bodies on emulated or threaded lanes, compared with the reference.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/compare.hpp"
#include "support/emulated_group.hpp"
#include "support/mask_cases.hpp"
#include "support/threaded_group.hpp"

namespace support {

// What carries the lanes.
struct fibers {
    template <int Lanes, class Function>
    static void run(Function&& function) {
        run_lanes<Lanes>(function);
    }
};

// Lanes in the other order: a result that depends on which lane runs first lacks a sync.
struct fibers_descending {
    template <int Lanes, class Function>
    static void run(Function&& function) {
        run_lanes<Lanes>(function, lane_order::descending);
    }
};

struct threads {
    template <int Lanes, class Function>
    static void run(Function&& function) {
        run_threads<Lanes>(function);
    }
};

// The bodies under one name. `keeps` is what their tile holds once the row is reduced.
template <smx::kept Kept>
struct resident_keeping {
    static constexpr bool has_capacity = true;
    static constexpr smx::kept keeps = Kept;
    static constexpr bool knows_mask = Kept == smx::kept::weights;  // as kernels do; what a user composes need not

    template <class Tile>
    static std::size_t memory(int) {
        return 0;
    }
    template <class Tile, class Group, class... Arguments>
    static auto run(Group& g, void*, Arguments const&... arguments) {
        return smx::softmax_row<Tile>(g, arguments...);
    }
};
using resident_body = resident_keeping<smx::kept::scores>;
using resident_weights_body = resident_keeping<smx::kept::weights>;

struct staged_body {
    static constexpr bool has_capacity = false;
    static constexpr smx::kept keeps = smx::staged<float>::keeps;
    static constexpr bool knows_mask = true;

    template <class Tile>
    static std::size_t memory(int cols) {
        return static_cast<std::size_t>(smx::staged<typename Tile::compute>::template bytes<Tile>(cols));
    }
    template <class Tile, class Group, class... Arguments>
    static auto run(Group& g, void* memory, Arguments const&... arguments) {
        return smx::chunked_row<Tile>(g, smx::staged<typename Tile::compute>(memory), arguments...);
    }
};

struct online_body {
    static constexpr bool has_capacity = false;
    static constexpr smx::kept keeps = smx::online::keeps;
    static constexpr bool knows_mask =
        false;  // staged tells the two kinds of tile apart: one body is enough to compile twice

    template <class Tile>
    static std::size_t memory(int) {
        return 0;
    }
    template <class Tile, class Group, class... Arguments>
    static auto run(Group& g, void*, Arguments const&... arguments) {
        return smx::chunked_row<Tile>(g, smx::online(), arguments...);
    }
};

// The tile of the same numbers that a body asks for, and a kernel for such a mask.
template <class Mask>
using seen_of = decltype(std::declval<Mask const&>().bind(smx::row_id(), smx::extents()));
template <class Tile, class Body, class Mask>
using tile_of = smx::tile<Tile::lanes, Tile::vec, Tile::packs, typename Tile::compute, Body::keeps,
                          !Body::knows_mask               ? smx::hidden_packs::skipped
                          : smx::spans_row<seen_of<Mask>> ? smx::hidden_packs::all_or_none
                          : Tile::vec * Tile::packs <= 32 ? smx::hidden_packs::computed
                                                          : smx::hidden_packs::skipped,
                          Body::knows_mask && smx::mask_biases<seen_of<Mask>> ? smx::product::until_biased
                                                                              : smx::product::until_weighed>;

// Where x and y of a row start, in elements from a 64-byte boundary, and how the row is asked for.
struct row_options {
    std::size_t x_offset = 0;
    std::size_t y_offset = 0;
    double factor = 1.0;
    smx::empty_row when_empty = smx::empty_row::zeros;
    bool fill_hidden_with_nan = true;
};

template <class T>
constexpr arithmetic arithmetic_of = sizeof(typename smx::dtype<T>::compute) == 8 ? arithmetic::in_double
                                                                                  : arithmetic::in_float;

inline empty_gives reference_rule(smx::empty_row rule) {
    return rule == smx::empty_row::zeros ? empty_gives::zeros
           : rule == smx::empty_row::nan ? empty_gives::nan
                                         : empty_gives::uniform;
}

namespace detail {

// The part of check_row that does not depend on the body, the tile or the mask.
template <class Compute>
struct row_run {
    std::vector<double> biases;  // 0 where there is none
    std::vector<bool> visible;
    int lanes;
    std::size_t keeper_bytes;
    // Runs all lanes: x, y, the keeper's memory, one statistics a lane.
    std::function<void(void const*, void*, void*, smx::statistics<Compute>*)> lanes_of_row;
};

template <class X, class Y, class Compute>
std::string check_run(std::vector<X> values, row_run<Compute> const& run, row_options const& options) {
    arithmetic const type = sizeof(Compute) == 8 ? arithmetic::in_double : arithmetic::in_float;
    std::size_t const count = values.size();
    int const keys = static_cast<int>(count);
    auto const at = [](int k) { return static_cast<std::size_t>(k); };

    if (options.fill_hidden_with_nan) {
        for (std::size_t k = 0; k < count; ++k) {
            bool const shown = run.visible[k] && run.biases[k] != -std::numeric_limits<double>::infinity();
            if (!shown) values[k] = stored<X>::make(std::numeric_limits<double>::quiet_NaN());
        }
    }
    reference_row const want = softmax_reference(
        keys, [&](int k) { return stored<X>::value(values[at(k)]); },
        static_cast<double>(static_cast<Compute>(options.factor)), [&](int k) { return run.biases[at(k)]; },
        [&](int k) { return bool(run.visible[at(k)]); }, reference_rule(options.when_empty), type);

    fenced_buffer<X> const fenced(values);
    guarded_buffer<X> const offset(values, options.x_offset);
    X const* const x = options.x_offset == 0 ? fenced.data() : offset.data();
    guarded_buffer<Y> y(count, options.y_offset);
    guarded_buffer<unsigned char> memory(run.keeper_bytes);
    std::vector<smx::statistics<Compute>> stats(at(run.lanes));
    run.lanes_of_row(x, y.data(), memory.data(), stats.data());

    if (!y.intact()) return "wrote outside y";
    if (!memory.intact()) return "wrote outside the keeper's memory";
    if (!offset.intact() || (count != 0 && std::memcmp(x, values.data(), count * sizeof(X)) != 0)) return "wrote to x";

    std::string sentence = difference<Y>(
        want, [&](int k) { return y[at(k)]; }, type);
    if (!sentence.empty()) return sentence;
    for (auto const& one : stats) {
        if (std::memcmp(&one, &stats[0], sizeof one) != 0) return "lanes disagree about the statistics";
    }
    double const magnitude = want.largest_score;
    if (want.kind != row_kind::undefined) {
        sentence = difference_of("max", static_cast<double>(stats[0].max), want.max, magnitude, type, 0);
        if (!sentence.empty()) return sentence;
        sentence =
            difference_of("sum", static_cast<double>(stats[0].sum), want.sum, want.sum * (1 + magnitude), type, keys);
        if (!sentence.empty()) return sentence;
    }
    return difference_of("log-sum-exp", static_cast<double>(smx::log_sum_exp_of(stats[0])), want.log_sum_exp,
                         magnitude + std::fabs(want.log_sum_exp), type, keys);
}

// The only place where a body is compiled: as few types as it can depend on.
template <class Carrier, class Body, class Tile, class X, class Y, class Mask>
void run_row(Mask const& mask, smx::row_id const& row, shape4 const& shape, row_options const& options, void const* x,
             void* y, void* memory, smx::statistics<typename Tile::compute>* stats) {
    // Every stride but the key's is zero: the row lies at the pointer whatever its indices.
    smx::dense_input<X> const input{static_cast<X const*>(x), {0, 0, 0, 1}};
    smx::dense_output<Y> const output{static_cast<Y*>(y), {0, 0, 0, 1}};
    smx::extents const extents(shape.batch, shape.heads, shape.queries, shape.keys);
    auto const factor = static_cast<typename Tile::compute>(options.factor);
    Carrier::template run<Tile::lanes>([&](auto& g) {
        stats[g.rank()] =
            Body::template run<Tile>(g, memory, input, factor, mask, output, row, extents, options.when_empty);
    });
}

}  // namespace detail

// A mask and its predicates: visible(material, b, h, q, k) and bias(material, b, h, q, k).
template <class Mask>
struct answered_mask {
    Mask mask;
    bool (*visible)(mask_material const&, index, index, index, int);
    double (*bias)(mask_material const&, index, index, index, int);
};

template <class Case>
auto answered(mask_material const& material) {
    return answered_mask<decltype(Case::mask(material))>{Case::mask(material), &Case::visible, &Case::bias};
}

// Row (b, h, q): runs it, and says in a sentence what is wrong, or nothing.
// x ends where memory ends unless an offset is asked for; y is surrounded by canaries and poisoned; hidden elements of
// x are NaN.
template <class Carrier, class Body, class Numbers, class X, class Y, class Mask>
std::string check_row(answered_mask<Mask> const& answers, mask_material const& material, std::vector<X> const& scores,
                      index b, index h, index q, row_options const& options = {}) {
    using Tile = tile_of<Numbers, Body, Mask>;
    using compute = typename Tile::compute;
    shape4 const& shape = material.shape;
    detail::row_run<compute> run;
    for (int k = 0; k < shape.keys; ++k) {
        run.biases.push_back(answers.bias(material, b, h, q, k));
        run.visible.push_back(answers.visible(material, b, h, q, k));
    }
    run.lanes = Tile::lanes;
    run.keeper_bytes = Body::template memory<Tile>(shape.keys);

    smx::row_id const row{b, h, q, (b * shape.heads + h) * shape.queries + q, shape.keys};
    run.lanes_of_row = [&](void const* x, void* y, void* memory, smx::statistics<compute>* stats) {
        detail::run_row<Carrier, Body, Tile, X, Y>(answers.mask, row, shape, options, x, y, memory, stats);
    };
    std::vector<X> values = scores;
    values.resize(static_cast<std::size_t>(shape.keys));
    return detail::check_run<X, Y, compute>(std::move(values), run, options);
}

}  // namespace support
