// row/summed_backward.hpp: the gradients of a bias and of a scale are what a little more of either does to the loss.
#include "smx/row/summed_backward.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "smx/backward_sums.hpp"
#include "support/emulated_group.hpp"
#include "support/gradient.hpp"
#include "support/mask_cases.hpp"

namespace {

using support::index;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr index batches = 2, heads = 2, queries = 5;
constexpr int keys = 21;
constexpr std::size_t all_rows = batches * heads * queries, count = all_rows * keys;

template <int Lanes, int Vec, int Packs>
using terms = smx::tile<Lanes, Vec, Packs, double, smx::kept::terms>;

// In double, on 8 lanes, in both bodies.
template <class Operands>
void run(Operands const& o, bool chunked) {
    for (smx::int64 set = 0; set < o.rows.count(); ++set) {
        support::run_lanes<8>([&](auto& g) {
            if (chunked) {
                smx::run_chunked<terms<8, 2, 1>>(g, smx::online(), o, set);
            } else {
                smx::run_resident<terms<8, 4, 4>>(g, o, set);
            }
        });
    }
}

// A forward pass in double of scores that are random and a bias that is to be moved.
template <class Case>
struct forward_pass {
    support::mask_material material{{batches, heads, queries, keys}, 3};
    std::vector<double> x = std::vector<double>(count), given = std::vector<double>(count);
    double factor = 0.7;

    forward_pass() {
        support::random_stream random(7);
        for (double& one : x) one = random.normal();
        for (double& one : given) one = random.normal();
    }

