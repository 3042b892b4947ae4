// softmax_backward_on_host with sums: every way a bias repeats, under every kind of mask, of every length.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "smx/host.hpp"
#include "support/gradient_sums.hpp"
#include "support/sanitized.hpp"

namespace {

using support::index;
using support::shape4;
using support::sums_options;

template <class Case, class Y, class Dy, class Dx, class Db>
void expect_sums(shape4 const& shape, sums_options const& options, unsigned long long seed) {
    support::summed_call<Case, Y, Dy, Dx, Db> call(shape, options, seed);
    smx::status const s =
        call.call([](auto const&... arguments) { return smx::softmax_backward_on_host(arguments...); });
    ASSERT_TRUE(s.ok()) << smx::sentence(s).text;
    ASSERT_EQ(call.difference(), "") << shape.keys << " keys, " << ::testing::PrintToString(options);
}

// Rows of one pack, of a tile, and of chunks; with gaps, rows of y and db start at any address.
template <class Case, class Y, class Dy = Y, class Dx = Y, class Db = float>
void expect_every_way() {
    unsigned long long seed = 1;
    for (int keys : {1, 7, 31, 32, 33, 300}) {
        for (sums_options options : support::all_ways_to_repeat()) {
            options.gap = static_cast<int>(seed % 3);
            options.y_offset = seed % 5;
            options.dy_offset = seed % 7;
            options.dx_offset = seed % 2;
            options.db_offset = seed % 11;
            options.factor = seed % 4 == 0 ? -0.7 : 0.25;
            options.in_place = sizeof(Dy) == sizeof(Dx) && seed % 5 == 1;
            if (seed % 6 == 2) options.special = std::numeric_limits<double>::quiet_NaN();
            if (seed % 6 == 4) options.special = std::numeric_limits<double>::infinity();
            expect_sums<Case, Y, Dy, Dx, Db>({2, 3, 4, keys}, options, seed++);
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST(host_backward_sums, without_a_mask) { expect_every_way<support::no_mask_case, float>(); }
TEST(host_backward_sums, causal_in_half) {
    expect_every_way<support::bottom_right_case, smx::half, smx::half, smx::half, smx::half>();
}
TEST(host_backward_sums, biases) { expect_every_way<support::bias_case, float, smx::half, float, smx::bfloat16>(); }
TEST(host_backward_sums, everything) { expect_every_way<support::everything_case, float>(); }
TEST(host_backward_sums, in_double) { expect_every_way<support::everything_case, double, double, double, double>(); }
TEST(host_backward_sums, wider_than_the_arithmetic) {
    expect_every_way<support::visible_flags_case, smx::half, float, smx::half, double>();
}
TEST(host_backward_sums, narrower_than_the_arithmetic) {
    expect_every_way<support::no_mask_case, float, double, float, float>();
}

// Longer than what waits: db itself is what they wait in, or each chunk is summed over all rows first.
template <class Y, class Dy, class Dx, class Db>
void expect_long_rows() {
    unsigned long long seed = 3;
    for (sums_options options : support::all_ways_to_repeat()) {
        if (options.over_batch == options.over_heads) continue;  // half of them: these rows are long
        if (support::is_sanitized && options.over_queries) continue;
        options.gap = static_cast<int>(seed % 2);
        options.in_place = sizeof(Dy) == sizeof(Dx) && seed % 3 == 0;
        expect_sums<support::bottom_right_case, Y, Dy, Dx, Db>({2, 2, 2, 20001}, options, seed);
        expect_sums<support::no_mask_case, Y, Dy, Dx, Db>({2, 2, 2, 16385}, options, seed++);
        if (::testing::Test::HasFatalFailure()) return;
    }
}
TEST(host_backward_sums, long_rows_add_up_in_db) { expect_long_rows<float, float, float, float>(); }
TEST(host_backward_sums, long_rows_of_a_narrow_db) { expect_long_rows<smx::half, smx::half, smx::half, smx::half>(); }

// On as many threads as there are, and on one, a range at a time.
TEST(host_backward_sums, the_same_bits_every_run) {
    shape4 const shape{3, 4, 8, 400};
    for (sums_options const& options : support::all_ways_to_repeat()) {
        support::summed_call<support::everything_case, float, float, float, float> one(shape, options, 7),
            other(shape, options, 7), parts(shape, options, 7);
        auto const run = [](auto const&... arguments) { return smx::softmax_backward_on_host(arguments...); };
        ASSERT_TRUE(one.call(run));
        ASSERT_TRUE(other.call(run));
        smx::int64 const rows = one.db_shape.batch * one.db_shape.heads * one.db_shape.queries;
        for (smx::int64 row = 0; row < rows; ++row) {
            ASSERT_TRUE(parts.call([&](auto const&... arguments) {
                return smx::softmax_backward_on_host(smx::rows{row, row + 1}, arguments...);
            }));
        }
        ASSERT_EQ(std::memcmp(one.db.data(), other.db.data(), one.db.size() * sizeof(float)), 0);
        ASSERT_EQ(std::memcmp(one.db.data(), parts.db.data(), one.db.size() * sizeof(float)), 0);
        ASSERT_EQ(std::memcmp(one.dx.data(), parts.dx.data(), one.dx.size() * sizeof(float)), 0);
        ASSERT_EQ(parts
                      .call([&](auto const&... arguments) {
                          return smx::softmax_backward_on_host(smx::rows{0, rows + 1}, arguments...);
                      })
                      .code,
                  smx::errc::bad_value);
    }
}

// dx is the one without sums, to the bit, and may be left out.
TEST(host_backward_sums, change_nothing_else) {
    sums_options options;
    options.over_batch = options.over_queries = true;
    support::summed_call<support::everything_case, float, float, float, float> summed({3, 2, 5, 333}, options, 5),
        plain({3, 2, 5, 333}, options, 5), alone({3, 2, 5, 333}, options, 5);
    ASSERT_TRUE(summed.call([](auto const&... arguments) { return smx::softmax_backward_on_host(arguments...); }));
    ASSERT_TRUE(plain.call([](auto const& y, auto const& dy, auto const& factor, auto const& mask, auto const& dx,
                              auto const&) { return smx::softmax_backward_on_host(y, dy, factor, mask, dx); }));
    ASSERT_TRUE(alone.call(
        [](auto const& y, auto const& dy, auto const& factor, auto const& mask, auto const&, auto const& sums) {
            return smx::softmax_backward_on_host(y, dy, factor, mask, smx::no_output{}, sums);
        }));
    EXPECT_EQ(std::memcmp(summed.dx.data(), plain.dx.data(), plain.dx.size() * sizeof(float)), 0);
    EXPECT_EQ(std::memcmp(summed.db.data(), alone.db.data(), alone.db.size() * sizeof(float)), 0);
    for (std::size_t i = 0; i < alone.dx.size(); ++i) ASSERT_TRUE(alone.dx.is_poison(i));
}

// A bias without rows of scores is a bias all the same.
TEST(host_backward_sums, of_nothing_are_zero) {
    std::vector<float> db(6, 7.0f);
    float const* const none = nullptr;
    auto const run = [&](smx::extents const& shape, smx::strides const& step) {
        return smx::softmax_backward_on_host(
            smx::saved_probabilities(none, shape), smx::incoming_gradients(none), smx::fixed_scale(1), smx::no_mask(),
            smx::gradients(static_cast<float*>(nullptr)), smx::bias_gradients(db.data(), step));
    };
    ASSERT_TRUE(run({0, 1, 2, 3}, {0, 0, 3, 1}));
    EXPECT_EQ(db, std::vector<float>(6, 0.0f));
    db.assign(6, 7.0f);
    ASSERT_TRUE(run({3, 1, 2, 0}, {2, 0, 1, 0}));
    EXPECT_EQ(db, std::vector<float>(6, 0.0f));
    db.assign(6, 7.0f);
    ASSERT_TRUE(run({3, 1, 2, 0}, {0, 0, 3, 1}));  // no element
    ASSERT_TRUE(run({0, 1, 2, 3}, {6, 6, 3, 1}));
    EXPECT_EQ(db, std::vector<float>(6, 7.0f));
}

// Behind a dropout, and of log-probabilities, the gradient of the bias is that of the scores by a scale of 1.
template <class Backward>
void expect_sum_of_dx(Backward const& backward) {
    std::vector<double> dx(2 * 3 * 4 * 57), db(3 * 57), want(3 * 57, 0.0);
    backward(smx::gradients(dx.data()), smx::bias_gradients(db.data(), smx::broadcast({1, 3, 1, 57})));
    for (std::size_t i = 0; i < dx.size(); ++i) want[i / (4 * 57) % 3 * 57 + i % 57] += dx[i];
    for (std::size_t i = 0; i < db.size(); ++i) ASSERT_NEAR(db[i], want[i], 1e-14) << i;
}
TEST(host_backward_sums, of_other_gradients) {
    smx::extents const shape(2, 3, 4, 57);
    std::vector<double> x(2 * 3 * 4 * 57), dy(x.size()), y(x.size()), z(x.size()), sums(24);
    support::random_stream random(11);
    for (double& one : x) one = random.normal();
    for (double& one : dy) one = random.normal();
    auto const mask = smx::causal_mask::bottom_right();
    auto const one = smx::fixed_scale(1);
    auto const scores = smx::scores(x.data(), shape);
    auto const given = smx::incoming_gradients(dy.data());
    auto const drop = smx::dropout(0.3, 5, 6);
    ASSERT_TRUE(smx::softmax_on_host(scores, one, mask, smx::probabilities(y.data()), smx::log_sum_exp(sums.data())));
    ASSERT_TRUE(smx::softmax_on_host(scores, one, mask, smx::log_probabilities(z.data())));
    expect_sum_of_dx([&](auto const& dx, auto const& db) {
        ASSERT_TRUE(smx::softmax_backward_on_host(smx::saved_probabilities(y.data(), shape), smx::dropped(given, drop),
                                                  one, mask, dx, db));
    });
    expect_sum_of_dx([&](auto const& dx, auto const& db) {
        ASSERT_TRUE(smx::softmax_backward_on_host(smx::recomputed_probabilities(scores, sums.data()), given, one, mask,
                                                  dx, db));
    });
    expect_sum_of_dx([&](auto const& dx, auto const& db) {
        ASSERT_TRUE(
            smx::softmax_backward_on_host(smx::saved_log_probabilities(z.data(), shape), given, one, mask, dx, db));
    });
}

// A number a row of the scale, by types and lengths: what a scale a little larger does to the loss, and nothing to dx.
template <class X, class Case>
void expect_scale_gradients() {
    for (int keys : {1, 7, 32, 33, 300, 17001}) {
        shape4 const shape{2, 2, keys > 1000 ? 1 : 3, keys};
        support::mask_material const material(shape, static_cast<unsigned long long>(keys));
        auto const rows = static_cast<std::size_t>(shape.batch * shape.heads * shape.queries);
        std::size_t const count = rows * static_cast<std::size_t>(keys);
        auto const x = support::make_scores<X>(support::pattern::mild, count, keys, 3);
        support::random_stream random(5);
        std::vector<X> dy(count), dx(count), again(count);
        for (X& one : dy) one = support::stored<X>::make(random.normal());
        std::vector<double> sums(rows), bits(rows), db(static_cast<std::size_t>(keys));
        support::guarded_buffer<double> per_row(rows);
        std::vector<double> const factors{0.4, -0.9};
        auto const factor = smx::head_scale(factors.data());
        auto const scores = smx::scores(x.data(), support::extents_of(shape));
        auto const given = smx::incoming_gradients(dy.data());
        auto const mask = Case::mask(material);
        std::vector<float> y(count);
        ASSERT_TRUE(
            smx::softmax_on_host(scores, factor, mask, smx::probabilities(y.data()), smx::log_sum_exp(sums.data())));
        auto const from = smx::recomputed_probabilities(scores, sums.data());
        ASSERT_TRUE(smx::softmax_backward_on_host(from, given, factor, mask, smx::gradients(dx.data())));
        ASSERT_TRUE(smx::softmax_backward_on_host(from, given, factor, mask, smx::gradients(again.data()),
                                                  smx::scale_gradients(per_row.data())));
        ASSERT_TRUE(per_row.intact());
        ASSERT_EQ(std::memcmp(dx.data(), again.data(), count * sizeof(X)), 0);
        ASSERT_TRUE(smx::softmax_backward_on_host(from, given, factor, mask, smx::no_output{},
                                                  smx::bias_gradients(db.data(), {0, 0, 0, 1}),
                                                  smx::scale_gradients(bits.data())));
        std::size_t row = 0;
        for (index b = 0; b < shape.batch; ++b) {
            for (index h = 0; h < shape.heads; ++h) {
                for (index q = 0; q < shape.queries; ++q, ++row) {
                    auto const at = [&](int k) {
                        return row * static_cast<std::size_t>(keys) + static_cast<std::size_t>(k);
                    };
                    auto const forward = support::softmax_reference(
                        keys, [&](int k) { return support::stored<X>::value(x[at(k)]); },
                        factors[static_cast<std::size_t>(h)], [&](int k) { return Case::bias(material, b, h, q, k); },
                        [&](int k) { return Case::visible(material, b, h, q, k); });
                    auto const ds = support::gradient_reference(
                        keys, [&](int k) { return forward.y[static_cast<std::size_t>(k)]; },
                        [&](int k) { return support::stored<X>::value(dy[at(k)]); }, 1.0,
                        [&](int k) { return bool{forward.visible[static_cast<std::size_t>(k)]}; });
                    auto const score = [&](int k) { return support::stored<X>::value(x[at(k)]); };
                    bool const is_defined = forward.kind == support::row_kind::defined;
                    double const more = is_defined ? 4 * (forward.largest_score + std::fabs(forward.log_sum_exp)) : 0;
                    for (double got : {per_row[row], bits[row]}) {
                        ASSERT_EQ(
                            support::difference_of_scale_gradient(got, ds, score, support::arithmetic_of<X>, more), "")
                            << "row " << row << ", " << keys << " keys";
                    }
                }
            }
        }
    }
}

TEST(host_backward_sums, of_a_scale) {
    expect_scale_gradients<float, support::no_mask_case>();
    expect_scale_gradients<float, support::everything_case>();
    expect_scale_gradients<smx::half, support::bottom_right_case>();
    expect_scale_gradients<double, support::visible_flags_case>();
}

// Of log-probabilities, whose gradient is of another form: by differences.
TEST(host_backward_sums, of_the_scale_of_logarithms) {
    smx::extents const shape(3, 40);
    std::vector<double> x(120), dy(120), z(120), sums(3), per_row(3), dx(120);
    support::random_stream random(2);
    for (double& one : x) one = random.normal();
    for (double& one : dy) one = random.normal();
    auto const scores = smx::scores(x.data(), shape);
    auto const mask = smx::causal_mask::diagonal(20);
    auto const loss = [&](double factor) {
        EXPECT_TRUE(smx::softmax_on_host(scores, smx::fixed_scale(factor), mask, smx::log_probabilities(z.data())));
        double sum = 0;
        for (std::size_t i = 0; i < 120; ++i) sum += std::isfinite(z[i]) ? z[i] * dy[i] : 0;
        return sum;
    };
    ASSERT_TRUE(smx::softmax_on_host(scores, smx::fixed_scale(0.8), mask, smx::log_probabilities(z.data()),
                                     smx::log_sum_exp(sums.data())));
    ASSERT_TRUE(smx::softmax_backward_on_host(smx::recomputed_log_probabilities(scores, sums.data()),
                                              smx::incoming_gradients(dy.data()), smx::fixed_scale(0.8), mask,
                                              smx::gradients(dx.data()), smx::scale_gradients(per_row.data())));
    EXPECT_NEAR(per_row[0] + per_row[1] + per_row[2], (loss(0.8 + 1e-5) - loss(0.8 - 1e-5)) / 2e-5, 1e-8);
}

}  // namespace
