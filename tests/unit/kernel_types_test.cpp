// kernel_types.hpp: kernel types are numbers that compare, and say what they need of a device.
#include "smx/kernel_types.hpp"

#include <gtest/gtest.h>

namespace {

constexpr smx::row_shape row_of(smx::int64 cols) {
    smx::row_shape shape;
    shape.cols = cols;
    return shape;
}

TEST(kernel_types, a_kernel_type_is_its_numbers) {
    using kernel = smx::resident<smx::block_group<128>, 8, 2>;
    static_assert(kernel::value.lanes == 128 && kernel::value.vec == 8 && kernel::value.packs == 2);
    static_assert(kernel::value.threads == 128);
    static_assert(kernel::value.body == smx::body_kind::resident);
    static_assert(kernel::value.columns() == 2048);
    static_assert(kernel::value == smx::resident<smx::block_group<128>, 8, 2>::value);
    static_assert(kernel::value != smx::resident<smx::block_group<128>, 8, 1>::value);
    static_assert(kernel::value != smx::chunked_online<smx::block_group<128>, 8, 2>::value);
    static_assert(kernel::shared_bytes(row_of(2048)) == 0);
    static_assert(kernel::can_run(row_of(2048), {}) && !kernel::can_run(row_of(2049), {}));
}

TEST(kernel_types, a_cluster_is_its_lanes_and_its_blocks) {
    using kernel = smx::resident<smx::cluster_group<256, 8>, 8, 8>;
    static_assert(kernel::value.lanes == 2048 && kernel::value.threads == 256 && kernel::value.blocks == 8);
    static_assert(kernel::value.columns() == 131072 && kernel::rows_per_block == 1);
    static_assert(smx::resident<smx::block_group<256>, 8, 8>::value.blocks == 1);
    static_assert(kernel::value == smx::resident<smx::cluster_group<256, 8>, 8, 8>::value);
    static_assert(kernel::value != smx::resident<smx::cluster_group<512, 4>, 8, 8>::value);
    constexpr smx::policy one_block{smx::body_kind::resident, 2048, 256, 8, 8};
    static_assert(kernel::value != one_block);
    constexpr smx::device_limits none{}, eight{48 * 1024, true, 8}, four{48 * 1024, true, 4};
    static_assert(!kernel::can_run(row_of(100000), none) && !kernel::can_run(row_of(100000), four));
    static_assert(kernel::can_run(row_of(131072), eight) && !kernel::can_run(row_of(131073), eight));
    static_assert(!smx::chunked_online<smx::cluster_group<256, 8>, 4, 4>::can_run(row_of(1), none));
    static_assert(smx::chunked_online<smx::cluster_group<256, 8>, 4, 4>::can_run(row_of(1000000), eight));
}

// Registers first, then shared memory: whole rounds of packs, a pack a lane.
TEST(kernel_types, a_deep_row_says_what_waits_in_shared_memory) {
    using kernel = smx::deep<smx::cluster_group<256, 16>, 8, 8, 13>;
    static_assert(kernel::value.packs == 8 && kernel::value.behind == 13 &&
                  kernel::value.columns() == 16 * 256 * 21 * 8);
    static_assert(kernel::value != smx::deep<smx::cluster_group<256, 16>, 8, 13, 8>::value);
    static_assert(kernel::value.body == smx::body_kind::deep && smx::holds_row(kernel::value.body));
    constexpr smx::device_limits large{227 * 1024, true, 16}, eight{227 * 1024, true, 8}, small{48 * 1024, true, 16};
    constexpr auto of = [](smx::int64 cols, int held = 2) {
        smx::row_shape shape = row_of(cols);
        shape.element_bytes = 2;
        shape.held_bytes = held;
        return shape;
    };
    constexpr smx::int64 round = 256 * 8;  // columns of a block
    static_assert(kernel::shared_bytes(of(2 * 8 * round)) == 0);
    static_assert(kernel::shared_bytes(of(2 * 8 * round + 1)) == round * 2);
    static_assert(kernel::shared_bytes(of(2 * 8 * round + 1, 4)) == round * 4);
    static_assert(kernel::shared_bytes(of(2 * 8 * round + 1, 0)) == round * 4);  // not said: as it is computed with
    static_assert(kernel::shared_bytes(of(16 * 21 * round)) == 13 * round * 2);
    // As few blocks as hold the row with as much in shared memory as in registers, and that leave few of 64 places
    // empty.
    static_assert(kernel::blocks_for(of(1)) == 2 && kernel::blocks_for(of(7 * 16 * round)) == 7);
    static_assert(kernel::blocks_for(of(13 * 16 * round)) == 15 && kernel::blocks_for(of(16 * 21 * round)) == 16);
    static_assert(kernel::can_run(of(16 * 21 * round), large) && !kernel::can_run(of(16 * 21 * round + 1), large));
    static_assert(!kernel::can_run(of(16 * 21 * round), small) && !kernel::can_run(of(16 * 21 * round), eight));
    static_assert(kernel::can_run(of(8 * 16 * round), eight) && !kernel::can_run(of(8 * 16 * round + 1), eight));
    using one_block = smx::deep<smx::block_group<64>, 8, 2, 3>;
    static_assert(one_block::blocks_for(of(64 * 8 * 5)) == 1 && one_block::shared_bytes(of(64 * 8 * 5)) == 3 * 64 * 16);
}

// Elements that no dtype<> knows, as an input may name them that widens them itself.
struct input_of_bytes {
    using compute = float;
    using element = signed char;
    template <int Width>
    smx::pack<float, Width> load(smx::row_id, int) const {
        return {};
    }
};
// Floats with a step of their own: what lies in memory is not the score.
struct stepped_input {
    using compute = float;
    using element = float;
    struct row {
        using compute = float;
        float const* start;
        float step;

        template <int Width>
        int head() const {
            return 0;
        }
        template <int Width>
        smx::detail::raw_pack<float, Width> fetch(int col) const {
            return smx::read_pack<Width>(start + col);
        }
        template <int Width>
        smx::pack<float, Width> widen(smx::detail::raw_pack<float, Width> const& raw) const {
            smx::pack<float, Width> values;
            for (int i = 0; i < Width; ++i) values[i] = raw[i] * step;
            return values;
        }
        template <int Width>
        static smx::detail::raw_pack<float, Width> neg_inf() {
            return smx::detail::raw_pack<float, Width>::of([](int) { return smx::neg_inf<float>(); });
        }
    };
    row bind(smx::row_id) const { return {nullptr, 0.5f}; }
};

TEST(kernel_types, a_deep_row_waits_as_stored_where_that_is_its_scores) {
    using kernel = smx::deep<smx::cluster_group<256, 16>, 4, 8, 13>;
    auto const keeps = [](auto input, auto output) {
        using call =
            smx::operands<decltype(input), smx::fixed_scale, smx::no_mask, decltype(output), smx::no_row_output>;
        return kernel::template tile_of<call>::keeps;
    };
    smx::dense_output<float> const y{nullptr, {}};
    EXPECT_EQ(keeps(smx::dense_input<float>{nullptr, {}}, y), smx::kept::stored);
    EXPECT_EQ(keeps(smx::dense_input<double>{nullptr, {}}, y), smx::kept::stored);
    EXPECT_EQ(keeps(smx::dense_input<smx::half>{nullptr, {}}, y), smx::kept::stored);
    EXPECT_EQ(keeps(input_of_bytes(), y), smx::kept::weights);
    EXPECT_EQ(keeps(stepped_input(), y), smx::kept::weights);
}

}  // namespace
