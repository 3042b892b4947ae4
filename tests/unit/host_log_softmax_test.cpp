// Log-softmax in whole calls on the CPU: every pattern of scores, mask and policy; the backward pass against
// differences of the forward pass; and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "smx/host.hpp"
#include "support/data.hpp"
#include "support/guarded_buffer.hpp"
#include "support/logarithms.hpp"
#include "support/mask_cases.hpp"

namespace {

using support::index;
using support::shape4;
using support::stored;

constexpr double infinity = std::numeric_limits<double>::infinity();

smx::extents extents_of(shape4 const& shape) { return {shape.batch, shape.heads, shape.queries, shape.keys}; }
std::size_t count_of(shape4 const& shape) {
    return static_cast<std::size_t>(shape.batch * shape.heads * shape.queries * shape.keys);
}
template <class X>
constexpr auto arithmetic_for = sizeof(smx::compute_of<X>) == 8 ? support::arithmetic::in_double
                                                                : support::arithmetic::in_float;

// Calls visit(b, h, q, row) for every row.
template <class Visit>
void for_rows(shape4 const& shape, Visit const& visit) {
    index row = 0;
    for (index b = 0; b < shape.batch; ++b)
        for (index h = 0; h < shape.heads; ++h)
            for (index q = 0; q < shape.queries; ++q) visit(b, h, q, row++);
}

template <class X, class Y, class Case>
void expect_forward(shape4 const& shape, support::pattern pattern, smx::empty_row when_empty,
                    support::empty_gives gives, std::size_t at) {
    SCOPED_TRACE(::testing::Message() << shape.batch << " x " << shape.heads << " x " << shape.queries << " x "
                                      << shape.keys << ", " << support::name_of(pattern) << ", offset " << at);
    double const factor = 0.5;
    support::mask_material const material(shape, 1);
    std::size_t const count = count_of(shape);
    support::guarded_buffer<X> const x(support::make_scores<X>(pattern, count, shape.keys, at), at);
    support::guarded_buffer<Y> z(count, at + 3);
    std::vector<double> sums(count / static_cast<std::size_t>(shape.keys)), want_sums(sums);
    auto const in = smx::scores(x.data(), extents_of(shape));
    smx::status const done =
        smx::softmax_on_host(in, smx::fixed_scale(factor), Case::mask(material), smx::log_probabilities(z.data()),
                             when_empty, smx::log_sum_exp(sums.data()));
    ASSERT_TRUE(done) << smx::sentence(done).text;
    ASSERT_TRUE(z.intact());
    for_rows(shape, [&](index b, index h, index q, index row) {
        X const* const scores = x.data() + row * shape.keys;
        auto const want = support::logarithm_reference(
            shape.keys, [&](int k) { return stored<X>::value(scores[k]); }, factor,
            [&](int k) { return Case::bias(material, b, h, q, k); },
            [&](int k) { return Case::visible(material, b, h, q, k); }, gives, arithmetic_for<X>);
        ASSERT_EQ(
            support::difference_of_logarithms<Y>(
                want, [&](int k) { return z[static_cast<std::size_t>(row * shape.keys + k)]; }, arithmetic_for<X>),
            "")
            << "row (" << b << ", " << h << ", " << q << ")";
    });
}

template <class X, class Y, class Case>
void expect_forwards() {
    constexpr smx::empty_row rules[] = {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan};
    constexpr support::empty_gives gives[] = {support::empty_gives::zeros, support::empty_gives::uniform,
                                              support::empty_gives::nan};
    std::size_t turn = 0;
    for (auto const& shape :
         {shape4{1, 1, 1, 1}, shape4{2, 3, 5, 7}, shape4{1, 2, 4, 32}, shape4{2, 2, 3, 301}, shape4{1, 1, 2, 34001}}) {
        for (support::pattern pattern : support::all_patterns) {
            expect_forward<X, Y, Case>(shape, pattern, rules[turn % 3], gives[turn % 3], turn % 9);
            ++turn;
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST(host_log_softmax, without_a_mask) { expect_forwards<float, float, support::no_mask_case>(); }
TEST(host_log_softmax, causal) { expect_forwards<float, float, support::bottom_right_case>(); }
TEST(host_log_softmax, of_doubles) { expect_forwards<double, double, support::everything_case>(); }
TEST(host_log_softmax, of_halves) { expect_forwards<smx::half, smx::half, support::visible_flags_case>(); }
TEST(host_log_softmax, biased) { expect_forwards<float, float, support::bias_case>(); }
TEST(host_log_softmax, float_from_bfloat16) { expect_forwards<smx::bfloat16, float, support::left_padding_case>(); }

// Probabilities too small for any type have logarithms all the same.
TEST(host_log_softmax, is_not_the_logarithm_of_a_probability) {
    std::vector<float> const x{0, -100, -1000, -30000};
    std::vector<float> z(4);
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {1, 4}), smx::fixed_scale(1), smx::no_mask{},
                                     smx::log_probabilities(z.data())));
    EXPECT_EQ(z, x);
}

TEST(host_log_softmax, what_is_hidden_can_be_left) {
    std::vector<float> const x(6 * 40, 0.125f);
    support::guarded_buffer<float> z(x.size(), 1);
    ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {6, 40}), smx::fixed_scale(1),
                                     smx::causal_mask::diagonal(-1),
                                     smx::log_probabilities<smx::hidden::keep>(z.data())));
    ASSERT_TRUE(z.intact());
    for (int q = 0; q < 6; ++q) {
        for (int k = 0; k < 40; ++k)
            ASSERT_EQ(z.is_poison(static_cast<std::size_t>(q * 40 + k)), k > q - 1) << q << ", " << k;
    }
}

