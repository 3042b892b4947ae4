// Dropout in whole calls on the CPU: forward under every view and type, the backward pass against differences of the
// forward pass, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "smx/host.hpp"
#include "support/data.hpp"
#include "support/dropout_reference.hpp"
#include "support/guarded_buffer.hpp"
#include "support/mask_cases.hpp"

namespace {

using support::index;
using support::shape4;
using support::stored;

constexpr unsigned long long seed = 0x0123456789abcdefULL, offset = 3;

smx::extents extents_of(shape4 const& shape) { return {shape.batch, shape.heads, shape.queries, shape.keys}; }
std::size_t count_of(shape4 const& shape) {
    return static_cast<std::size_t>(shape.batch * shape.heads * shape.queries * shape.keys);
}

// y is what an undropped call gives, times 1 / (1 - p) or 0; what that was is beside it, to the bit.
template <class X, class Y, class Case>
void expect_forward(shape4 const& shape, double p, std::size_t at) {
    SCOPED_TRACE(::testing::Message() << shape.batch << " x " << shape.heads << " x " << shape.queries << " x "
                                      << shape.keys << ", p " << p << ", offset " << at);
    support::mask_material const material(shape, 1);
    std::size_t const count = count_of(shape);
    support::guarded_buffer<X> const x(support::make_scores<X>(support::pattern::with_nan, count, shape.keys, 1), at);
    support::guarded_buffer<Y> y(count, at), undropped(count, at + 3), want(count);
    std::vector<float> sums(count / static_cast<std::size_t>(shape.keys)), sums_want(sums);
    auto const in = smx::scores(x.data(), extents_of(shape));
    auto const factor = smx::fixed_scale(0.25);
    auto const mask = Case::mask(material);
    ASSERT_TRUE(smx::softmax_on_host(in, factor, mask, smx::probabilities(want.data()), smx::empty_row::uniform,
                                     smx::log_sum_exp(sums_want.data())));
    smx::status const done = smx::softmax_on_host(
        in, factor, mask,
        smx::dropped(smx::probabilities(y.data()), smx::dropout(p, seed, offset), smx::probabilities(undropped.data())),
        smx::empty_row::uniform, smx::log_sum_exp(sums.data()));
    ASSERT_TRUE(done) << smx::sentence(done).text;
    ASSERT_TRUE(y.intact() && undropped.intact());
    ASSERT_EQ(std::memcmp(undropped.data(), want.data(), count * sizeof(Y)), 0);
    ASSERT_EQ(std::memcmp(sums.data(), sums_want.data(), sums.size() * sizeof(float)), 0);
    for (std::size_t i = 0; i < count; ++i) {
        auto const here = static_cast<index>(i);
        double const by =
            support::dropout_factor(p, seed, offset, here / shape.keys, static_cast<int>(here % shape.keys));
        double const before = stored<Y>::value(want[i]), got = stored<Y>::value(y[i]);
        if (by == 0) {
            ASSERT_TRUE(got == 0 && !std::signbit(got)) << "element " << i;
        } else if (std::isnan(before)) {
            ASSERT_TRUE(std::isnan(got)) << "element " << i;
        } else {
            // y is rounded once, and what it was is rounded too.
            ASSERT_NEAR(got, before * by, 1e-6 * before * by + 2 * stored<Y>::half_step_at(before * by) * by)
                << "element " << i;
        }
    }
    // The same where nothing else is written, in place of the scores where they have one size, in another kernel's
    // packs.
    support::guarded_buffer<Y> alone(count, at + 1);
    ASSERT_TRUE(smx::softmax_on_host(in, factor, mask,
                                     smx::dropped(smx::probabilities(alone.data()), smx::dropout(p, seed, offset)),
                                     smx::empty_row::uniform));
    ASSERT_TRUE(alone.intact());
    ASSERT_EQ(std::memcmp(alone.data(), y.data(), count * sizeof(Y)), 0);
    if constexpr (smx::same_type<X, Y>) {
        support::guarded_buffer<X> both(std::vector<X>(x.data(), x.data() + count), at);
        ASSERT_TRUE(smx::softmax_on_host(smx::scores(both.data(), extents_of(shape)), factor, mask,
                                         smx::dropped(smx::probabilities(both.data()), smx::dropout(p, seed, offset)),
                                         smx::empty_row::uniform));
        ASSERT_TRUE(both.intact());
        ASSERT_EQ(std::memcmp(both.data(), y.data(), count * sizeof(Y)), 0);
    }
}

template <class X, class Y, class Case>
void expect_forwards() {
    std::size_t at = 0;
    for (auto const& shape :
         {shape4{1, 1, 1, 1}, shape4{2, 3, 5, 7}, shape4{1, 2, 4, 32}, shape4{2, 2, 3, 301}, shape4{1, 1, 2, 34001}}) {
        for (double p : {0.0, 0.1, 0.75, 1.0}) {
            expect_forward<X, Y, Case>(shape, p, at++ % 9);
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST(host_dropout, without_a_mask) { expect_forwards<float, float, support::no_mask_case>(); }
TEST(host_dropout, causal) { expect_forwards<float, float, support::bottom_right_case>(); }
TEST(host_dropout, of_doubles) { expect_forwards<double, double, support::everything_case>(); }
TEST(host_dropout, of_halves) { expect_forwards<smx::half, smx::half, support::visible_flags_case>(); }
TEST(host_dropout, bfloat16_from_float) { expect_forwards<float, smx::bfloat16, support::bias_case>(); }

// What a score more does to the sum of dy * d, where d is what left the forward pass.
template <class Case, class Saved>
void expect_the_derivative(double p, Saved const& saved_of) {
    shape4 const shape{2, 2, 3, 21};
    support::mask_material const material(shape, 3);
    std::size_t const count = count_of(shape);
    support::random_stream random(7);
    std::vector<double> x(count), dy(count), y(count), d(count), lse(count / 21);
    for (double& one : x) one = random.normal();
    for (double& one : dy) one = random.normal();
    auto const factor = smx::fixed_scale(0.7);
    auto const drops = smx::dropout(p, seed, offset);
    auto const mask = Case::mask(material);
    auto const forward = [&] {
        ASSERT_TRUE(
            smx::softmax_on_host(smx::scores(x.data(), extents_of(shape)), factor, mask,
                                 smx::dropped(smx::probabilities(d.data()), drops, smx::probabilities(y.data())),
                                 smx::log_sum_exp(lse.data())));
    };
    auto const loss = [&] {
        forward();
        long double sum = 0;
        for (std::size_t i = 0; i < count; ++i) sum += static_cast<long double>(d[i]) * dy[i];
        return sum;
    };
    forward();
    support::guarded_buffer<double> dx(count);
    smx::status const done = smx::softmax_backward_on_host(saved_of(x, y, lse, extents_of(shape)),
                                                           smx::dropped(smx::incoming_gradients(dy.data()), drops),
                                                           factor, mask, smx::gradients(dx.data()));
    ASSERT_TRUE(done) << smx::sentence(done).text;
    ASSERT_TRUE(dx.intact());
    for (std::size_t i = 0; i < count; ++i) {
        auto const here = static_cast<index>(i);
        index const q = here / 21 % 3, h = here / 63 % 2, b = here / 126;
        int const k = static_cast<int>(here % 21);
        if (!Case::visible(material, b, h, q, k) || std::isinf(Case::bias(material, b, h, q, k))) {
            ASSERT_TRUE(dx[i] == 0 && !std::signbit(dx[i])) << "element " << i << " is hidden";
            continue;
        }
        double const middle = x[i], step = 1e-5;
        x[i] = middle + step;
        long double const above = loss();
        x[i] = middle - step;
        long double const below = loss();
        x[i] = middle;
        ASSERT_NEAR(dx[i], static_cast<double>((above - below) / (2 * step)), 1e-8) << "element " << i;
    }
}

template <class Case>
void expect_derivatives() {
    auto const saved = [](auto const&, auto const& y, auto const&, smx::extents shape) {
        return smx::saved_probabilities(y.data(), shape);
    };
    auto const recomputed = [](auto const& x, auto const&, auto const& lse, smx::extents shape) {
        return smx::recomputed_probabilities(smx::scores(x.data(), shape), lse.data());
    };
    for (double p : {0.0, 0.3, 1.0}) {
        expect_the_derivative<Case>(p, saved);
        expect_the_derivative<Case>(p, recomputed);
    }
}

TEST(host_dropout, backward_is_the_derivative) { expect_derivatives<support::no_mask_case>(); }
TEST(host_dropout, backward_is_the_derivative_under_masks) { expect_derivatives<support::everything_case>(); }

// A row of packs, and one that is read twice: the gradient of what a dropout kept, as if dy had been multiplied first.
template <class T>
void expect_backward_of_products(double tolerance) {
    for (int cols : {5, 300, 34001}) {
        auto const count = static_cast<std::size_t>(2 * cols);
        support::random_stream random(3);
        std::vector<T> x(count), y(count), dy(count), product(count), dx(count), want(count);
        for (T& one : x) one = stored<T>::make(random.normal());
        for (T& one : dy) one = stored<T>::make(random.normal());
        for (std::size_t i = 0; i < count; ++i) {
            auto const here = static_cast<index>(i);
            product[i] =
                stored<T>::make(stored<T>::value(dy[i]) *
                                support::dropout_factor(0.5, seed, offset, here / cols, static_cast<int>(here % cols)));
        }
        auto const mask = smx::causal_mask::diagonal(cols / 2);
        ASSERT_TRUE(smx::softmax_on_host(smx::scores(x.data(), {2, cols}), smx::fixed_scale(1), mask,
                                         smx::probabilities(y.data())));
        // Hidden columns hold NaN: none of it may show.
        for (int k = cols / 2 + 2; k < cols; ++k)
            y[static_cast<std::size_t>(k)] = dy[static_cast<std::size_t>(k)] = stored<T>::make(std::nan(""));
        auto const saved = smx::saved_probabilities(y.data(), {2, cols});
        ASSERT_TRUE(smx::softmax_backward_on_host(saved, smx::incoming_gradients(product.data()), smx::fixed_scale(2),
                                                  mask, smx::gradients(want.data())));
        ASSERT_TRUE(smx::softmax_backward_on_host(
            saved, smx::dropped(smx::incoming_gradients(dy.data()), smx::dropout(0.5, seed, offset)),
            smx::fixed_scale(2), mask, smx::gradients(dx.data())));
        for (std::size_t i = 0; i < count; ++i)
            ASSERT_NEAR(stored<T>::value(dx[i]), stored<T>::value(want[i]), tolerance)
                << "element " << i << " of " << cols;
    }
}

TEST(host_dropout, backward_multiplies_the_gradient) {
    expect_backward_of_products<float>(0);
    expect_backward_of_products<double>(0);
    expect_backward_of_products<smx::half>(0);
}

// An output and a gradient of one's own, which take the row with every call.
struct own_output {
    float* data;
    template <int Width, class Compute>
    void store(smx::row_id row, int col, smx::pack<Compute, Width> const& values) const {
        for (int i = 0; i < Width; ++i) data[row.index * row.cols + col + i] = values[i];
    }
};
struct own_gradient {
    float const* data;
    using compute = float;
    template <int Width>
    smx::pack<float, Width> load(smx::row_id row, int col) const {
        smx::pack<float, Width> values;
        for (int i = 0; i < Width; ++i) values[i] = data[row.index * row.cols + col + i];
        return values;
    }
};

TEST(host_dropout, of_an_output_and_a_gradient_of_ones_own) {
    std::vector<float> x(3 * 45), y(x.size()), own(x.size()), saved(x.size()), dx(x.size()), own_dx(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 5);
    auto const in = smx::scores(x.data(), {3, 45});
    auto const drops = smx::dropout(0.5, 1, 2);
    auto const factor = smx::fixed_scale(1);
    ASSERT_TRUE(
        smx::softmax_on_host(in, factor, smx::no_mask{},
                             smx::dropped(smx::probabilities(y.data()), drops, smx::probabilities(saved.data()))));
    ASSERT_TRUE(smx::softmax_on_host(in, factor, smx::no_mask{}, smx::dropped(own_output{own.data()}, drops)));
    EXPECT_EQ(own, y);
    auto const from = smx::saved_probabilities(saved.data(), {3, 45});
    ASSERT_TRUE(smx::softmax_backward_on_host(from, smx::dropped(smx::incoming_gradients(x.data()), drops), factor,
                                              smx::no_mask{}, smx::gradients(dx.data())));
    ASSERT_TRUE(smx::softmax_backward_on_host(from, smx::dropped(own_gradient{x.data()}, drops), factor, smx::no_mask{},
                                              smx::gradients(own_dx.data())));
    EXPECT_EQ(own_dx, dx);
}

void expect_refused(smx::status const& s, smx::errc code, std::string const& sentence) {
    EXPECT_EQ(s.code, code);
    EXPECT_EQ(smx::sentence(s).text, sentence);
}

TEST(host_dropout, wrong_calls_are_refused) {
    using smx::errc;
    std::vector<float> x(16), y(16), saved(16);
    auto const in = smx::scores(x.data(), {2, 8});
    auto const forward = [&](auto const& drops) {
        return smx::check(in, smx::fixed_scale(1), smx::no_mask{}, smx::dropped(smx::probabilities(y.data()), drops));
    };
    auto const backward = [&](auto const& drops) {
        return smx::check_backward(smx::saved_probabilities(x.data(), {2, 8}),
                                   smx::dropped(smx::incoming_gradients(saved.data()), drops), smx::fixed_scale(1),
                                   smx::no_mask{}, smx::gradients(y.data()));
    };
    unsigned long long const from = 1, *const none = nullptr;
    EXPECT_TRUE(forward(smx::dropout(0.5, &from, &from)));
    EXPECT_TRUE(backward(smx::dropout(0.5, &from, &from)));
    auto const expect_both = [&](auto const& drops, errc code, char const* sentence) {
        expect_refused(forward(drops), code, sentence);
        expect_refused(backward(drops), code, sentence);
    };
    expect_both(smx::dropout(-0.25, 1, 2), errc::bad_value,
                "dropout probability: must be from 0 to 1; in millionths, was -250000");
    expect_both(smx::dropout(1.5, 1, 2), errc::bad_value,
                "dropout probability: must be from 0 to 1; in millionths, was 1500000");
    expect_both(smx::dropout(std::numeric_limits<double>::infinity(), 1, 2), errc::bad_value,
                "dropout probability: must be from 0 to 1; in millionths, was 1000000000000000000");
    expect_both(smx::dropout(std::nan(""), 1, 2), errc::bad_value,
                "dropout probability: must be from 0 to 1, and not NaN, which reads as -1 here, was -1");
    expect_both(smx::dropout(0.5, none, &from), errc::null_pointer,
                "dropout seed: must be a pointer to its elements, was 0");
    expect_both(smx::dropout(0.5, &from, none), errc::null_pointer,
                "dropout offset: must be a pointer to its elements, was 0");
    EXPECT_EQ(
        forward(smx::dropout(0.5, reinterpret_cast<unsigned long long const*>(reinterpret_cast<char const*>(&from) + 1),
                             &from))
            .code,
        errc::misaligned);

    auto const two = [&](float* first, float* second) {
        return smx::check(in, smx::fixed_scale(1), smx::no_mask{},
                          smx::dropped(smx::probabilities(first), smx::dropout(0.5, 1, 2), smx::probabilities(second)));
    };
    EXPECT_TRUE(two(y.data(), saved.data()));
    EXPECT_TRUE(two(x.data(), saved.data()));
    EXPECT_TRUE(two(y.data(), x.data()));
    expect_refused(two(y.data(), nullptr), errc::null_pointer, "undropped y: must be a pointer to its elements, was 0");
    expect_refused(two(nullptr, y.data()), errc::null_pointer, "y: must be a pointer to its elements, was 0");
    expect_refused(two(y.data(), y.data()), errc::overlap,
                   "undropped y: must be apart from y; distance in bytes, was 0");
    EXPECT_STREQ(two(y.data(), x.data() + 1).argument, "undropped y");
    EXPECT_STREQ(two(x.data() + 1, y.data()).argument, "y");
    float dx[16];
    EXPECT_TRUE(smx::check_backward(smx::saved_probabilities(x.data(), {2, 8}),
                                    smx::dropped(smx::incoming_gradients(dx), smx::dropout(0.5, 1, 2)),
                                    smx::fixed_scale(1), smx::no_mask{}, smx::gradients(dx)));
    EXPECT_EQ(smx::check_backward(smx::saved_probabilities(x.data(), {2, 8}),
                                  smx::dropped(smx::incoming_gradients(dx), smx::dropout(0.5, 1, 2)),
                                  smx::fixed_scale(1), smx::no_mask{}, smx::gradients(dx + 1))
                  .code,
              errc::overlap);
}

}  // namespace
