// Where tensors lie: any phase, any strides, gaps, one memory for x and y, and shapes with nothing or very much in
// them.
#include <cmath>

#include "device/suite.hpp"
#include "support/compare.hpp"
#include "support/reference.hpp"

namespace {

using device::int64;
using device::problem;
using device::runner;

problem composed(smx::extents shape, unsigned long long seed) {
    problem p;
    p.shape = shape;
    p.seed = seed;
    p.masks.causal = device::causal_kind::diagonal;
    p.masks.diagonal = shape.keys / 2;
    p.masks.flags = {device::form::batch_query_key, 0, 0};
    p.masks.bias = {device::form::head_query_key, 0, 0};
    return p;
}

SMX_DEVICE_TEST(layout, x_in_every_phase) {
    for (runner const& kernel : device::chosen_kernels()) {
        int const phases = 16 / device::bytes_of(kernel.x);
        for (int64 cols : {5, 67, 1024}) {
            if (!device::can_take(kernel, cols, where)) continue;
            for (int phase = 0; phase <= phases; ++phase) {
                problem p = composed({1, 2, 3, cols}, 30);
                p.x_phase = phase;
                p.exact = true;
                if (!device::is_right(p, kernel, where)) return;
            }
        }
    }
}

SMX_DEVICE_TEST(layout, y_in_every_phase) {
    for (runner const& kernel : device::chosen_kernels()) {
        int const phases = 16 / device::bytes_of(kernel.y);
        for (int64 cols : {5, 67, 1024}) {
            if (!device::can_take(kernel, cols, where)) continue;
            for (int phase = 0; phase <= phases; ++phase) {
                problem p = composed({1, 2, 3, cols}, 31);
                p.y_phase = phase;
                if (!device::is_right(p, kernel, where)) return;
            }
        }
    }
}

SMX_DEVICE_TEST(layout, masks_in_every_phase) {
    for (runner const& kernel : device::chosen_kernels()) {
        for (int64 cols : {67, 1024}) {
            if (!device::can_take(kernel, cols, where)) continue;
            for (int phase = 0; phase <= 16; ++phase) {
                problem p = composed({1, 2, 3, cols}, 32);
                p.masks.flags.phase = phase;
                p.masks.bias.phase = phase % 5;
                p.exact = true;
                if (!device::is_right(p, kernel, where)) return;
            }
        }
    }
}

// Packs begin at every bit of a byte, and rows of bits at any byte.
SMX_DEVICE_TEST(layout, bits_in_every_phase) {
    using device::family;
    for (runner const& kernel : device::kernels_of(where)) {
        if (kernel.masks != family::bits && kernel.masks != family::structured_bits) continue;
        bool right = true;
        for (int64 cols : {1, 7, 67, 1001}) {
            for (int phase = 0; phase < 8; ++phase) {
                if (!device::can_take(kernel, cols, where) || !right) continue;
                problem p;
                p.shape = {1, 2, 3, cols};
                p.seed = 40;
                p.x_phase = phase;
                p.exact = true;
                p.masks.bits = {device::form::head_query_key, phase * 3 % 4, phase % 3};
                p.masks.lengths =
                    kernel.masks == family::bits ? device::lengths_kind::none : device::lengths_kind::left;
                right = device::is_right(p, kernel, where);
            }
        }
    }
}

SMX_DEVICE_TEST(layout, everything_out_of_phase) {
    support::random_stream random(33);
    for (runner const& kernel : device::chosen_kernels()) {
        for (int turn = 0; turn < 24; ++turn) {
            int const cols = turn % 2 == 0 ? 67 : 1024;
            if (!device::can_take(kernel, cols, where)) continue;
            problem p = composed({1, 2, 3, cols}, random.bits());
            p.x_phase = random.below(9);
            p.y_phase = random.below(9);
            p.masks.flags.phase = random.below(17);
            p.masks.flags.gap = random.below(5);
            p.masks.bias.phase = random.below(5);
            p.masks.bias.gap = random.below(5);
            p.x_step = device::pitched(p.shape, cols + random.below(5));
            p.y_step = device::pitched(p.shape, cols + random.below(5));
            if (!device::is_right(p, kernel, where)) return;
        }
    }
}

// Rows further apart than their length: what lies between them stays as it is.
SMX_DEVICE_TEST(layout, gaps_between_rows) {
    for (runner const& kernel : device::chosen_kernels()) {
        if (!device::can_take(kernel, 64, where)) continue;
        problem p = composed({2, 2, 5, 64}, 34);
        p.x_step = device::pitched(p.shape, 67);
        p.y_step = device::pitched(p.shape, 72);
        p.masks.flags.gap = 16;
        p.masks.bias.gap = 5;
        if (!device::is_right(p, kernel, where)) return;
    }
}

SMX_DEVICE_TEST(layout, transposed_views) {
    for (runner const& kernel : device::chosen_kernels()) {
        if (!device::can_take(kernel, 61, where)) continue;
        problem p = composed({2, 3, 4, 61}, 35);
        p.x_step = device::query_major(p.shape, 61);
        if (!device::is_right(p, kernel, where)) return;
        p.x_step = {};
        p.y_step = device::query_major(p.shape, 64);
        if (!device::is_right(p, kernel, where)) return;
        // Heads outermost, batches innermost.
        p.x_step = p.y_step = {61, 2 * 4 * 61, 2 * 61, 1};
        if (!device::is_right(p, kernel, where)) return;
    }
}

SMX_DEVICE_TEST(layout, negative_and_zero_strides) {
    for (runner const& kernel : device::chosen_kernels()) {
        if (!device::can_take(kernel, 33, where)) continue;
        problem p = composed({2, 3, 4, 33}, 36);
        for (smx::strides step : {smx::strides{396, 132, -33, 1}, smx::strides{-396, 132, 33, 1},
                                  smx::strides{-396, -132, -33, 1}, smx::strides{0, 0, 33, 1}, smx::strides{0, 0, 0, 1},
                                  smx::strides{33, 0, 0, 1}, smx::strides{0, -33, 0, 1}, smx::strides{1, 2, 3, 1}}) {
            p.x_step = step;
            if (!device::is_right(p, kernel, where)) return;
        }
        p.x_step = {};
        for (smx::strides step : {smx::strides{396, 132, -33, 1}, smx::strides{-400, -133, -33, 1}}) {
            p.y_step = step;
            if (!device::is_right(p, kernel, where)) return;
        }
    }
}

SMX_DEVICE_TEST(layout, in_place) {
    support::random_stream random(37);
    for (runner const& kernel : device::kernels_of(where)) {
        if (device::bytes_of(kernel.x) != device::bytes_of(kernel.y)) continue;
        bool right = true;
        for (int cols : {1, 9, 64, 203, 1030}) {
            if (!device::can_take(kernel, cols, where) || !right) continue;
            problem p = device::random_problem(kernel, cols, random);
            p.in_place = true;
            p.x_step = p.y_step = {};
            p.x_phase = p.y_phase;
            right = device::is_right(p, kernel, where);
        }
    }
}

// x and y are slices of one buffer: rows of y lie in the gaps between rows of x.
SMX_DEVICE_TEST(layout, slices_of_one_buffer) {
    for (runner const& kernel : device::kernels_of(where)) {
        constexpr int rows = 6, cols = 21, pitch = 2 * cols + 3;
        if (kernel.x != device::storage::f32 || kernel.y != kernel.x || kernel.masks != device::family::none ||
            !device::can_take(kernel, cols, where))
            continue;
        if (kernel.kind == runner::named && kernel.policy.body == smx::body_kind::packed) continue;
        std::vector<float> buffer(rows * pitch);
        for (std::size_t at = 0; at < buffer.size(); ++at) buffer[at] = static_cast<float>((at * 29) % 17) * 0.25f;
        device::placed const memory(where, buffer.size() * sizeof(float));
        where.upload(memory.data(), buffer.data(), memory.size());
        ASSERT_EQ(where.finish(), "");
        device::call c;
        c.shape = {rows, cols};
        c.x = memory.data();
        c.y = memory.data() + (cols + 1) * sizeof(float);
        c.x_step = c.y_step = {rows * pitch, rows * pitch, pitch, 1};
        smx::status const s = device::at(where, kernel).run(where.stream(), c);
        ASSERT_TRUE(s.ok()) << device::name_of(kernel) << ": " << s.argument << ", " << s.requirement;
        ASSERT_EQ(where.finish(), "");
        std::vector<float> after(buffer.size());
        where.download(after.data(), memory.data(), memory.size());
        for (int row = 0; row < rows; ++row) {
            auto const x = [&](int k) {
                return static_cast<double>(buffer[static_cast<std::size_t>(row * pitch + k)]);
            };
            support::reference_row const want =
                support::softmax_reference(cols, x, 1.0, support::no_bias{}, support::none_hidden{});
            ASSERT_EQ(support::difference<float>(
                          want, [&](int k) { return after[static_cast<std::size_t>(row * pitch + cols + 1 + k)]; },
                          support::arithmetic::in_float),
                      "")
                << device::name_of(kernel) << ", row " << row;
            for (int k = 0; k < pitch; ++k) {
                auto const at = static_cast<std::size_t>(row * pitch + k);
                if (k > cols && k <= 2 * cols) continue;
                ASSERT_EQ(after[at], buffer[at]) << device::name_of(kernel) << ", row " << row << ", element " << k;
            }
        }
    }
}

// Every form a mask or a bias can have, with several batches, heads and queries, in short rows and in longer ones.
SMX_DEVICE_TEST(layout, broadcast_masks) {
    for (runner const& kernel : device::kernels_of(where)) {
        bool right = true;
        for (smx::extents const& shape :
             {smx::extents(2, 3, 5, 7), smx::extents(2, 3, 5, 1500), smx::extents(4, 8, 17, 33)}) {
            for (device::form axes : device::all_forms) {
                if (!device::can_take(kernel, shape.keys, where) || !right) continue;
                problem p;
                p.shape = shape;
                p.seed = 38;
                p.exact = true;
                p.factor_per_head = kernel.factor == device::factor_type::head;
                p.factor_on_device = kernel.factor == device::factor_type::device;
                using device::family;
                family const m = kernel.masks;
                bool const has_bits = m == family::bits || m == family::structured_bits || m == family::either_bits;
                bool const selects =
                    device::selects_by_tensor(m) || has_bits || m == family::composed || m == family::either_of;
                bool const biases = m == family::bias || m == family::half_bias || m == family::two_ends;
                if ((!selects && !biases) || (has_bits && axes == device::form::batch_query)) continue;
                device::mask_tensor_layout const layout{axes, 0, 0};
                if (selects) device::selecting_tensor(p.masks, m) = layout;
                if (m == family::bias || m == family::composed) p.masks.bias = layout;
                if (m == family::half_bias || m == family::two_ends) p.masks.half_bias = layout;
                if (m == family::either_of || m == family::either_bits || m == family::two_ends)
                    p.masks.lengths = device::lengths_kind::right;
                right = device::is_right(p, kernel, where);
            }
        }
    }
}

SMX_DEVICE_TEST(layout, no_elements) {
    for (runner const& kernel : device::kernels_of(where)) {
        for (smx::extents const& shape : {smx::extents(0, 2, 3, 4), smx::extents(2, 0, 3, 4), smx::extents(2, 2, 0, 4),
                                          smx::extents(2, 2, 3, 0), smx::extents(0, 0, 0, 0)}) {
            problem p;
            p.shape = shape;
            p.factor_per_head = kernel.factor == device::factor_type::head;
            p.factor_on_device = kernel.factor == device::factor_type::device;
            if (!device::is_right(p, kernel, where)) break;
        }
    }
}

// Batches and heads beyond what a grid's y and z can count.
SMX_DEVICE_TEST(layout, many_rows) {
    int turn = 0;
    for (runner const& kernel : device::chosen_kernels()) {
        if (!device::can_take(kernel, 32, where)) continue;
        problem p;
        p.shape = turn % 3 == 0   ? smx::extents(65537, 1, 1, 32)
                  : turn % 3 == 1 ? smx::extents(1, 65537, 1, 32)
                                  : smx::extents(3, 1, 25001, 31);
        p.seed = 39;
        p.masks.lengths = device::lengths_kind::left;
        p.masks.flags = {turn % 3 == 0 ? device::form::batch_key : device::form::query_key, 0, 0};
        p.masks.causal = turn % 3 == 2 ? device::causal_kind::bottom_right : device::causal_kind::none;
        if (!device::is_right(p, kernel, where)) return;
        if (++turn == 9 || (!where.is_gpu() && turn == 3)) break;
    }
}

// Rows in number not a multiple of what a block takes.
SMX_DEVICE_TEST(layout, every_number_of_rows) {
    for (runner const& kernel : device::kernels_of(where)) {
        bool right = true;
        for (int64 rows : {1, 2, 3, 5, 7, 13, 127, 129, 257}) {
            for (int64 cols : {1, 5, 32}) {
                if (!device::can_take(kernel, cols, where) || !right || (!where.is_gpu() && rows > 7)) continue;
                problem p;
                p.shape = smx::extents(rows, cols);
                p.seed = 40;
                p.factor_per_head = kernel.factor == device::factor_type::head;
                p.factor_on_device = kernel.factor == device::factor_type::device;
                right = device::is_right(p, kernel, where);
            }
        }
    }
}

// Blocks whose lanes take several rows one after the other, at the ends of a round and of a block.
SMX_DEVICE_TEST(layout, rows_one_after_the_other) {
    for (runner const& kernel : device::kernels_of(where)) {
        bool right = kernel.kind == runner::named && kernel.policy.rows_each > 1;
        for (int64 rows : {63, 65, 192, 193, 511, 513, 1025}) {
            for (int64 cols : {1, 3, 7, 12, 24, 50}) {
                if (!right || !device::can_take(kernel, cols, where)) continue;
                problem p;
                p.shape = smx::extents(rows, cols);
                p.seed = 41;
                right = device::is_right(p, kernel, where);
            }
        }
    }
}

// What hidden::keep leaves, in place and apart.
SMX_DEVICE_TEST(layout, hidden_elements_are_kept) {
    for (runner const& kernel : device::kernels_of(where)) {
        if (kernel.hidden != smx::hidden::keep) continue;
        bool right = true;
        for (int64 cols : {5, 64, 203}) {
            if (!device::can_take(kernel, cols, where)) continue;
            smx::extents const shape(3, 2, 4, cols);
            for (device::mask_parts const& masks : device::masks_of(kernel.masks, shape)) {
                problem p;
                p.shape = shape;
                p.masks = masks;
                p.seed = 41;
                p.y_step = device::pitched(shape, cols + 3);
                p.y_phase = 1;
                right = right && device::is_right(p, kernel, where);
            }
        }
    }
}

// The GPU and the CPU give the same probabilities: within a step of the output's type, or some roundings of the
// arithmetic.
SMX_DEVICE_TEST(layout, kernels_agree_with_the_host) {
    support::random_stream random(42);
    for (runner const& kernel : device::kernels_of(where)) {
        int const cols = static_cast<int>(std::min<int64>(700, device::longest_row(kernel, where)));
        if (cols == 0) continue;
        problem p = device::random_problem(kernel, cols, random);
        p.scores = support::pattern::mild;
        device::execution there(p, device::at(where, kernel), where);
        device::execution here(p, device::host_twin(kernel), device::host_space());
        ASSERT_EQ(there.run(), "") << device::name_of(kernel);
        ASSERT_EQ(here.run(), "") << device::name_of(kernel);
        double const step = kernel.y == device::storage::bf16                                      ? 0x1p-7
                            : kernel.y == device::storage::f16                                     ? 0x1p-10
                            : kernel.x == device::storage::f64 && kernel.y == device::storage::f64 ? 0x1p-46
                                                                                                   : 0x1p-18;
        int wrong = 0;
        for (int64 b = 0; b < p.shape.batch; ++b) {
            for (int64 h = 0; h < p.shape.heads; ++h) {
                for (int64 q = 0; q < p.shape.queries; ++q) {
                    for (int k = 0; k < cols && wrong == 0; ++k) {
                        double const got = there.value(b, h, q, k), want = here.value(b, h, q, k);
                        bool const same = std::isnan(want) ? std::isnan(got)
                                                           : std::fabs(got - want) <= step * std::fabs(want) + 0x1p-24;
                        if (same) continue;
                        ++wrong;
                        ADD_FAILURE() << device::name_of(kernel) << "\n  " << device::in_words(p) << "\n  row (" << b
                                      << ", " << h << ", " << q << "), column " << k << ": got "
                                      << support::in_words(got) << ", the host gives " << support::in_words(want);
                    }
                }
            }
        }
    }
}

}  // namespace
