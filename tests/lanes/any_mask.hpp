// Every mask of mask_cases.hpp without its type: a body is compiled once for each kind of mask instead of once for each
// mask, and a test can go through them all.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "support/mask_cases.hpp"

namespace lanes {

// What a body asks a row's mask. What is fetched ahead is told from the mask by its place in memory.
template <class Compute>
struct row_answers {
    virtual ~row_answers() = default;
    virtual smx::interval span() const = 0;
    virtual std::shared_ptr<void const> fetch(int col, int vec) const = 0;
    virtual unsigned visible(int col, int vec, void const* fetched) const = 0;
    virtual void add_to(Compute* scores, int col, int vec, void const* fetched) const = 0;
};

template <class Compute>
using binding = std::shared_ptr<row_answers<Compute> const> (*)(support::mask_material const&, smx::row_id,
                                                                smx::extents);

struct mask_kind {
    bool tests, biases, spans_row;
};

inline constexpr bool operator==(mask_kind a, mask_kind b) {
    return a.tests == b.tests && a.biases == b.biases && a.spans_row == b.spans_row;
}

struct any_mask {
    char const* name;
    mask_kind kind;
    support::visible_at visible;
    support::bias_at bias;
    binding<float> bind_in_float;
    binding<double> bind_in_double;

    template <class Compute>
    binding<Compute> bind() const {
        if constexpr (sizeof(Compute) == 8) {
            return bind_in_double;
        } else {
            return bind_in_float;
        }
    }
};

std::vector<any_mask> const& all_masks();
any_mask const& mask_named(std::string const& name);

// An any_mask as a body takes it, with the kind it is compiled for: what it fetches ahead remembers for which pack.
template <class Compute, bool Tests, bool Biases, bool SpansRow>
struct mask_of_kind {
    struct fetched {
        int col = -1;
        int vec = 0;
        std::shared_ptr<void const> memory;

        void expect(int column, int width) const {
            EXPECT_TRUE(col == column && vec == width) << "fetched for column " << col << ", asked about " << column;
        }
    };

    struct row {
        std::shared_ptr<row_answers<Compute> const> ask;
        static constexpr bool tests = Tests;
        static constexpr bool biases = Biases;
        static constexpr bool spans_row = SpansRow;
        smx::interval span() const { return ask->span(); }

        template <int V, class = std::enable_if_t<(V > 0) && (Tests || Biases)>>
        fetched fetch(int col) const {
            return {col, V, ask->fetch(col, V)};
        }
        template <int V>
        unsigned visible(int col) const {
            return ask->visible(col, V, nullptr);
        }
        template <int V>
        unsigned visible(int col, fetched const& ahead) const {
            ahead.expect(col, V);
            return ask->visible(col, V, ahead.memory.get());
        }
        template <int V>
        void add_to(smx::pack<Compute, V>& scores, int col) const {
            ask->add_to(scores.data, col, V, nullptr);
        }
        template <int V>
        void add_to(smx::pack<Compute, V>& scores, int col, fetched const& ahead) const {
            ahead.expect(col, V);
            ask->add_to(scores.data, col, V, ahead.memory.get());
        }
    };

    binding<Compute> bind_row;
    support::mask_material const* material;

    row bind(smx::row_id id, smx::extents shape) const { return {bind_row(*material, id, shape)}; }
};

}  // namespace lanes
