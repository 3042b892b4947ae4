// The masks that any_mask.hpp names.
#include "lanes/any_mask.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace lanes {

namespace {

template <class Seen, class Compute>
struct answers_of final : row_answers<Compute> {
    Seen seen;
    explicit answers_of(Seen const& of) : seen(of) {}

    smx::interval span() const override { return seen.span(); }

    // Calls act(pack width as a type) for the width that is only known when it runs.
    template <class Act>
    static auto with_width(int vec, Act const& act) {
        switch (vec) {
            case 1:
                return act(std::integral_constant<int, 1>());
            case 4:
                return act(std::integral_constant<int, 4>());
            case 8:
                return act(std::integral_constant<int, 8>());
            case 16:
                return act(std::integral_constant<int, 16>());
            default:
                std::abort();
        }
    }

    template <int V>
    std::shared_ptr<void const> fetch_pack([[maybe_unused]] int col) const {
        if constexpr (smx::mask_fetches<Seen, V>) {
            auto const fetched = seen.template fetch<V>(col);
            return std::make_shared<std::remove_const_t<decltype(fetched)>>(fetched);
        } else {
            return nullptr;
        }
    }

    template <int V>
    unsigned visible_pack([[maybe_unused]] int col, [[maybe_unused]] void const* ahead) const {
        if constexpr (!smx::mask_tests<Seen>) {
            return ~0U;
        } else {
            if constexpr (smx::mask_fetches<Seen, V>) {
                using fetched = decltype(seen.template fetch<V>(col));
                if (ahead != nullptr) return seen.template visible<V>(col, *static_cast<fetched const*>(ahead));
            }
            return seen.template visible<V>(col);
        }
    }

    template <int V>
    void add_to_pack([[maybe_unused]] Compute* scores, [[maybe_unused]] int col,
                     [[maybe_unused]] void const* ahead) const {
        if constexpr (smx::mask_biases<Seen>) {
            smx::pack<Compute, V> these;
            std::copy(scores, scores + V, these.data);
            bool added = false;
            if constexpr (smx::mask_fetches<Seen, V>) {
                using fetched = decltype(seen.template fetch<V>(col));
                added = ahead != nullptr;
                if (added) seen.add_to(these, col, *static_cast<fetched const*>(ahead));
            }
            if (!added) seen.add_to(these, col);
            std::copy(these.data, these.data + V, scores);
        }
    }

    std::shared_ptr<void const> fetch(int col, int vec) const override {
        return with_width(vec, [&](auto width) { return this->template fetch_pack<width()>(col); });
    }
    unsigned visible(int col, int vec, void const* ahead) const override {
        return with_width(vec, [&](auto width) { return this->template visible_pack<width()>(col, ahead); });
    }
    void add_to(Compute* scores, int col, int vec, void const* ahead) const override {
        with_width(vec, [&](auto width) { this->template add_to_pack<width()>(scores, col, ahead); });
    }
};

template <class Case, class Compute>
std::shared_ptr<row_answers<Compute> const> bind_case(support::mask_material const& material, smx::row_id id,
                                                      smx::extents shape) {
    auto const seen = Case::mask(material).bind(id, shape);
    return std::make_shared<answers_of<std::remove_const_t<decltype(seen)>, Compute>>(seen);
}

template <class Case>
any_mask named(char const* name) {
    using seen =
        decltype(Case::mask(std::declval<support::mask_material const&>()).bind(smx::row_id(), smx::extents()));
    return {name,
            {smx::mask_tests<seen>, smx::mask_biases<seen>, smx::spans_row<seen>},
            &Case::visible,
            &Case::bias,
            &bind_case<Case, float>,
            &bind_case<Case, double>};
}

}  // namespace

std::vector<any_mask> const& all_masks() {
    static std::vector<any_mask> const masks{
        named<support::no_mask_case>("no_mask"),
        named<support::top_left_case>("causal_top_left"),
        named<support::bottom_right_case>("causal_bottom_right"),
        named<support::diagonal_case>("causal_diagonal"),
        named<support::right_padding_case>("key_lengths"),
        named<support::left_padding_case>("key_lengths_left"),
        named<support::visible_flags_case>("mask_tensor"),
        named<support::hidden_flags_case>("hidden_where"),
        named<support::visible_bits_case>("mask_bits"),
        named<support::hidden_bits_case>("hidden_bits"),
        named<support::bias_case>("bias_tensor"),
        named<support::causal_and_padding_case>("both"),
        named<support::structured_bits_case>("both_with_bits"),
        named<support::causal_and_bias_case>("both_with_bias"),
        named<support::everything_case>("both_of_five"),
        named<support::either_case>("either"),
        named<support::either_bits_case>("either_with_bits"),
        named<support::two_ends_case>("either_in_both"),
        named<support::written_window_case>("written_window"),
        named<support::written_predicate_case>("written_predicate"),
    };
    return masks;
}

any_mask const& mask_named(std::string const& name) {
    for (any_mask const& mask : all_masks()) {
        if (mask.name == name) return mask;
    }
    std::abort();
}

}  // namespace lanes