TEST(host_log_softmax, in_place) {
    std::vector<float> x(3 * 45), z(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 5);
    auto const run = [&](float* to) {
        return smx::softmax_on_host(smx::scores(x.data(), {3, 45}), smx::fixed_scale(1), smx::no_mask{},
                                    smx::log_probabilities(to));
    };
    ASSERT_TRUE(run(z.data()));
    ASSERT_TRUE(run(x.data()));
    EXPECT_EQ(x, z);
}

// The gradient by its formula, from logarithms that were kept: rows of a pack, of a tile, and such as are read twice;
// hidden logarithms and gradients are NaN.
template <class Z, class Dy, class Dx, class Case>
void expect_backward(shape4 const& shape, std::size_t at) {
    SCOPED_TRACE(::testing::Message() << shape.batch << " x " << shape.heads << " x " << shape.queries << " x "
                                      << shape.keys << ", offset " << at);
    double const factor = at % 2 == 0 ? 0.75 : -1.5;
    constexpr bool is_double = sizeof(smx::compute_of<Z>) == 8 || sizeof(smx::compute_of<Dy>) == 8;
    double const rounding = is_double ? 0x1p-53 : 0x1p-24;
    support::mask_material const material(shape, 2);
    std::size_t const count = count_of(shape);
    support::guarded_buffer<Z> z(count, at);
    support::guarded_buffer<Dy> dy(count, at + 1);
    support::guarded_buffer<Dx> dx(count, at + 2);
    support::random_stream random(at + 1);
    auto const visible = [&](index b, index h, index q, int k) {
        return Case::visible(material, b, h, q, k) && Case::bias(material, b, h, q, k) > -infinity;
    };
    for_rows(shape, [&](index b, index h, index q, index row) {
        std::vector<double> scores(static_cast<std::size_t>(shape.keys));
        for (double& one : scores) one = 4 * random.normal();
        auto const forward = support::logarithm_reference(
            shape.keys, [&](int k) { return scores[static_cast<std::size_t>(k)]; }, factor,
            [&](int k) { return Case::bias(material, b, h, q, k); },
            [&](int k) { return Case::visible(material, b, h, q, k); }, support::empty_gives::nan,
            support::arithmetic::in_double);
        for (int k = 0; k < shape.keys; ++k) {
            auto const here = static_cast<std::size_t>(row * shape.keys + k);
            bool const seen = visible(b, h, q, k);
            z[here] = stored<Z>::make(seen ? forward.z[static_cast<std::size_t>(k)] : std::nan(""));
            dy[here] = stored<Dy>::make(seen ? random.normal() : std::nan(""));
        }
    });
    smx::status const done = smx::softmax_backward_on_host(smx::saved_log_probabilities(z.data(), extents_of(shape)),
                                                           smx::incoming_gradients(dy.data()), smx::fixed_scale(factor),
                                                           Case::mask(material), smx::gradients(dx.data()));
    ASSERT_TRUE(done) << smx::sentence(done).text;
    ASSERT_TRUE(dx.intact());
    double const steps = 8 + std::sqrt(static_cast<double>(shape.keys));
    for_rows(shape, [&](index b, index h, index q, index row) {
        auto const begin = static_cast<std::size_t>(row * shape.keys);
        std::vector<double> bounds;
        auto const want = support::logarithm_gradient(
            shape.keys, [&](int k) { return stored<Z>::value(z[begin + static_cast<std::size_t>(k)]); },
            [&](int k) { return stored<Dy>::value(dy[begin + static_cast<std::size_t>(k)]); }, factor,
            [&](int k) { return visible(b, h, q, k); }, bounds);
        for (std::size_t k = 0; k < want.size(); ++k) {
            double const got = stored<Dx>::value(dx[begin + k]);
            if (!visible(b, h, q, static_cast<int>(k))) {
                ASSERT_TRUE(got == 0 && !std::signbit(got)) << "column " << k << " is hidden";
            } else {
                ASSERT_NEAR(got, want[k], rounding * steps * bounds[k] + 1.001 * stored<Dx>::half_step_at(want[k]))
                    << "column " << k;
            }
        }
    });
}

