// mask/selection.hpp: what a mask hides is cleared in any number of tiles, and nothing is added.
#include "smx/mask/selection.hpp"

#include <gtest/gtest.h>

#include "smx/load_pair.hpp"
#include "support/emulated_group.hpp"
#include "support/mask_cases.hpp"

namespace {

using support::index;

// Ones under the mask: 1 where the row sees, 0 elsewhere.
template <class Case, class Tile>
void expect_selected(int cols) {
    support::shape4 const shape{2, 2, 3, cols};
    support::mask_material const material(shape, static_cast<unsigned long long>(cols));
    auto const masks = Case::mask(material);
    std::vector<float> const ones(static_cast<std::size_t>(cols), 1.0f);
    smx::dense_input<float> const input{ones.data(), {0, 0, 0, 1}};
    smx::extents const extents(2, 2, 3, cols);
    for (index b = 0; b < 2; ++b) {
        for (index q = 0; q < 3; ++q) {
            smx::row_id const row{b, 1, q, (b * 2 + 1) * 3 + q, cols};
            int found = 0, shown = 0;
            for (int k = 0; k < cols; ++k) {
                shown += Case::visible(material, b, 1, q, k) &&
                                 Case::bias(material, b, 1, q, k) > -std::numeric_limits<double>::infinity()
                             ? 1
                             : 0;
            }
            support::run_lanes<Tile::lanes>([&](auto& g) {
                auto const bound = smx::without_biases<float>(masks.bind(row, extents));
                using seen_type = std::remove_const_t<decltype(bound)>;
                static_assert(!smx::mask_biases<seen_type>);
                smx::read_ahead<Tile, seen_type> seen(bound);
                Tile first, second;
                smx::load_pair(g, first, input, second, input, row, seen);
                smx::selection<Tile, seen_type> selected;
                selected.ask(first, seen);
                selected.clear(first);
                selected.clear(second);
                auto const expect = [&](int k, float value) {
                    bool const is_shown = Case::visible(material, b, 1, q, k) &&
                                          Case::bias(material, b, 1, q, k) > -std::numeric_limits<double>::infinity();
                    EXPECT_EQ(value, is_shown ? 1.0f : 0.0f) << "row " << b << ", " << q << ", column " << k;
                    found += value != 0 ? 1 : 0;
                };
                // Packs that nobody sees are not loaded, and nothing looks at them.
                for (Tile* t : {&first, &second}) {
                    t->for_live_registers([&](int p) {
                        for (int i = 0; i < Tile::vec && t->exists(p); ++i)
                            expect(t->pack_column(p) + i, t->middle[p][i]);
                    });
                    for (int i = 0; i < t->edges_to_visit(); ++i) expect(t->edge_column(i), t->edge[i]);
                }
            });
            ASSERT_EQ(found, 2 * shown);
        }
    }
}

template <class Case>
void expect_selected_by_all_tiles() {
    for (int cols : {1, 5, 16, 31, 32, 33, 64}) {
        expect_selected<Case, smx::tile<1, 8, 8, float, smx::kept::terms>>(cols);
        expect_selected<Case, smx::tile<4, 4, 4, float, smx::kept::terms, smx::hidden_packs::computed>>(cols);
        expect_selected<Case, smx::tile<8, 1, 8, float, smx::kept::terms>>(cols);
    }
}

TEST(selection, of_spans) { expect_selected_by_all_tiles<support::causal_and_padding_case>(); }
TEST(selection, of_flags) { expect_selected_by_all_tiles<support::visible_flags_case>(); }
TEST(selection, of_bits) { expect_selected_by_all_tiles<support::structured_bits_case>(); }
TEST(selection, of_biases) { expect_selected_by_all_tiles<support::bias_case>(); }
TEST(selection, of_all_together) { expect_selected_by_all_tiles<support::everything_case>(); }
TEST(selection, of_either) { expect_selected_by_all_tiles<support::either_case>(); }

}  // namespace
