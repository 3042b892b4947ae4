// softmax_backward_on_host: whole calls on the CPU, with every mask, view and pair of types, compared row by row.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "support/gradient.hpp"
#include "support/host_call.hpp"

namespace {

using support::call_options;
using support::extents_of;
using support::index;
using support::shape4;

struct backward_options {
    double factor = 0.25;
    smx::empty_row when_empty = smx::empty_row::zeros;
    bool hidden_is_garbage = true;
    bool in_place = false;
    smx::strides y_step = smx::contiguous, dy_step = smx::contiguous, dx_step = smx::contiguous;
    std::size_t y_offset = 0, dy_offset = 0, dx_offset = 0;
};

// A tensor of the call: its elements, and where each row of it begins.
template <class T>
struct tensor {
    smx::strides step;
    support::span_of_memory span;
    support::guarded_buffer<T> memory;

    tensor(shape4 const& shape, smx::strides const& given, std::size_t offset)
        : step(given.key == smx::contiguous.key ? smx::packed_strides(extents_of(shape)) : given),
          span(shape, step),
          memory(span.count(), offset) {}

    T* first() { return memory.data() - span.low; }
    std::size_t at(index b, index h, index q, int k) const {
        return static_cast<std::size_t>(b * step.batch + h * step.head + q * step.query + k - span.low);
    }
};

template <class Y, class Dy, class Dx, class Case>
void expect_gradients(shape4 const& shape, backward_options const& options, unsigned long long seed) {
    SCOPED_TRACE(::testing::Message() << shape.batch << " x " << shape.heads << " x " << shape.queries << " x "
                                      << shape.keys << ", seed " << seed);
    constexpr bool is_double = sizeof(smx::compute_of<Y>) == 8 || sizeof(smx::compute_of<Dy>) == 8;
    auto const type = is_double ? support::arithmetic::in_double : support::arithmetic::in_float;
    support::mask_material const material(shape, seed);
    tensor<Y> y(shape, options.y_step, options.y_offset);
    tensor<Dy> dy(shape, options.dy_step, options.dy_offset);
    tensor<Dx> apart(shape, options.dx_step, options.dx_offset);
    auto const visible = [&](index b, index h, index q, int k) {
        return Case::visible(material, b, h, q, k) &&
               Case::bias(material, b, h, q, k) > -std::numeric_limits<double>::infinity();
    };
    auto const every_row = [&](auto const& visit) {
        for (index b = 0; b < shape.batch; ++b)
            for (index h = 0; h < shape.heads; ++h)
                for (index q = 0; q < shape.queries; ++q) visit(b, h, q);
    };
    support::random_stream random(seed);
    every_row([&](index b, index h, index q) {
        std::vector<double> scores(static_cast<std::size_t>(shape.keys));
        for (double& score : scores) score = 2 * random.normal();
        auto const forward = support::softmax_reference(
            shape.keys, [&](int k) { return scores[static_cast<std::size_t>(k)]; }, options.factor,
            [&](int k) { return Case::bias(material, b, h, q, k); },
            [&](int k) { return Case::visible(material, b, h, q, k); }, support::reference_rule(options.when_empty));
        for (int k = 0; k < shape.keys; ++k) {
            bool const garbage = options.hidden_is_garbage && !visible(b, h, q, k);
            double const nan = std::numeric_limits<double>::quiet_NaN();
            y.memory[y.at(b, h, q, k)] =
                support::stored<Y>::make(garbage ? nan : forward.y[static_cast<std::size_t>(k)]);
            dy.memory[dy.at(b, h, q, k)] = support::stored<Dy>::make(garbage ? nan : random.normal());
        }
    });
    std::vector<Y> const y_before(y.memory.data(), y.memory.data() + y.memory.size());
    std::vector<Dy> const dy_before(dy.memory.data(), dy.memory.data() + dy.memory.size());
    Dx* const dx = options.in_place ? reinterpret_cast<Dx*>(dy.first()) : apart.first();

    smx::status const done = smx::softmax_backward_on_host(
        smx::saved_probabilities(y.first(), extents_of(shape), options.y_step),
        smx::incoming_gradients(dy.first(), options.dy_step), smx::fixed_scale(options.factor), Case::mask(material),
        smx::gradients(dx, options.in_place ? options.dy_step : options.dx_step));
    ASSERT_TRUE(done) << done.argument << ": " << done.requirement;
    ASSERT_TRUE(y.memory.intact() && dy.memory.intact() && apart.memory.intact());
    ASSERT_EQ(std::memcmp(y.memory.data(), y_before.data(), y_before.size() * sizeof(Y)), 0) << "y was written";
    if (!options.in_place) {
        ASSERT_EQ(std::memcmp(dy.memory.data(), dy_before.data(), dy_before.size() * sizeof(Dy)), 0)
            << "dy was written";
    }

    std::vector<bool> written(apart.memory.size(), false);
    every_row([&](index b, index h, index q) {
        auto const want = support::gradient_reference(
            shape.keys, [&](int k) { return support::stored<Y>::value(y_before[y.at(b, h, q, k)]); },
            [&](int k) { return support::stored<Dy>::value(dy_before[dy.at(b, h, q, k)]); }, options.factor,
            [&](int k) { return visible(b, h, q, k); });
        ASSERT_EQ(support::difference_of_gradients<Dx>(
                      want,
                      [&](int k) {
                          return options.in_place ? dx[static_cast<index>(dy.at(b, h, q, k)) + dy.span.low]
                                                  : apart.memory[apart.at(b, h, q, k)];
                      },
                      type),
                  "")
            << "row (" << b << ", " << h << ", " << q << ")";
        for (int k = 0; k < shape.keys; ++k) written[apart.at(b, h, q, k)] = true;
    });
    for (std::size_t at = 0; at < written.size(); ++at) {
        ASSERT_TRUE((written[at] && !options.in_place) || apart.memory.is_poison(at)) << "a gap of dx was written";
    }
}

// Rows of less than a pack, of a tile, and such as are read twice.
template <class Y, class Dy, class Dx, class Case>
void expect_shapes() {
    constexpr smx::empty_row rules[] = {smx::empty_row::zeros, smx::empty_row::uniform, smx::empty_row::nan};
    unsigned long long seed = 1;
    for (auto const& shape : {shape4{1, 1, 1, 1}, shape4{2, 3, 5, 7}, shape4{1, 2, 4, 32}, shape4{3, 2, 4, 65},
                              shape4{2, 2, 3, 300}, shape4{1, 2, 17, 17}, shape4{1, 1, 2, 17001}}) {
        for (double factor : {1.0, 0.125, -0.75}) {
            backward_options options;
            options.factor = factor;
            options.when_empty = rules[seed % 3];
            options.hidden_is_garbage = seed % 2 == 0;
            options.in_place = sizeof(Dy) == sizeof(Dx) && seed % 4 == 1;
            options.y_offset = seed % 5;
            options.dy_offset = seed % 3;
            options.dx_offset = seed % 7;
            expect_gradients<Y, Dy, Dx, Case>(shape, options, seed++);
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST(host_backward, without_a_mask) { expect_shapes<float, float, float, support::no_mask_case>(); }
TEST(host_backward, causal_in_half) { expect_shapes<smx::half, smx::half, smx::half, support::bottom_right_case>(); }
TEST(host_backward, lengths_on_the_left) {
    expect_shapes<smx::bfloat16, float, smx::bfloat16, support::left_padding_case>();
}
TEST(host_backward, flags) { expect_shapes<float, smx::half, float, support::visible_flags_case>(); }
TEST(host_backward, bits) { expect_shapes<smx::half, float, float, support::hidden_bits_case>(); }
TEST(host_backward, biases) { expect_shapes<double, double, double, support::bias_case>(); }
TEST(host_backward, everything) { expect_shapes<float, float, float, support::everything_case>(); }
TEST(host_backward, a_span_and_bits_of_ones_own) {
    expect_shapes<float, double, smx::half, support::written_window_case>();
}

TEST(host_backward, views) {
    shape4 const shape{2, 3, 5, 33};
    smx::strides const padded{3 * 5 * 40, 5 * 40, 40, 1}, exchanged{5 * 33, 2 * 5 * 33, 33, 1},
        query_outermost{3 * 33, 33, 2 * 3 * 33, 1}, downwards{-3 * 5 * 34, -5 * 34, -34, 1};
    for (auto const& y_step : {smx::contiguous, padded, exchanged, downwards}) {
        for (auto const& dy_step : {smx::contiguous, query_outermost, downwards}) {
            for (auto const& dx_step : {smx::contiguous, padded, exchanged}) {
                backward_options options;
                options.y_step = y_step;
                options.dy_step = dy_step;
                options.dx_step = dx_step;
                expect_gradients<float, float, float, support::no_mask_case>(shape, options, 5);
                options.in_place = dy_step.key != smx::contiguous.key;
                expect_gradients<smx::half, smx::bfloat16, smx::half, support::everything_case>(shape, options, 5);
                if (::testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

// One gradient for all rows, as of a sum over them.
TEST(host_backward, a_gradient_that_repeats) {
    std::vector<float> const y{0.25f, 0.75f, 0.5f, 0.5f}, dy{1, 2};
    std::vector<float> dx(4);
    ASSERT_TRUE(smx::softmax_backward_on_host(smx::saved_probabilities(y.data(), {2, 2}),
                                              smx::incoming_gradients(dy.data(), {0, 0, 0, 1}), smx::fixed_scale(2),
                                              smx::no_mask(), smx::gradients(dx.data())));
    EXPECT_EQ(dx, (std::vector<float>{-0.375f, 0.375f, -0.5f, 0.5f}));
}

TEST(host_backward, scales_from_memory) {
    std::vector<float> const y(2 * 3 * 4, 0.25f);
    std::vector<float> dy(24), dx(24), again(24);
    for (std::size_t at = 0; at < 24; ++at) dy[at] = static_cast<float>(at * 5 % 7);
    float const per_head[] = {0.5f, 0.0f, -2.0f};
    auto const in = smx::saved_probabilities(y.data(), {2, 3, 1, 4});
    auto const given = smx::incoming_gradients(dy.data());
    ASSERT_TRUE(
        smx::softmax_backward_on_host(in, given, smx::head_scale(per_head), smx::no_mask(), smx::gradients(dx.data())));
    for (std::size_t h = 0; h < 3; ++h) {
        ASSERT_TRUE(smx::softmax_backward_on_host(in, given, smx::device_scale(per_head + h), smx::no_mask(),
                                                  smx::gradients(again.data())));
        for (std::size_t b = 0; b < 2; ++b)
            for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(dx[(b * 3 + h) * 4 + k], again[(b * 3 + h) * 4 + k]);
    }
}

// Probabilities that were not kept: the same gradients from the scores and their log-sum-exp, for rows of every length,
// also where a row is empty by its scores and not by its mask.
template <class X, class Sum, class Case>
void expect_recomputed(double tolerance) {
    for (int keys : {1, 7, 32, 65, 300, 17001}) {
        shape4 const shape{2, 2, keys > 1000 ? 1 : 3, keys};
        support::mask_material const material(shape, static_cast<unsigned long long>(keys));
        auto const count = static_cast<std::size_t>(shape.batch * shape.heads * shape.queries * keys);
        auto const x = support::make_scores<X>(support::pattern::half_hidden, count, keys, 3);
        support::random_stream random(5);
        std::vector<X> dy(count), dx(count), again(count);
        std::vector<double> y(count);
        for (X& one : dy) one = support::stored<X>::make(random.normal());
        std::vector<Sum> sums(count / static_cast<std::size_t>(keys));
        auto const in = smx::scores(x.data(), extents_of(shape));
        auto const given = smx::incoming_gradients(dy.data());
        auto const factor = smx::fixed_scale(0.5);
        auto const mask = Case::mask(material);
        ASSERT_TRUE(
            smx::softmax_on_host(in, factor, mask, smx::probabilities(y.data()), smx::log_sum_exp(sums.data())));
        ASSERT_TRUE(smx::softmax_backward_on_host(smx::saved_probabilities(y.data(), extents_of(shape)), given, factor,
                                                  mask, smx::gradients(dx.data())));
        ASSERT_TRUE(smx::softmax_backward_on_host(smx::recomputed_probabilities(in, sums.data()), given, factor, mask,
                                                  smx::gradients(again.data())));
        for (std::size_t at = 0; at < count; ++at) {
            ASSERT_NEAR(support::stored<X>::value(again[at]), support::stored<X>::value(dx[at]), tolerance)
                << "element " << at << ", " << keys << " keys";
        }
    }
}

TEST(host_backward, from_scores) {
    expect_recomputed<float, float, support::bottom_right_case>(1e-5);
    expect_recomputed<float, double, support::everything_case>(1e-5);
    expect_recomputed<double, double, support::bias_case>(1e-12);
    expect_recomputed<smx::half, float, support::visible_flags_case>(2e-3);
}

TEST(host_backward, what_is_hidden_can_be_left) {
    std::vector<float> const y(6 * 40, 0.125f), dy(y.size(), 0.5f);
    support::guarded_buffer<float> dx(y.size(), 1);
    ASSERT_TRUE(smx::softmax_backward_on_host(
        smx::saved_probabilities(y.data(), {6, 40}), smx::incoming_gradients(dy.data()), smx::fixed_scale(1),
        smx::causal_mask::diagonal(-1), smx::gradients<smx::hidden::keep>(dx.data())));
    ASSERT_TRUE(dx.intact());
    for (int q = 0; q < 6; ++q) {
        for (int k = 0; k < 40; ++k)
            ASSERT_EQ(dx.is_poison(static_cast<std::size_t>(q * 40 + k)), k > q - 1) << q << ", " << k;
    }
}

TEST(host_backward, a_range_of_rows_writes_those_rows) {
    std::vector<float> const y(42 * 30, 1.0f / 30);
    std::vector<float> dy(y.size());
    for (std::size_t at = 0; at < dy.size(); ++at) dy[at] = static_cast<float>(at * 7 % 11);
    auto const in = smx::saved_probabilities(y.data(), {2, 3, 7, 30});
    auto const given = smx::incoming_gradients(dy.data());
    auto const mask = smx::causal_mask::bottom_right();
    std::vector<float> whole(y.size());
    ASSERT_TRUE(smx::softmax_backward_on_host(in, given, smx::inv_sqrt(64), mask, smx::gradients(whole.data())));
    for (smx::rows range : {smx::rows{0, 42}, smx::rows{0, 0}, smx::rows{3, 4}, smx::rows{10, 33}}) {
        support::guarded_buffer<float> dx(y.size());
        ASSERT_TRUE(
            smx::softmax_backward_on_host(range, in, given, smx::inv_sqrt(64), mask, smx::gradients(dx.data())));
        for (index at = 0; at < 42 * 30; ++at) {
            auto const here = static_cast<std::size_t>(at);
            bool const inside = at / 30 >= range.first && at / 30 < range.last;
            ASSERT_TRUE(inside ? dx[here] == whole[here] : dx.is_poison(here));
        }
    }
    support::guarded_buffer<float> dx(y.size());
    for (smx::rows range : {smx::rows{-1, 4}, smx::rows{5, 4}, smx::rows{0, 43}}) {
        EXPECT_EQ(
            smx::softmax_backward_on_host(range, in, given, smx::inv_sqrt(64), mask, smx::gradients(dx.data())).code,
            smx::errc::bad_value);
    }
    EXPECT_EQ(smx::softmax_backward_on_host(in, smx::incoming_gradients(dy.data(), {0, 0, 30, 2}), smx::inv_sqrt(64),
                                            mask, smx::gradients(dx.data()))
                  .code,
              smx::errc::bad_stride);
    for (std::size_t at = 0; at < dx.size(); ++at) ASSERT_TRUE(dx.is_poison(at));
}

// Inputs and an output of a caller's own, each asked for the right columns of the right row.
struct equal_probabilities {
    using compute = float;
    template <int V>
    smx::pack<float, V> load(smx::row_id row, int) const {
        return smx::filled_pack<V>(1.0f / static_cast<float>(row.cols));
    }
};
struct counting_gradients {
    using compute = float;
    template <int V>
    smx::pack<float, V> load(smx::row_id row, int col) const {
        smx::pack<float, V> values;
        for (int i = 0; i < V; ++i) values[i] = static_cast<float>((row.index + col + i) % 8);
        return values;
    }
};
struct noting_output {
    std::vector<float>* values;
    template <int V, class Compute>
    void store(smx::row_id row, int col, smx::pack<Compute, V> const& given) const {
        for (int i = 0; i < V; ++i) (*values)[static_cast<std::size_t>(row.index * row.cols + col + i)] = given[i];
    }
};

TEST(host_backward, inputs_and_outputs_of_the_users_own) {
    for (int cols : {8, 40, 320}) {
        std::vector<float> dx(static_cast<std::size_t>(3 * cols));
        ASSERT_TRUE(smx::softmax_backward_on_host(smx::saved_probabilities_from(equal_probabilities{}, {3, cols}),
                                                  counting_gradients{}, smx::fixed_scale(2), smx::no_mask(),
                                                  noting_output{&dx}));
        for (int row = 0; row < 3; ++row) {
            for (int k = 0; k < cols; ++k) {
                double const want = 2.0 / cols * ((row + k) % 8 - 3.5);
                EXPECT_NEAR(static_cast<double>(dx[static_cast<std::size_t>(row * cols + k)]), want, 1e-6);
            }
        }
    }
}

TEST(host_backward, nothing_to_do) {
    for (smx::extents const& shape : {smx::extents(0, 2), smx::extents(5, 0), smx::extents(3, 0, 2, 8)}) {
        EXPECT_TRUE(smx::softmax_backward_on_host(
            smx::saved_probabilities<float>(nullptr, shape), smx::incoming_gradients<float>(nullptr),
            smx::fixed_scale(1), smx::key_lengths<int>(nullptr), smx::gradients<smx::hidden::zeros, float>(nullptr)));
    }
}

}  // namespace
