// A backward pass that adds up, as a whole call: what goes in, what must come out of dx and of the gradient of the
// bias, and what must not change.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "smx/backward_sums.hpp"
#include "support/host_call.hpp"
#include "support/sums_reference.hpp"

namespace support {

// Which axes of the bias repeat, and how the call lies in memory.
struct sums_options {
    bool over_batch = false, over_heads = false, over_queries = false, over_keys = false;
    int gap = 0;  // elements between the rows of db, and of y
    std::size_t y_offset = 0, dy_offset = 0, dx_offset = 0, db_offset = 0;
    double factor = 0.25;
    double special = 0;  // not 0: one dy, if it is visible
    bool in_place = false;
};

// Every way a bias can repeat.
inline std::vector<sums_options> all_ways_to_repeat() {
    std::vector<sums_options> all(16);
    for (std::size_t way = 0; way < 16; ++way) {
        all[way].over_batch = (way & 1U) != 0;
        all[way].over_heads = (way & 2U) != 0;
        all[way].over_queries = (way & 4U) != 0;
        all[way].over_keys = (way & 8U) != 0;
    }
    return all;
}

template <class Case, class Y, class Dy, class Dx, class Db>
class summed_call {
public:
    summed_call(shape4 const& of, sums_options const& by, unsigned long long seed)
        : shape(of),
          options(by),
          material(of, seed),
          pitch(of.keys + by.gap),
          db_shape{by.over_batch ? 1 : of.batch, by.over_heads ? 1 : of.heads, by.over_queries ? 1 : of.queries,
                   by.over_keys ? 1 : of.keys},
          y(elements(of), by.y_offset),
          dy(elements(of), by.dy_offset),
          dx(elements(of), by.dx_offset),
          db(elements(db_shape), by.db_offset) {
        random_stream random(seed);
        index const special_row = of.batch * of.heads * of.queries / 2;
        every_row([&](index b, index h, index q, index row) {
            std::vector<double> scores(static_cast<std::size_t>(of.keys));
            for (double& score : scores) score = 2 * random.normal();
            auto const forward = softmax_reference(
                of.keys, [&](int k) { return scores[static_cast<std::size_t>(k)]; }, by.factor,
                [&](int k) { return Case::bias(material, b, h, q, k); },
                [&](int k) { return Case::visible(material, b, h, q, k); });
            for (int k = 0; k < of.keys; ++k) {
                bool const hidden = !visible(b, h, q, k);
                bool const is_special = by.special != 0 && row == special_row && k == of.keys / 2;
                double const nan = std::numeric_limits<double>::quiet_NaN();
                y[at(row, k)] = stored<Y>::make(hidden ? nan : forward.y[static_cast<std::size_t>(k)]);
                dy[at(row, k)] = stored<Dy>::make(hidden ? nan : is_special ? by.special : random.normal());
            }
        });
        y_before.assign(y.data(), y.data() + y.size());
        dy_before.assign(dy.data(), dy.data() + dy.size());
    }

    smx::extents extents() const { return extents_of(shape); }
    smx::strides step() const { return {shape.heads * shape.queries * pitch, shape.queries * pitch, pitch, 1}; }
    smx::strides db_step() const {
        index const row = db_shape.keys + options.gap;
        return {options.over_batch ? 0 : db_shape.heads * db_shape.queries * row,
                options.over_heads ? 0 : db_shape.queries * row, options.over_queries ? 0 : row,
                options.over_keys ? 0 : 1};
    }
    Dx* dx_memory() { return options.in_place ? reinterpret_cast<Dx*>(dy.data()) : dx.data(); }

    // Calls run(y, dy, factor, mask, dx, bias gradients).
    template <class Run>
    auto call(Run const& run) {
        return run(smx::saved_probabilities(y.data(), extents(), step()), smx::incoming_gradients(dy.data(), step()),
                   smx::fixed_scale(options.factor), Case::mask(material), smx::gradients(dx_memory(), step()),
                   smx::bias_gradients(db.data(), db_step()));
    }

