// Which kernels, lengths and layouts the tests go through.
#include "device/suite.hpp"

#include <algorithm>
#include <set>

namespace device {

smx::strides pitched(smx::extents shape, int64 pitch) {
    return {shape.heads * shape.queries * pitch, shape.queries * pitch, pitch, 1};
}

smx::strides query_major(smx::extents shape, int64 pitch) {
    return {shape.queries * shape.heads * pitch, pitch, shape.heads * pitch, 1};
}

namespace {

bool is_packed(runner const& kernel) {
    return kernel.kind == runner::named && kernel.policy.body == smx::body_kind::packed;
}

}  // namespace

bool can_take(runner const& kernel, int64 cols, space& where) {
    if (kernel.kind != runner::named) return true;
    smx::row_shape shape;
    shape.cols = cols;
    shape.element_bytes = bytes_of(kernel.x);
    shape.compute_bytes = kernel.x == storage::f64 ? 8 : 4;
    return kernel.can_run(shape, where.limits());
}

int64 longest_row(runner const& kernel, space& where) {
    constexpr int64 no_limit = 1 << 24;
    if (can_take(kernel, no_limit, where)) return smx::most_columns;
    int64 most = 0;
    for (int64 step = no_limit; step > 0; step /= 2) {
        if (can_take(kernel, most + step, where)) most += step;
    }
    return most;
}

runner_list const& kernels_of(space& where) {
    if (where.is_gpu()) return all_kernels();
    static runner_list const list = [&] {
        runner_list chosen;
        for (runner const& kernel : all_kernels()) {
            auto const same = std::find_if(chosen.begin(), chosen.end(), [&](runner const& other) {
                return host_twin(other).run == host_twin(kernel).run;
            });
            if (same == chosen.end()) {
                chosen.push_back(kernel);
            } else if (longest_row(*same, where) < longest_row(kernel, where)) {
                *same = kernel;
            }
        }
        return chosen;
    }();
    return list;
}

std::vector<int> edges_of(runner const& kernel, space& where) {
    std::set<int64> lengths{1, 2};
    int64 const longest = longest_row(kernel, where);
    auto const around = [&](int64 cols) { lengths.insert({cols - 1, cols, cols + 1}); };
    if (kernel.kind != runner::named) {
        for (runner const& other : all_kernels()) {
            bool const alike = other.kind == runner::named && other.x == kernel.x && other.y == kernel.y &&
                               other.masks == kernel.masks;
            if (alike && other.policy.body != smx::body_kind::online) around(longest_row(other, where));
        }
    } else {
        smx::policy const& p = kernel.policy;
        lengths.insert({p.vec - 1, p.vec, p.vec + 1});
        around(p.columns());
        // Slices that end with a block, and clusters of every kind of number of blocks.
        if (p.blocks > 1) {
            for (int blocks : {1, 2, 3, p.blocks - 1}) around(p.columns() / p.blocks * blocks);
        }
        if (p.behind > 0) {  // where the registers end, and the first round behind them
            int64 const round = int64{p.lanes} / p.blocks * p.vec;
            for (int64 blocks : {1, 2, 3, p.blocks}) {
                if (blocks > p.blocks) continue;
                for (int64 rounds : {p.packs, p.packs + 1}) around(blocks * rounds * round);
                lengths.insert(blocks * p.packs * round + p.vec - 1);
            }
        }
        if (p.body == smx::body_kind::staged || p.body == smx::body_kind::online) {
            lengths.insert({p.columns() + p.vec - 1, 2 * p.columns() - 1, 2 * p.columns(), 2 * p.columns() + p.vec,
                            3 * p.columns() + 5});
        }
        if (longest < smx::most_columns) lengths.insert({longest - 1, longest});
    }
    std::vector<int> result;
    for (int64 cols : lengths) {
        if (cols > 0 && cols <= longest) result.push_back(static_cast<int>(cols));
    }
    return result;
}

problem random_problem(runner const& kernel, int cols, support::random_stream& random) {
    problem p;
    p.shape = cols <= 64      ? smx::extents(2, 3, 1 + random.below(8), cols)
              : cols <= 2048  ? smx::extents(2, 2, 3, cols)
              : cols <= 32768 ? smx::extents(2, 1, 1 + random.below(3), cols)
                              : smx::extents(1 + random.below(2), 1, 1, cols);
    p.seed = random.bits() % 1000000;
    p.scores = support::all_patterns[random.below(9)];
    constexpr double factors[] = {1.0, 0.125, -0.7, 0.0};
    p.factor = p.scores == support::pattern::huge ? 1.0 : factors[random.below(4)];
    p.factor_on_device =
        kernel.factor == factor_type::device || (kernel.factor == factor_type::any && random.coin(0.25));
    p.factor_per_head = kernel.factor == factor_type::head ||
                        (kernel.factor == factor_type::any && p.scores != support::pattern::huge && random.coin(0.25));
    if (kernel.factor == factor_type::head && p.scores == support::pattern::huge) p.factor = 0.5;
    constexpr smx::empty_row rules[] = {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan};
    p.when_empty = rules[random.below(3)];
    auto const masks = masks_of(kernel.masks, p.shape);
    p.masks = masks[static_cast<std::size_t>(random.below(static_cast<int>(masks.size())))];
    p.x_phase = random.coin() ? 0 : random.below(17);
    p.y_phase = random.coin() ? p.x_phase : random.below(17);

    if (is_packed(kernel)) {  // rows that touch, in one phase of 16 bytes
        p.y_phase = p.x_phase + random.below(3) * 16 / bytes_of(kernel.y);
        p.in_place = random.coin(0.25);
        return p;
    }
    int64 const x_pitch = cols + random.below(9), y_pitch = cols + random.below(9);
    switch (random.below(6)) {
        case 0:
            break;
        case 1:
            p.x_step = pitched(p.shape, x_pitch);
            p.y_step = pitched(p.shape, y_pitch);
            break;
        case 2:
            p.x_step = query_major(p.shape, x_pitch);
            p.y_step = query_major(p.shape, y_pitch);
            break;
        case 3: {
            smx::strides const packed = pitched(p.shape, x_pitch);
            p.x_step = {packed.batch, -packed.head, -packed.query, 1};
            p.y_step = pitched(p.shape, y_pitch);
            break;
        }
        case 4:
            p.x_step = {p.shape.queries * x_pitch, 0, x_pitch, 1};
            break;
        default:
            p.in_place = bytes_of(kernel.x) == bytes_of(kernel.y);
            p.y_step = random.coin() ? pitched(p.shape, y_pitch) : query_major(p.shape, y_pitch);
            break;
    }
    return p;
}

runner_list const& chosen_kernels() {
    static runner_list const list = [] {
        runner_list chosen;
        for (runner_list const& from : {half_kernels(), float_kernels()}) {
            int resident = 0;
            for (runner const& r : from) {
                if (is_packed(r)) continue;  // takes no layout but one
                bool const is_resident = r.kind == runner::named && r.policy.body == smx::body_kind::resident;
                if (!is_resident || resident++ % 3 == 1) chosen.push_back(r);
            }
        }
        return chosen;
    }();
    return list;
}

}  // namespace device
