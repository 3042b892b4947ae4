// What row_sweep.hpp declares, compiled once for each pair of storage types.
#include "lanes/row_sweep.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "support/compare.hpp"
#include "support/sanitized.hpp"

namespace lanes {

using support::index;

template <class X, class Y>
std::string check_row(row_runner<X, Y> const& runner, any_mask const& mask, support::mask_material const& material,
                      std::vector<X> const& scores, index b, index h, index q, row_options const& options) {
    using compute = typename row_runner<X, Y>::compute;
    auto const type = support::arithmetic_of<X>;
    support::shape4 const& shape = material.shape;
    int const keys = shape.keys;
    auto const count = static_cast<std::size_t>(keys);
    auto const at = [](int k) { return static_cast<std::size_t>(k); };

    std::vector<X> values(scores.begin(), scores.begin() + keys);
    for (int k = 0; k < keys; ++k) {
        bool const shown = mask.visible(material, b, h, q, k) &&
                           mask.bias(material, b, h, q, k) != -std::numeric_limits<double>::infinity();
        if (!shown) values[at(k)] = support::stored<X>::make(std::numeric_limits<double>::quiet_NaN());
    }
    support::reference_row const want = support::softmax_reference(
        keys, [&](int k) { return support::stored<X>::value(values[at(k)]); },
        static_cast<double>(static_cast<compute>(options.factor)),
        [&](int k) { return mask.bias(material, b, h, q, k); },
        [&](int k) { return mask.visible(material, b, h, q, k); }, support::reference_rule(options.when_empty), type);

    support::fenced_buffer<X> const fenced(values);
    support::guarded_buffer<X> const offset(values, options.x_offset);
    X const* const x = options.x_offset == 0 ? fenced.data() : offset.data();
    support::guarded_buffer<Y> y(count, options.y_offset);
    support::guarded_buffer<unsigned char> kept(runner.keeper_bytes(keys));
    std::vector<smx::statistics<compute>> stats(at(runner.lanes));
    smx::row_id const row{b, h, q, (b * shape.heads + h) * shape.queries + q, keys};
    runner.run_for(mask.kind)(mask, material, row, options, {x, y.data(), kept.data(), stats.data()});

    if (!y.intact()) return "wrote outside y";
    if (!kept.intact()) return "wrote outside the keeper's memory";
    if (!offset.intact() || (count != 0 && std::memcmp(x, values.data(), count * sizeof(X)) != 0)) return "wrote to x";

    std::string sentence = support::difference<Y>(
        want, [&](int k) { return y[at(k)]; }, type);
    if (!sentence.empty()) return sentence;
    for (auto const& one : stats) {
        if (std::memcmp(&one, &stats[0], sizeof one) != 0) return "lanes disagree about the statistics";
    }
    double const magnitude = want.largest_score;
    if (want.kind != support::row_kind::undefined) {
        sentence = support::difference_of("max", static_cast<double>(stats[0].max), want.max, magnitude, type, 0);
        if (!sentence.empty()) return sentence;
        sentence = support::difference_of("sum", static_cast<double>(stats[0].sum), want.sum,
                                          want.sum * (1 + magnitude), type, keys);
        if (!sentence.empty()) return sentence;
    }
    return support::difference_of("log-sum-exp", static_cast<double>(smx::log_sum_exp_of(stats[0])), want.log_sum_exp,
                                  magnitude + std::fabs(want.log_sum_exp), type, keys);
}

std::vector<int> edge_lengths(int vec, int capacity, bool has_capacity) {
    std::set<int> all;
    for (int cols = 0; cols <= 33; cols += support::is_sanitized ? 3 : 1) all.insert(cols);
    for (int cols : {63, 64, 65, 127, 128, 129}) all.insert(cols);
    for (int cols : {capacity - vec, capacity - 1, capacity}) all.insert(cols);
    if (has_capacity) {
        while (!all.empty() && *all.rbegin() > capacity) all.erase(*all.rbegin());
    } else {
        for (int cols : {capacity + 1, capacity + vec - 1, capacity + vec, 2 * capacity - 1, 2 * capacity,
                         2 * capacity + vec, 3 * capacity + 5}) {
            all.insert(cols);
        }
    }
    return std::vector<int>(all.begin(), all.end());
}

template <class X, class Y>
void sweep(row_runner<X, Y> const& runner, any_mask const& mask, std::vector<int> const& lengths) {
    SCOPED_TRACE(mask.name);
    support::random_stream random(1);
    constexpr smx::empty_row rules[] = {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan};
    constexpr double factors[] = {1.0, 0.125, -0.7, 0.0};
    int number = 0;
    for (int cols : lengths) {
        // Fewer queries than keys, as many, and more.
        long long const queries = cols > 129 || number % 3 == 0 ? 3 : number % 3 == 1 ? cols + 1 : cols + 5;
        support::shape4 const shape{3, 2, queries, cols};
        support::mask_material const material(shape, 1 + static_cast<unsigned long long>(cols));
        for (int turn = 0; turn < 2; ++turn, ++number) {
            auto const pattern = support::all_patterns[random.below(9)];
            auto const scores = support::make_scores<X>(pattern, static_cast<std::size_t>(cols), std::max(cols, 1),
                                                        static_cast<unsigned long long>(number));
            row_options options;
            // Half of the rows end at the end of memory, the others start anywhere.
            options.x_offset = turn == 0 ? 0 : static_cast<std::size_t>(1 + random.below(16));
            options.y_offset = static_cast<std::size_t>(random.below(16));
            // A factor of -0.7 still fits; one above 1 would turn the largest scores into infinities.
            options.factor = factors[number % 4];
            options.when_empty = rules[random.below(3)];
            long long const b = random.below(3), h = random.below(2), q = random.below(static_cast<int>(queries));
            ASSERT_EQ(check_row(runner, mask, material, scores, b, h, q, options), "")
                << "cols " << cols << ", queries " << queries << ", row (" << b << ", " << h << ", " << q << "), "
                << support::name_of(pattern) << " scores, factor " << options.factor << ", x offset "
                << options.x_offset << ", y offset " << options.y_offset << ", empty rule "
                << static_cast<int>(options.when_empty);
        }
    }
}

#define SMX_SWEEP(X, Y)                                                                                     \
    template std::string check_row(row_runner<X, Y> const&, any_mask const&, support::mask_material const&, \
                                   std::vector<X> const&, index, index, index, row_options const&);         \
    template void sweep(row_runner<X, Y> const&, any_mask const&, std::vector<int> const&);
SMX_SWEEP(float, float)
SMX_SWEEP(float, smx::half)
SMX_SWEEP(float, smx::bfloat16)
SMX_SWEEP(float, double)
SMX_SWEEP(smx::half, smx::half)
SMX_SWEEP(smx::half, float)
SMX_SWEEP(smx::bfloat16, smx::bfloat16)
SMX_SWEEP(smx::bfloat16, float)
SMX_SWEEP(smx::bfloat16, smx::half)
SMX_SWEEP(double, double)
SMX_SWEEP(double, float)
SMX_SWEEP(double, smx::half)

}  // namespace lanes