    // A sentence about what is wrong after the call, or nothing.
    std::string difference() {
        if (!y.intact() || !dy.intact() || !dx.intact() || !db.intact()) return "wrote outside a tensor";
        if (std::memcmp(y.data(), y_before.data(), y_before.size() * sizeof(Y)) != 0) return "wrote to y";
        if (!options.in_place && std::memcmp(dy.data(), dy_before.data(), dy_before.size() * sizeof(Dy)) != 0)
            return "wrote to dy";
        added_gradients sums(db.size(), type);
        std::string wrong;
        every_row([&](index b, index h, index q, index row) {
            auto const of_row = [&](double by) {
                return gradient_reference(
                    shape.keys, [&](int k) { return stored<Y>::value(y_before[at(row, k)]); },
                    [&](int k) { return stored<Dy>::value(dy_before[at(row, k)]); }, by,
                    [&](int k) { return visible(b, h, q, k); });
            };
            if (wrong.empty()) {
                wrong = difference_of_gradients<Dx>(
                    of_row(is_double ? options.factor : static_cast<double>(static_cast<float>(options.factor))),
                    [&](int k) { return dx_memory()[at(row, k)]; }, type);
                if (!wrong.empty()) wrong = "dx, row " + std::to_string(row) + ", " + wrong;
            }
            gradient_row const ds = of_row(1.0);
            smx::strides const step = db_step();
            for (int k = 0; k < shape.keys; ++k) {
                sums.add(static_cast<std::size_t>(b * step.batch + h * step.head + q * step.query + k * step.key), ds,
                         k);
            }
        });
        if (wrong.empty()) {
            wrong = sums.difference<Db>([&](std::size_t i) { return db[i]; },
                                        [&](std::size_t i) { return db.is_poison(i); });
            if (!wrong.empty()) wrong = "db, " + wrong;
        }
        return wrong;
    }

    bool visible(index b, index h, index q, int k) const {
        return Case::visible(material, b, h, q, k) &&
               Case::bias(material, b, h, q, k) > -std::numeric_limits<double>::infinity();
    }
    std::size_t at(index row, int k) const { return static_cast<std::size_t>(row * pitch + k); }
    template <class Visit>
    void every_row(Visit const& visit) const {
        index row = 0;
        for (index b = 0; b < shape.batch; ++b)
            for (index h = 0; h < shape.heads; ++h)
                for (index q = 0; q < shape.queries; ++q, ++row) visit(b, h, q, row);
    }

    static constexpr bool is_double = sizeof(smx::compute_of<Y>) == 8 || sizeof(smx::compute_of<Dy>) == 8;
    static constexpr arithmetic type = is_double ? arithmetic::in_double : arithmetic::in_float;

    shape4 shape;
    sums_options options;
    mask_material material;
    index pitch;
    shape4 db_shape;
    guarded_buffer<Y> y;
    guarded_buffer<Dy> dy;
    guarded_buffer<Dx> dx;
    guarded_buffer<Db> db;
    std::vector<Y> y_before;
    std::vector<Dy> dy_before;

private:
    std::size_t elements(shape4 const& of) const {
        return static_cast<std::size_t>(of.batch * of.heads * of.queries * (of.keys + options.gap));
    }
};

inline void PrintTo(sums_options const& by, std::ostream* out) {
    *out << "summed over" << (by.over_batch ? " batch" : "") << (by.over_heads ? " heads" : "")
         << (by.over_queries ? " queries" : "") << (by.over_keys ? " keys" : "") << ", gap " << by.gap << ", offsets "
         << by.y_offset << ", " << by.dy_offset << ", " << by.dx_offset << ", " << by.db_offset << ", factor "
         << by.factor << ", special " << by.special << (by.in_place ? ", in place" : "");
}

}  // namespace support
