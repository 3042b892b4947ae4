// One part of a mask, bound to a row and asked without its type.
#include <algorithm>
#include <cstdlib>

#include "fuzz/call.hpp"
#include "support/mask_cases.hpp"

namespace fuzz {

namespace {

template <class Seen>
struct answers_of final : row_answers {
    Seen seen;
    explicit answers_of(Seen const& of) : seen(of) {}

    smx::interval span() const override { return seen.span(); }

    template <class Act>
    static auto with_width(int width, Act const& act) {
        switch (width) {
            case 1:
                return act(std::integral_constant<int, 1>());
            case 2:
                return act(std::integral_constant<int, 2>());
            case 4:
                return act(std::integral_constant<int, 4>());
            case 8:
                return act(std::integral_constant<int, 8>());
            case 16:
                return act(std::integral_constant<int, 16>());
            case 32:
                return act(std::integral_constant<int, 32>());
            default:
                std::abort();
        }
    }

    unsigned visible([[maybe_unused]] int col, [[maybe_unused]] int width) const override {
        if constexpr (smx::mask_tests<Seen>) {
            return with_width(width, [&](auto wide) { return this->seen.template visible<wide()>(col); });
        } else {
            return ~0U;
        }
    }

    template <class Compute>
    void add([[maybe_unused]] Compute* scores, [[maybe_unused]] int col, [[maybe_unused]] int width) const {
        if constexpr (smx::mask_biases<Seen>) {
            with_width(width, [&](auto wide) {
                smx::pack<Compute, wide()> these;
                std::copy(scores, scores + wide(), these.data);
                this->seen.add_to(these, col);
                std::copy(these.data, these.data + wide(), scores);
            });
        }
    }
    void add_to(float* scores, int col, int width) const override { add(scores, col, width); }
    void add_to(double* scores, int col, int width) const override { add(scores, col, width); }
};

template <class Mask>
std::shared_ptr<row_answers const> bound(Mask const& mask, smx::row_id id, smx::extents shape) {
    auto const seen = mask.bind(id, shape);
    return std::make_shared<answers_of<std::remove_const_t<decltype(seen)>>>(seen);
}

}  // namespace

std::shared_ptr<row_answers const> placed_part::bind(smx::row_id id, smx::extents shape) const {
    auto const as = [&](auto example) { return static_cast<decltype(example) const*>(data); };
    switch (kind) {
        case part_kind::absent:
            return bound(smx::no_mask{}, id, shape);
        case part_kind::causal:
            return bound(smx::causal_mask::diagonal(diagonal), id, shape);
        case part_kind::lengths:
            return bound(smx::key_lengths(as(int{}), left ? smx::padding::left : smx::padding::right), id, shape);
        case part_kind::flags:
            return bound(smx::mask_tensor(as(static_cast<unsigned char>(0)), step), id, shape);
        case part_kind::hidden_flags:
            return bound(smx::hidden_where(as(static_cast<unsigned char>(0)), step), id, shape);
        case part_kind::bits:
            return bound(smx::mask_bits(as(static_cast<unsigned char>(0)), step), id, shape);
        case part_kind::hidden_bits:
            return bound(smx::hidden_bits(as(0U), step), id, shape);
        case part_kind::window:
            return bound(support::dotted_window{reach}, id, shape);
        case part_kind::predicate: {
            auto const rule = [period = reach + 1](smx::row_id row, int col) {
                return (row.head + row.query + col) % period != 0;
            };
            return bound(smx::visible_where(rule), id, shape);
        }
        case part_kind::bias:
            return bound(smx::bias_tensor(as(float{}), step), id, shape);
        case part_kind::half_bias:
            return bound(smx::bias_tensor(as(smx::half{}), step), id, shape);
        case part_kind::slope:
            return bound(support::sloped_bias{}, id, shape);
    }
    std::abort();
}

}  // namespace fuzz
