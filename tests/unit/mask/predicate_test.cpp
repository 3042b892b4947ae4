// mask/predicate.hpp: a mask from a function of the row and the column, with and without state.
#include "smx/mask/predicate.hpp"

#include "support/mask_check.hpp"

namespace {

using support::index;

TEST(predicate, asks_with_the_row_and_the_column) {
    auto const rule = [](smx::row_id row, int col) { return (row.batch + 2 * row.head + 3 * row.query + col) % 5 < 3; };
    support::expect_mask(smx::visible_where(rule), {2, 3, 4, 41},
                         [](index b, index h, index q, int k) { return (b + 2 * h + 3 * q + k) % 5 < 3; });
}

TEST(predicate, keeps_state) {
    int modulus = 3;
    support::expect_mask(smx::visible_where([modulus](smx::row_id, int col) { return col % modulus == 0; }),
                         {1, 1, 2, 33}, [](index, index, index, int k) { return k % 3 == 0; });
}

}  // namespace
