// traits.hpp and config.hpp: the answers to type questions, and the version.
#include "smx/traits.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace {

struct plain {};
struct testing_row {
    static constexpr bool tests = true;
};
struct biasing_row {
    static constexpr bool tests = false;
    static constexpr bool biases = true;
};

TEST(traits, type_questions) {
    static_assert(smx::same_type<int, int> && !smx::same_type<int, unsigned> && !smx::same_type<int, int const>);
    static_assert(std::is_same_v<smx::always_void<int, plain>, void>);
    static_assert(!smx::always_false<int>);
}

TEST(traits, a_mask_without_members_asks_nothing) {
    static_assert(!smx::mask_tests<plain> && !smx::mask_biases<plain>);
    static_assert(smx::mask_tests<testing_row> && !smx::mask_biases<testing_row>);
    static_assert(!smx::mask_tests<biasing_row> && smx::mask_biases<biasing_row>);
}

TEST(config, the_version_is_in_the_namespace) {
    static_assert(SMX_VERSION_MAJOR >= 0 && SMX_VERSION_MINOR >= 0 && SMX_VERSION_PATCH >= 0);
    static_assert(sizeof(smx::int64) == 8 && sizeof(smx::uint64) == 8);
}

}  // namespace
