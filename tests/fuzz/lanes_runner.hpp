// The bodies on emulated lanes as runners, with the tiles of kernels.
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>

#include "fuzz/call.hpp"
#include "smx/row/backward.hpp"
#include "support/emulated_group.hpp"
#include "support/guarded_buffer.hpp"

namespace fuzz {

// The order in which lanes take their turns must not matter.
inline support::lane_order order_of(int64 row) {
    return row % 2 == 0 ? support::lane_order::ascending : support::lane_order::descending;
}

template <class Operands, int Lanes, int Vec, int Packs, smx::kept Kept, int Behind = 0>
using forward_tile = smx::tile<
    Lanes, Vec, Packs, typename Operands::compute, Kept,
    smx::spans_row<typename Operands::seen_type> ? smx::hidden_packs::all_or_none
    : Vec * Packs <= 32                          ? smx::hidden_packs::computed
                                                 : smx::hidden_packs::skipped,
    smx::mask_biases<typename Operands::seen_type> ? smx::product::until_biased : smx::product::until_weighed,
    std::conditional_t<Kept == smx::kept::stored, typename Operands::input_type::element, typename Operands::compute>,
    smx::row_ends::single, smx::exponent::of_difference, Behind>;

// The row waits in the tile; some packs of it behind the registers.
template <smx::kept Kept, int Lanes, int Vec, int Packs, int Behind = 0>
struct resident {
    static constexpr int64 longest = int64{Lanes} * Vec * (Packs + Behind);
    static std::string name() {
        return std::string(Behind > 0 ? "deep" : Kept == smx::kept::stored ? "compact" : "resident");
    }
    static constexpr int lanes = Lanes, vec = Vec, packs = Packs;

    template <class Operands>
    static void run(Operands const& o, int64 index) {
        using tile = forward_tile<Operands, Lanes, Vec, Packs, Kept, Behind>;
        support::guarded_buffer<unsigned char> memory(std::size_t{Lanes} * Behind * sizeof(typename tile::held_pack));
        support::run_lanes<Lanes>([&](auto& g) { smx::run_resident<tile>(g, o, index, memory.data()); },
                                  order_of(index));
        if (!memory.intact()) throw std::runtime_error("wrote outside the packs behind the registers");
    }
};

// The row passes through the tile twice; it waits in memory, or does not wait.
template <smx::kept Kept, int Lanes, int Vec, int Packs>
struct staged {
    static constexpr int64 longest = 0;
    static std::string name() { return "chunked_staged"; }
    static constexpr int lanes = Lanes, vec = Vec, packs = Packs;

    template <class Operands>
    static void run(Operands const& o, int64 index) {
        using tile = forward_tile<Operands, Lanes, Vec, Packs, Kept>;
        using keeper = smx::staged<typename Operands::compute, Kept>;
        support::guarded_buffer<unsigned char> memory(
            static_cast<std::size_t>(keeper::template bytes<tile>(o.shape.keys)));
        support::run_lanes<Lanes>([&](auto& g) { smx::run_chunked<tile>(g, keeper(memory.data()), o, index); },
                                  order_of(index));
        if (!memory.intact()) throw std::runtime_error("wrote outside the keeper's memory");
    }
};

template <int Lanes, int Vec, int Packs>
struct online {
    static constexpr int64 longest = 0;
    static std::string name() { return "chunked_online"; }
    static constexpr int lanes = Lanes, vec = Vec, packs = Packs;

    template <class Operands>
    static void run(Operands const& o, int64 index) {
        using tile = forward_tile<Operands, Lanes, Vec, Packs, smx::kept::scores>;
        support::run_lanes<Lanes>([&](auto& g) { smx::run_chunked<tile>(g, smx::online(), o, index); },
                                  order_of(index));
    }
};

template <class Operands, int Lanes, int Vec, int Packs, class Stored>
using backward_tile = smx::tile<Lanes, Vec, Packs, typename Operands::compute, smx::kept::terms,
                                smx::spans_row<typename Operands::seen_type> ? smx::hidden_packs::all_or_none
                                : Vec * Packs <= 32                          ? smx::hidden_packs::computed
                                                                             : smx::hidden_packs::skipped,
                                smx::product::until_weighed, Stored>;

enum class waits { as_numbers, as_stored, nowhere };

template <waits Waits, int Lanes, int Vec, int Packs>
struct backward {
    static constexpr int64 longest = Waits == waits::nowhere ? 0 : int64{Lanes} * Vec * Packs;
    static std::string name() {
        return Waits == waits::nowhere ? "chunked_online" : Waits == waits::as_stored ? "compact" : "resident";
    }
    static constexpr int lanes = Lanes, vec = Vec, packs = Packs;

    template <class Operands>
    static void run(Operands const& o, int64 index) {
        using tile = backward_tile<
            Operands, Lanes, Vec, Packs,
            std::conditional_t<Waits == waits::as_stored, typename Operands::stored_type, typename Operands::compute>>;
        support::run_lanes<Lanes>(
            [&](auto& g) {
                if constexpr (Waits == waits::nowhere) {
                    smx::run_chunked<tile>(g, smx::online(), o, index);
                } else {
                    smx::run_resident<tile>(g, o, index);
                }
            },
            order_of(index));
    }
};

template <class Body, signature const& Types, class X, class Y, class Dy>
smx::status run_on_lanes(call const& c) {
    return with_parts<Types, X, Y, Dy>(c, [&](auto const&... parts) -> smx::status {
        auto const run = [&](auto const& o) -> smx::status {
            if (smx::status const s = smx::check(o); !s) return s;
            if (smx::detail::is_done(o)) return {};
            for (int64 index = 0; index < o.rows.count(); ++index) Body::run(o, index);
            return {};
        };
        if constexpr (is_backward(Types.how)) {
            return run(smx::make_backward_operands(parts...));
        } else {
            return run(smx::make_operands(parts...));
        }
    });
}

template <class Body, family Masks, way How, class X, class Y = X, class Dy = Y>
struct on_lanes {
    static constexpr signature types{device::storage_of<X>, device::storage_of<Y>, device::storage_of<Dy>, Masks, How};
    operator runner() const {
        std::string const name = Body::name() + " (" + std::to_string(Body::lanes) + " emulated lanes, " +
                                 std::to_string(Body::packs) + " packs of " + std::to_string(Body::vec) + ")";
        return {types, name, Body::longest, &run_on_lanes<Body, types, X, Y, Dy>};
    }
};

}  // namespace fuzz
