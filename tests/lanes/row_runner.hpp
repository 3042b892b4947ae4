// One row by one of smx's bodies on emulated or threaded lanes: the only place where the lanes tests compile a body.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <ostream>

#include "lanes/any_mask.hpp"
#include "support/emulated_group.hpp"
#include "support/threaded_group.hpp"

namespace lanes {

// What carries the lanes.
struct fibers {
    template <int Lanes, class Function>
    static void run(Function const& function) {
        support::run_lanes<Lanes>(function);
    }
};

// Lanes in the other order: a result that depends on which lane runs first lacks a sync.
struct fibers_descending {
    template <int Lanes, class Function>
    static void run(Function const& function) {
        support::run_lanes<Lanes>(function, support::lane_order::descending);
    }
};

struct threads {
    template <int Lanes, class Function>
    static void run(Function const& function) {
        support::run_threads<Lanes>(function);
    }
};

// The bodies under one name. `keeps` is what their tile holds once the row is reduced.
template <smx::kept Kept>
struct resident_keeping {
    static constexpr bool has_capacity = true;
    static constexpr smx::kept keeps = Kept;
    static constexpr bool knows_mask = Kept != smx::kept::scores;  // as kernels do; what a user composes need not

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
using compact_body = resident_keeping<smx::kept::stored>;  // for masks that do not bias

// Some packs of a row wait behind the registers, in memory.
template <smx::kept Kept, int Behind>
struct deep_body {
    static constexpr bool has_capacity = true;
    static constexpr smx::kept keeps = Kept;
    static constexpr bool knows_mask = true;
    static constexpr int behind = Behind;

    template <class Tile>
    static std::size_t memory(int) {
        return std::size_t{Tile::lanes} * Behind * sizeof(typename Tile::held_pack);
    }
    template <class Tile, class Group, class... Arguments>
    static auto run(Group& g, void* memory, Arguments const&... arguments) {
        return smx::softmax_row<Tile>(g, arguments..., memory);
    }
};

template <class Body, class = void>
constexpr int behind_of = 0;
template <class Body>
constexpr int behind_of<Body, std::void_t<decltype(Body::behind)>> = Body::behind;

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

// The tile of the same numbers that a body asks for, and a kernel for such a mask, with scores of type X.
template <class Numbers, class Body, class X, bool Biases, bool SpansRow>
using tile_of = smx::tile<Numbers::lanes, Numbers::vec, Numbers::packs, typename Numbers::compute, Body::keeps,
                          !Body::knows_mask                     ? smx::hidden_packs::skipped
                          : SpansRow                            ? smx::hidden_packs::all_or_none
                          : Numbers::vec * Numbers::packs <= 32 ? smx::hidden_packs::computed
                                                                : smx::hidden_packs::skipped,
                          Body::knows_mask && Biases ? smx::product::until_biased : smx::product::until_weighed,
                          std::conditional_t<Body::keeps == smx::kept::stored, X, typename Numbers::compute>,
                          smx::row_ends::single, smx::exponent::of_difference, behind_of<Body>>;

// Where x and y of a row start, in elements from a 64-byte boundary, and how the row is asked for.
struct row_options {
    std::size_t x_offset = 0;
    std::size_t y_offset = 0;
    double factor = 1.0;
    smx::empty_row when_empty = smx::empty_row::zeros;
};

// What one run of a row is given beside its mask. The row lies at the pointers, whatever its indices.
template <class X, class Y>
struct row_memory {
    X const* x;
    Y* y;
    void* kept;                                       // the keeper's
    smx::statistics<smx::compute_of<X>>* statistics;  // one a lane
};

// A body on a tile, compiled for some kinds of mask, without those types.
template <class X, class Y>
struct row_runner {
    using compute = smx::compute_of<X>;
    using run_function = void (*)(any_mask const&, support::mask_material const&, smx::row_id const&,
                                  row_options const&, row_memory<X, Y> const&);
    struct compiled {
        mask_kind kind;
        run_function run;
    };

    int lanes, vec, capacity;
    bool has_capacity;  // rows can be no longer than `capacity`
    std::size_t (*keeper_bytes)(int cols);
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
template <class X, class Y>
void PrintTo(row_runner<X, Y> const& row, std::ostream* out) {
    *out << row.lanes << " lanes, " << row.capacity << " columns at a time";
}

template <class Carrier, class Body, class Numbers, class X, class Y, bool Tests, bool Biases, bool SpansRow>
void run_row(any_mask const& mask, support::mask_material const& material, smx::row_id const& row,
             row_options const& options, row_memory<X, Y> const& memory) {
    using tile = tile_of<Numbers, Body, X, Biases, SpansRow>;
    using compute = typename tile::compute;
    mask_of_kind<compute, Tests, Biases, SpansRow> const masks{mask.bind<compute>(), &material};
    smx::dense_input<X> const input{memory.x, {0, 0, 0, 1}};
    smx::dense_output<Y> const output{memory.y, {0, 0, 0, 1}};
    auto const& shape = material.shape;
    smx::extents const extents(shape.batch, shape.heads, shape.queries, shape.keys);
    auto const factor = static_cast<compute>(options.factor);
    Carrier::template run<tile::lanes>([&](auto& g) {
        memory.statistics[g.rank()] =
            Body::template run<tile>(g, memory.kept, input, factor, masks, output, row, extents, options.when_empty);
    });
}

// What a runner is compiled for: a mask that asks everything, which serves every mask; one that asks nothing as well;
// or each kind by itself.
enum class kinds { one, two, each };

template <class Carrier, class Body, class Numbers, class X = float, class Y = X, kinds Kinds = kinds::one>
row_runner<X, Y> runner() {
    using tile = tile_of<Numbers, Body, X, false, false>;
    constexpr bool biases = Body::keeps != smx::kept::stored;
    row_runner<X, Y> r{tile::lanes,
                       tile::vec,
                       tile::capacity,
                       Body::has_capacity,
                       &Body::template memory<tile>,
                       {{{true, biases, false}, &run_row<Carrier, Body, Numbers, X, Y, true, biases, false>}}};
    if constexpr (Kinds != kinds::one) {
        r.kinds.push_back({{false, false, false}, &run_row<Carrier, Body, Numbers, X, Y, false, false, false>});
    }
    if constexpr (Kinds == kinds::each) {
        r.kinds.push_back({{true, false, false}, &run_row<Carrier, Body, Numbers, X, Y, true, false, false>});
        r.kinds.push_back({{false, true, false}, &run_row<Carrier, Body, Numbers, X, Y, false, true, false>});
    }
    if constexpr (Body::knows_mask && Kinds == kinds::each) {
        r.kinds.push_back({{true, false, true}, &run_row<Carrier, Body, Numbers, X, Y, true, false, true>});
        r.kinds.push_back({{false, true, true}, &run_row<Carrier, Body, Numbers, X, Y, false, true, true>});
    }
    // Rows without a mask have a tile of their own in every kernel that keeps weights.
    if constexpr (Body::knows_mask && Kinds != kinds::one) {
        r.kinds.push_back({{false, false, true}, &run_row<Carrier, Body, Numbers, X, Y, false, false, true>});
    }
    return r;
}

}  // namespace lanes