template <class Z, class Dy, class Dx, class Case>
void expect_backwards() {
    std::size_t at = 0;
    for (auto const& shape : {shape4{1, 1, 1, 1}, shape4{2, 3, 5, 7}, shape4{1, 2, 4, 32}, shape4{2, 2, 3, 301},
                              shape4{1, 2, 17, 17}, shape4{1, 1, 2, 17001}}) {
        expect_backward<Z, Dy, Dx, Case>(shape, at++);
        expect_backward<Z, Dy, Dx, Case>(shape, at++);
        if (::testing::Test::HasFatalFailure()) return;
    }
}

TEST(host_log_softmax, backward_without_a_mask) { expect_backwards<float, float, float, support::no_mask_case>(); }
TEST(host_log_softmax, backward_causal) { expect_backwards<smx::half, float, float, support::bottom_right_case>(); }
TEST(host_log_softmax, backward_with_all_masks) {
    expect_backwards<double, double, double, support::everything_case>();
}
TEST(host_log_softmax, backward_of_halves) {
    expect_backwards<smx::half, smx::half, smx::half, support::visible_flags_case>();
}
TEST(host_log_softmax, backward_with_biases) { expect_backwards<float, double, float, support::bias_case>(); }

// What a score more does to the sum of dy * ln p.
template <class Case>
void expect_the_derivative() {
    shape4 const shape{2, 2, 3, 21};
    support::mask_material const material(shape, 3);
    std::size_t const count = count_of(shape);
    support::random_stream random(7);
    std::vector<double> x(count), dy(count), z(count), dx(count), again(count), sums(count / 21);
    for (double& one : x) one = random.normal();
    for (double& one : dy) one = random.normal();
    auto const factor = smx::fixed_scale(0.7);
    auto const mask = Case::mask(material);
    auto const in = smx::scores(x.data(), extents_of(shape));
    auto const visible = [&](std::size_t i) {
        auto const here = static_cast<index>(i);
        index const q = here / 21 % 3, h = here / 63 % 2, b = here / 126;
        int const k = static_cast<int>(here % 21);
        return Case::visible(material, b, h, q, k) && Case::bias(material, b, h, q, k) > -infinity;
    };
    auto const loss = [&] {
        EXPECT_TRUE(
            smx::softmax_on_host(in, factor, mask, smx::log_probabilities(z.data()), smx::log_sum_exp(sums.data())));
        long double sum = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (visible(i)) sum += static_cast<long double>(z[i]) * dy[i];
        }
        return sum;
    };
    loss();
    auto const backward = [&](auto const& y, double* to) {
        ASSERT_TRUE(
            smx::softmax_backward_on_host(y, smx::incoming_gradients(dy.data()), factor, mask, smx::gradients(to)));
    };
    backward(smx::saved_log_probabilities(z.data(), extents_of(shape)), dx.data());
    backward(smx::recomputed_log_probabilities(in, sums.data()), again.data());
    for (std::size_t i = 0; i < count; ++i) {
        if (!visible(i)) {
            ASSERT_EQ(dx[i], 0.0);
            ASSERT_EQ(again[i], 0.0);
            continue;
        }
        double const middle = x[i], step = 1e-5;
        x[i] = middle + step;
        long double const above = loss();
        x[i] = middle - step;
        long double const below = loss();
        x[i] = middle;
        double const want = static_cast<double>((above - below) / (2 * step));
        ASSERT_NEAR(dx[i], want, 1e-8) << "element " << i;
        ASSERT_NEAR(again[i], want, 1e-8) << "element " << i;
    }
}

TEST(host_log_softmax, backward_is_the_derivative) { expect_the_derivative<support::no_mask_case>(); }
TEST(host_log_softmax, backward_is_the_derivative_under_masks) { expect_the_derivative<support::everything_case>(); }

