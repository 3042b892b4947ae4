// What backward_runner.hpp declares, compiled once for the storage types of the tests.
#include <algorithm>
#include <cstring>
#include <limits>

#include "lanes/backward_runner.hpp"
#include "support/gradient.hpp"

namespace lanes {

using support::index;

template <class Y, class Dy, class Dx>
std::string check_backward_row(backward_runner<Y, Dy, Dx> const& runner, any_mask const& mask,
                               support::mask_material const& material, index b, index h, index q,
                               backward_options const& options, unsigned long long seed) {
    constexpr bool is_double = sizeof(smx::compute_of<Y>) == 8 || sizeof(smx::compute_of<Dy>) == 8;
    auto const type = is_double ? support::arithmetic::in_double : support::arithmetic::in_float;
    support::shape4 const& shape = material.shape;
    int const keys = shape.keys;
    auto const count = static_cast<std::size_t>(keys);
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    auto const visible = [&](int k) {
        return mask.visible(material, b, h, q, k) &&
               mask.bias(material, b, h, q, k) > -std::numeric_limits<double>::infinity();
    };

    support::random_stream random(seed);
    std::vector<double> scores(count);
    for (double& score : scores) score = support::stored<Y>::value(support::stored<Y>::make(2.0 * random.normal()));
    support::reference_row const forward = support::softmax_reference(
        keys, [&](int k) { return scores[static_cast<std::size_t>(k)]; }, options.factor,
        [&](int k) { return mask.bias(material, b, h, q, k); },
        [&](int k) { return mask.visible(material, b, h, q, k); }, support::reference_rule(options.when_empty), type);
    std::vector<Y> y(count);
    std::vector<Dy> dy(count);
    int const chosen = keys == 0 ? 0 : random.below(keys);
    for (int k = 0; k < keys; ++k) {
        auto const at = static_cast<std::size_t>(k);
        bool const garbage = options.hidden_is_garbage && !visible(k);
        bool const is_special = options.special != 0 && k == chosen && visible(k);
        double const kept = runner.from == probabilities_from::saved ? forward.y[at] : scores[at];
        y[at] = support::stored<Y>::make(garbage ? nan : kept);
        dy[at] = support::stored<Dy>::make(garbage ? nan : is_special ? options.special : random.normal());
    }
    auto const want = support::gradient_reference(
        keys,
        [&](int k) {
            auto const at = static_cast<std::size_t>(k);
            return runner.from == probabilities_from::saved ? support::stored<Y>::value(y[at]) : forward.y[at];
        },
        [&](int k) { return support::stored<Dy>::value(dy[static_cast<std::size_t>(k)]); },
        is_double ? options.factor : static_cast<double>(static_cast<float>(options.factor)), visible);

    support::fenced_buffer<Y> const fenced(y);
    support::guarded_buffer<Y> const offset(y, options.y_offset);
    support::guarded_buffer<Dy> given(dy, options.dy_offset);
    support::guarded_buffer<Dx> apart(count, options.dx_offset);
    Y const* const y_memory = options.y_offset == 0 ? fenced.data() : offset.data();
    Dx* const dx = options.in_place ? reinterpret_cast<Dx*>(given.data()) : apart.data();
    smx::row_id const row{b, h, q, (b * shape.heads + h) * shape.queries + q, keys};
    runner.run_for(mask.kind)(mask, material, row, options.factor, y_memory, &forward.log_sum_exp, given.data(), dx);

    if (!apart.intact() || !given.intact()) return "wrote outside dx";
    if (!offset.intact() || (count != 0 && std::memcmp(y_memory, y.data(), count * sizeof(Y)) != 0))
        return "wrote to y";
    if (!options.in_place && count != 0 && std::memcmp(given.data(), dy.data(), count * sizeof(Dy)) != 0)
        return "wrote to dy";
    // The exponent of a probability made again is off by the rounding of its score and of the sum.
    double const rounding =
        runner.from == probabilities_from::saved ? 0 : 2 * (forward.largest_score + std::fabs(forward.log_sum_exp));
    return support::difference_of_gradients<Dx>(
        want, [&](int k) { return dx[k]; }, type, std::isfinite(rounding) ? rounding : 0);
}

template <class Y, class Dy, class Dx>
void sweep_backward(backward_runner<Y, Dy, Dx> const& runner, any_mask const& mask, std::vector<int> const& lengths) {
    SCOPED_TRACE(mask.name);
    support::random_stream random(1);
    constexpr smx::empty_row rules[] = {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan};
    constexpr double factors[] = {1.0, 0.125, -0.7, 0.0};
    constexpr double specials[] = {0, 0, 0, std::numeric_limits<double>::quiet_NaN(),
                                   std::numeric_limits<double>::infinity()};
    int number = 0;
    for (int cols : lengths) {
        // Fewer queries than keys, as many, and more.
        long long const queries = cols > 129 || number % 3 == 0 ? 3 : number % 3 == 1 ? cols + 1 : cols + 5;
        support::mask_material const material({3, 2, queries, cols}, 1 + static_cast<unsigned long long>(cols));
        for (int turn = 0; turn < 2; ++turn, ++number) {
            backward_options options;
            // Half of the rows of y end at the end of memory, the others start anywhere; packs of dy lie as those of y
            // or not.
            options.y_offset = turn == 0 ? 0 : static_cast<std::size_t>(1 + random.below(16));
            options.dy_offset = random.coin() ? options.y_offset : static_cast<std::size_t>(random.below(16));
            options.dx_offset = static_cast<std::size_t>(random.below(16));
            options.factor = factors[number % 4];
            options.when_empty = rules[random.below(3)];
            options.hidden_is_garbage = random.coin();
            options.in_place = sizeof(Dy) == sizeof(Dx) && random.coin();
            options.special = specials[random.below(5)];
            long long const b = random.below(3), h = random.below(2), q = random.below(static_cast<int>(queries));
            ASSERT_EQ(
                check_backward_row(runner, mask, material, b, h, q, options, static_cast<unsigned long long>(number)),
                "")
                << "cols " << cols << ", queries " << queries << ", row (" << b << ", " << h << ", " << q
                << "), factor " << options.factor << ", offsets " << options.y_offset << ", " << options.dy_offset
                << ", " << options.dx_offset << ", empty rule " << static_cast<int>(options.when_empty)
                << (options.hidden_is_garbage ? ", garbage" : "") << (options.in_place ? ", in place" : "")
                << ", special " << options.special;
        }
    }
}

#define SMX_SWEEP(Y, Dy, Dx)                                                                    \
    template std::string check_backward_row(backward_runner<Y, Dy, Dx> const&, any_mask const&, \
                                            support::mask_material const&, index, index, index, \
                                            backward_options const&, unsigned long long);       \
    template void sweep_backward(backward_runner<Y, Dy, Dx> const&, any_mask const&, std::vector<int> const&);
SMX_SWEEP(float, float, float)
SMX_SWEEP(float, smx::half, float)
SMX_SWEEP(float, float, double)
SMX_SWEEP(float, double, float)
SMX_SWEEP(smx::half, smx::half, smx::half)
SMX_SWEEP(smx::half, float, smx::half)
SMX_SWEEP(smx::half, float, double)
SMX_SWEEP(smx::bfloat16, smx::bfloat16, smx::bfloat16)
SMX_SWEEP(smx::bfloat16, smx::half, float)
SMX_SWEEP(double, double, double)
SMX_SWEEP(double, float, smx::half)

}  // namespace lanes
