// One whole call on the CPU, compared with the reference row by row: shared by the host tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "smx/host.hpp"
#include "support/compare.hpp"
#include "support/mask_cases.hpp"

namespace support {

inline smx::extents extents_of(shape4 const& shape) { return {shape.batch, shape.heads, shape.queries, shape.keys}; }

// Elements from the lowest to the highest of a tensor, and where its first element lies in them.
struct span_of_memory {
    index low = 0, high = 1;
    span_of_memory(shape4 const& shape, smx::strides const& step) {
        index const ends[] = {(shape.batch - 1) * step.batch, (shape.heads - 1) * step.head,
                              (shape.queries - 1) * step.query, shape.keys - 1};
        for (index end : ends) (end < 0 ? low : high) += end;
    }
    std::size_t count() const { return static_cast<std::size_t>(high - low); }
};

struct call_options {
    pattern scores = pattern::mild;
    double factor = 0.25;
    smx::empty_row when_empty = smx::empty_row::zeros;
    smx::strides x_step = smx::contiguous, y_step = smx::contiguous;
    std::size_t x_offset = 0, y_offset = 0;
    bool in_place = false;
};

// A call without the type of its mask: (material, x, its strides, y, its strides, options, log-sum-exps).
template <class X, class Y>
using host_call = smx::status (*)(mask_material const&, X const*, smx::strides const&, Y*, smx::strides const&,
                                  call_options const&, double*);

// Runs one call and compares every row of y and of the log-sum-exp; what lies between rows of y must not change.
template <class X, class Y>
void expect_call_by(host_call<X, Y> call, visible_at visible, bias_at bias, shape4 const& shape,
                    call_options const& options, unsigned long long seed) {
    SCOPED_TRACE(::testing::Message() << shape.batch << " x " << shape.heads << " x " << shape.queries << " x "
                                      << shape.keys << ", " << name_of(options.scores) << ", factor " << options.factor
                                      << ", rule " << static_cast<int>(options.when_empty) << ", seed " << seed);
    auto const given = [&](smx::strides const& step) {
        bool const packed = step.key == smx::contiguous.key;
        return packed ? smx::packed_strides(extents_of(shape)) : step;
    };
    smx::strides const x_step = given(options.x_step), y_step = given(options.y_step);
    span_of_memory const x_span(shape, x_step), y_span(shape, y_step);
    mask_material const material(shape, seed);
    auto const scores = make_scores<X>(options.scores, x_span.count(), std::max(shape.keys, 1), seed);
    guarded_buffer<X> x(scores, options.x_offset);
    guarded_buffer<Y> apart(y_span.count(), options.y_offset);
    X* const x_first = x.data() - x_span.low;
    Y* const y_first = options.in_place ? reinterpret_cast<Y*>(x_first) : apart.data() - y_span.low;
    index const rows = shape.batch * shape.heads * shape.queries;
    guarded_buffer<double> sums(static_cast<std::size_t>(rows));

    smx::status const done = call(material, x_first, options.x_step, y_first, options.y_step, options, sums.data());
    ASSERT_TRUE(done) << done.argument << ": " << done.requirement;
    ASSERT_TRUE(x.intact() && apart.intact() && sums.intact());

    auto const type = arithmetic_of<X>;
    double const factor =
        type == arithmetic::in_double ? options.factor : static_cast<double>(static_cast<float>(options.factor));
    std::vector<bool> written(y_span.count(), false);
    index row = 0;
    for (index b = 0; b < shape.batch; ++b) {
        for (index h = 0; h < shape.heads; ++h) {
            for (index q = 0; q < shape.queries; ++q, ++row) {
                index const x_at = b * x_step.batch + h * x_step.head + q * x_step.query - x_span.low;
                index const y_at = b * y_step.batch + h * y_step.head + q * y_step.query;
                auto const want = softmax_reference(
                    shape.keys, [&](int k) { return stored<X>::value(scores[static_cast<std::size_t>(x_at + k)]); },
                    factor, [&](int k) { return bias(material, b, h, q, k); },
                    [&](int k) { return visible(material, b, h, q, k); }, reference_rule(options.when_empty), type);
                ASSERT_EQ(difference<Y>(
                              want, [&](int k) { return y_first[y_at + k]; }, type),
                          "")
                    << "row (" << b << ", " << h << ", " << q << ")";
                ASSERT_EQ(difference_of("log-sum-exp", sums[static_cast<std::size_t>(row)], want.log_sum_exp,
                                        want.largest_score + std::fabs(want.log_sum_exp), type, shape.keys),
                          "")
                    << "row (" << b << ", " << h << ", " << q << ")";
                for (int k = 0; k < shape.keys; ++k) written[static_cast<std::size_t>(y_at - y_span.low + k)] = true;
            }
        }
    }
    if (options.in_place) return;
    ASSERT_EQ(std::memcmp(x.data(), scores.data(), scores.size() * sizeof(X)), 0) << "x was written";
    for (std::size_t at = 0; at < written.size(); ++at) {
        ASSERT_TRUE(written[at] || apart.is_poison(at)) << "a gap of y was written";
    }
}

// All that is compiled anew for each mask.
template <class X, class Y, class Case>
smx::status call_on_host(mask_material const& material, X const* x, smx::strides const& x_step, Y* y,
                         smx::strides const& y_step, call_options const& options, double* sums) {
    return smx::softmax_on_host(smx::scores(x, extents_of(material.shape), x_step), smx::fixed_scale(options.factor),
                                Case::mask(material), smx::probabilities(y, y_step), options.when_empty,
                                smx::log_sum_exp(sums));
}

template <class X, class Y, class Case>
void expect_call(shape4 const& shape, call_options const& options = {}, unsigned long long seed = 1) {
    expect_call_by<X, Y>(&call_on_host<X, Y, Case>, &Case::visible, &Case::bias, shape, options, seed);
}

// Rows that fit the stack, and rows that are read twice.
template <class X, class Y>
void expect_shapes_by(host_call<X, Y> call, visible_at visible, bias_at bias) {
    constexpr smx::empty_row rules[] = {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan};
    unsigned long long seed = 1;
    for (auto const& shape : {shape4{2, 3, 5, 7}, shape4{1, 1, 1, 1}, shape4{3, 2, 4, 65}, shape4{2, 2, 3, 300},
                              shape4{1, 2, 17, 17}, shape4{2, 1, 40, 13}, shape4{2, 1, 2, 9001}}) {
        for (double factor : {1.0, 0.125, -0.7}) {
            call_options options;
            options.factor = factor;
            options.when_empty = rules[seed % 3];
            options.scores = all_patterns[seed % 9];
            options.x_offset = seed % 5;
            options.y_offset = seed % 7;
            expect_call_by(call, visible, bias, shape, options, seed++);
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

template <class X, class Y, class Case>
void expect_shapes() {
    expect_shapes_by<X, Y>(&call_on_host<X, Y, Case>, &Case::visible, &Case::bias);
}

}  // namespace support