// No gradient comes of a logarithm of -infinity: not in an empty row, not of a visible score of -infinity beside
// others.
TEST(host_log_softmax, scores_of_minus_infinity_have_no_gradient) {
    auto const inf = std::numeric_limits<float>::infinity();
    std::vector<float> const x{1, -inf, 2, -inf, -inf, -inf}, dy{1, std::nanf(""), 3, std::nanf(""), 5, 6};
    std::vector<float> z(6), dx(6, -1.0f), again(6, -1.0f), sums(2);
    auto const in = smx::scores(x.data(), {2, 3});
    ASSERT_TRUE(smx::softmax_on_host(in, smx::fixed_scale(1), smx::no_mask{}, smx::log_probabilities(z.data()),
                                     smx::log_sum_exp(sums.data())));
    auto const given = smx::incoming_gradients(dy.data());
    ASSERT_TRUE(smx::softmax_backward_on_host(smx::saved_log_probabilities(z.data(), {2, 3}), given,
                                              smx::fixed_scale(1), smx::no_mask{}, smx::gradients(dx.data())));
    ASSERT_TRUE(smx::softmax_backward_on_host(smx::recomputed_log_probabilities(in, sums.data()), given,
                                              smx::fixed_scale(1), smx::no_mask{}, smx::gradients(again.data())));
    for (auto const& got : {dx, again}) {
        EXPECT_NEAR(static_cast<double>(got[0]), 1 - 4 / (1 + std::exp(1.0)), 1e-6);
        EXPECT_NEAR(static_cast<double>(got[2]), 3 - 4 / (1 + std::exp(-1.0)), 1e-6);
        for (std::size_t k : {1U, 3U, 4U, 5U}) EXPECT_EQ(got[k], 0.0f) << k;
    }
}

// A NaN stays in the visible columns of its row.
TEST(host_log_softmax, a_nan_stays_in_its_row) {
    std::vector<float> z(3 * 40, std::log(1.0f / 20)), dy(z.size(), 0.5f), dx(z.size());
    dy[40 + 7] = std::nanf("");
    ASSERT_TRUE(smx::softmax_backward_on_host(smx::saved_log_probabilities(z.data(), {3, 40}),
                                              smx::incoming_gradients(dy.data()), smx::fixed_scale(1),
                                              smx::causal_mask::diagonal(18), smx::gradients(dx.data())));
    for (int q = 0; q < 3; ++q) {
        for (int k = 0; k < 40; ++k) {
            float const got = dx[static_cast<std::size_t>(q * 40 + k)];
            EXPECT_EQ(std::isnan(got), q == 1 && k <= q + 18) << q << ", " << k;
            EXPECT_TRUE(k <= q + 18 || got == 0.0f);
        }
    }
}

TEST(host_log_softmax, wrong_calls_are_refused) {
    using smx::errc;
    std::vector<float> x(16), y(16), dx(16);
    float* const none = nullptr;
    auto const forward =
        smx::check(smx::scores(x.data(), {2, 8}), smx::fixed_scale(1), smx::no_mask{}, smx::log_probabilities(none));
    EXPECT_EQ(forward.code, errc::null_pointer);
    EXPECT_STREQ(forward.argument, "y");
    EXPECT_EQ(smx::check(smx::scores(x.data(), {2, 8}), smx::fixed_scale(1), smx::no_mask{},
                         smx::log_probabilities(x.data() + 1))
                  .code,
              errc::overlap);
    auto const backward = [&](float const* logarithms, float* to) {
        return smx::check_backward(smx::saved_log_probabilities(logarithms, {2, 8}), smx::incoming_gradients(y.data()),
                                   smx::fixed_scale(1), smx::no_mask{}, smx::gradients(to));
    };
    EXPECT_TRUE(backward(x.data(), dx.data()));
    EXPECT_TRUE(backward(x.data(), y.data()));
    EXPECT_STREQ(backward(none, dx.data()).argument, "y");
    EXPECT_EQ(backward(none, dx.data()).code, errc::null_pointer);
    EXPECT_STREQ(smx::sentence(backward(x.data(), x.data())).text,
                 "dx: must be apart from y; distance in bytes, was 0");
    EXPECT_STREQ(smx::check_backward(smx::recomputed_log_probabilities(smx::scores(x.data(), {2, 8}), none),
                                     smx::incoming_gradients(y.data()), smx::fixed_scale(1), smx::no_mask{},
                                     smx::gradients(dx.data()))
                     .argument,
                 "log_sum_exp");
}

}  // namespace