    // Calls visit(b, h, q, row).
    template <class Visit>
    void every_row(Visit const& visit) const {
        std::size_t row = 0;
        for (index b = 0; b < batches; ++b)
            for (index h = 0; h < heads; ++h)
                for (index q = 0; q < queries; ++q, ++row) visit(b, h, q, row);
    }
    // added(b, h, q, k): more bias.
    template <class Added>
    support::reference_row row(index b, index h, index q, std::size_t number, double scale, Added const& added) const {
        return support::softmax_reference(
            keys, [&](int k) { return x[number * keys + static_cast<std::size_t>(k)]; }, scale,
            [&](int k) { return Case::bias(material, b, h, q, k) + added(b, h, q, k); },
            [&](int k) { return Case::visible(material, b, h, q, k); }, support::empty_gives::zeros,
            support::arithmetic::in_double);
    }
    template <class Added>
    long double loss(double scale, Added const& added) const {
        long double sum = 0;
        every_row([&](index b, index h, index q, std::size_t number) {
            auto const y = row(b, h, q, number, scale, added);
            for (std::size_t k = 0; k < keys; ++k) {
                if (y.visible[k]) sum += static_cast<long double>(given[number * keys + k]) * y.y[k];
            }
        });
        return sum;
    }
};

constexpr auto nothing_added = [](index, index, index, int) { return 0.0; };

template <class Case>
void expect_the_derivative_by_a_bias() {
    forward_pass<Case> const pass;
    std::vector<double> y(count, nan), dy(count, nan), dx(count);
    pass.every_row([&](index b, index h, index q, std::size_t number) {
        auto const forward = pass.row(b, h, q, number, pass.factor, nothing_added);
        for (std::size_t k = 0; k < keys; ++k) {
            if (!forward.visible[k]) continue;
            y[number * keys + k] = forward.y[k];
            dy[number * keys + k] = pass.given[number * keys + k];
        }
    });
    int checked = 0;
    for (int way = 0; way < 16; ++way) {
        smx::extents const shape((way & 1) != 0 ? 1 : batches, (way & 2) != 0 ? 1 : heads, (way & 4) != 0 ? 1 : queries,
                                 (way & 8) != 0 ? 1 : keys);
        smx::strides const step = smx::broadcast(shape);
        std::vector<double> db(static_cast<std::size_t>(shape.batch * shape.heads * shape.queries * shape.keys));
        for (bool chunked : {false, true}) {
            db.assign(db.size(), nan);
            run(smx::make_backward_operands(smx::saved_probabilities(y.data(), {batches, heads, queries, keys}),
                                            smx::incoming_gradients(dy.data()), smx::fixed_scale(pass.factor),
                                            Case::mask(pass.material), smx::gradients(dx.data()),
                                            smx::bias_gradients(db.data(), step)),
                chunked);
            for (std::size_t at = 0; at < db.size(); at += way == 0 ? 37 : 1) {
                auto const moved = [&](double by) {
                    return pass.loss(pass.factor, [&](index b, index h, index q, int k) {
                        index const place = b * step.batch + h * step.head + q * step.query + k * step.key;
                        return place == static_cast<index>(at) ? by : 0.0;
                    });
                };
                double const want = static_cast<double>((moved(1e-5) - moved(-1e-5)) / 2e-5);
                ASSERT_NEAR(db[at], want, 1e-8) << "element " << at << ", way " << way << (chunked ? ", chunked" : "");
                checked += std::fabs(want) > 1e-3 ? 1 : 0;
            }
        }
    }
    ASSERT_GT(checked, 100);
}

TEST(summed_backward, is_the_derivative_by_a_bias_without_a_mask) {
    expect_the_derivative_by_a_bias<support::no_mask_case>();
}
TEST(summed_backward, is_the_derivative_by_a_bias_under_a_diagonal) {
    expect_the_derivative_by_a_bias<support::bottom_right_case>();
}
TEST(summed_backward, is_the_derivative_by_a_bias_under_all_masks) {
    expect_the_derivative_by_a_bias<support::everything_case>();
}

// Of a row a number, and of all rows their sum; with the sums of a bias beside it.
template <class Case>
void expect_the_derivative_by_the_scale() {
    forward_pass<Case> pass;
    for (double factor : {0.7, -1.3, 0.0}) {
        pass.factor = factor;
        std::vector<double> x(count, nan), dy(count, nan), dx(count), sums(all_rows), per_row(all_rows), db(keys);
        pass.every_row([&](index b, index h, index q, std::size_t number) {
            auto const forward = pass.row(b, h, q, number, factor, nothing_added);
            sums[number] = forward.log_sum_exp;
            for (std::size_t k = 0; k < keys; ++k) {
                if (!forward.visible[k]) continue;
                x[number * keys + k] = pass.x[number * keys + k];
                dy[number * keys + k] = pass.given[number * keys + k];
            }
        });
        double const want = static_cast<double>(
            (pass.loss(factor + 1e-5, nothing_added) - pass.loss(factor - 1e-5, nothing_added)) / 2e-5);
        auto const expect = [&](auto const&... extras) {
            for (bool chunked : {false, true}) {
                per_row.assign(all_rows, nan);
                run(smx::make_backward_operands(
                        smx::recomputed_probabilities(smx::scores(x.data(), {batches, heads, queries, keys}),
                                                      sums.data()),
                        smx::incoming_gradients(dy.data()), smx::fixed_scale(factor), Case::mask(pass.material),
                        smx::gradients(dx.data()), extras...),
                    chunked);
                double got = 0;
                for (double one : per_row) got += one;
                ASSERT_NEAR(got, want, 1e-7) << factor << (chunked ? ", chunked" : "");
            }
        };
        expect(smx::scale_gradients(per_row.data()));
        expect(smx::scale_gradients(per_row.data()), smx::bias_gradients(db.data(), {0, 0, 0, 1}));
        if (factor != 0) {
            ASSERT_GT(std::fabs(want), 1e-3);
        }
    }
}

TEST(summed_backward, is_the_derivative_by_the_scale_without_a_mask) {
    expect_the_derivative_by_the_scale<support::no_mask_case>();
}
TEST(summed_backward, is_the_derivative_by_the_scale_under_a_diagonal) {
    expect_the_derivative_by_the_scale<support::bottom_right_case>();
}
TEST(summed_backward, is_the_derivative_by_the_scale_under_all_masks) {
    expect_the_derivative_by_the_scale<support::everything_case>();
}

// A NaN goes where its row goes, and no further: not into hidden columns, nor into other rows of the bias.
TEST(summed_backward, a_nan_stays_in_what_it_touches) {
    std::vector<double> y(4 * 6, 1.0 / 6), dy(4 * 6), dx(4 * 6), db(2 * 6);
    for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<double>(i * 7 % 5);
    dy[6 + 1] = nan;  // of batch 0, query 1, which sees columns 0 to 2
    for (bool chunked : {false, true}) {
        run(smx::make_backward_operands(smx::saved_probabilities(y.data(), {2, 1, 2, 6}),
                                        smx::incoming_gradients(dy.data()), smx::fixed_scale(infinity),
                                        smx::causal_mask::diagonal(1), smx::gradients(dx.data()),
                                        smx::bias_gradients(db.data(), {0, 0, 6, 1})),
            chunked);
        for (std::size_t k = 0; k < 6; ++k) {
            EXPECT_TRUE(std::isfinite(db[k]));
            EXPECT_EQ(k >= 2, db[k] == 0.0 && !std::signbit(db[k]));
            EXPECT_EQ(std::isnan(db[6 + k]), k < 3);
            if (k >= 3) {
                EXPECT_TRUE(db[6 + k] == 0.0 && !std::signbit(db[6 + k]));
            }
        }
    }
}

// Fills of the lowest number, and scores of -infinity, have no part in the gradient of the scale.
TEST(summed_backward, a_probability_of_zero_adds_nothing_to_that_of_the_scale) {
    std::vector<double> const x{1, -infinity, 2, std::numeric_limits<double>::lowest()}, dy{0.5, 3, -1, 7};
    std::vector<double> dx(4), alone(1), filled(1);
    double const sum = std::log(std::exp(1.0) + std::exp(2.0));
    auto const backward = [&](int cols, std::vector<double> const& scores, std::vector<double> const& given,
                              std::vector<double>& per_row) {
        run(smx::make_backward_operands(smx::recomputed_probabilities(smx::scores(scores.data(), {1, cols}), &sum),
                                        smx::incoming_gradients(given.data()), smx::fixed_scale(1), smx::no_mask(),
                                        smx::gradients(dx.data()), smx::scale_gradients(per_row.data())),
            false);
    };
    backward(4, x, dy, filled);
    backward(2, {1, 2}, {0.5, -1}, alone);
    EXPECT_NEAR(filled[0], alone[0], 1e-15);
    EXPECT_GT(std::fabs(alone[0]), 0.1);
}

}  // namespace
