// Drawing, shrinking and printing cases.
#include "fuzz/description.hpp"

#include <algorithm>
#include <cstdio>

namespace fuzz {

namespace {

int drawn_keys(choices& from) {
    switch (from.below(8)) {
        case 0:
            return 1 + from.below(4);
        case 1:
            return 1 + from.below(33);
        case 2:
        case 3:
            return 1 + from.below(140);
        case 4:
            return (1 << from.below(9)) + from.below(3) - 1;  // 0 to 257
        case 5:
            return 1 + from.below(600);
        case 6:
            if (from.one_in(12)) return 8192 * (1 + from.below(4)) + from.below(300);  // more than the host path holds
            return from.one_in(4) ? 1 + from.below(12000) : 1 + from.below(2100);
        default:
            return from.one_in(8) ? 0 : 1 + from.below(80);
    }
}

layout drawn_layout(choices& from, bool is_output) {
    layout l;
    l.axes = static_cast<order>(from.below(is_output ? 4 : 7));
    l.gap = from.one_in(2) ? from.below(9) : 0;
    l.side = static_cast<border>(from.below(3));
    l.offset = l.side == border::offset ? from.below(17) : 0;
    return l;
}

part drawn_part(choices& from, part_kind first, part_kind last, smx::extents shape) {
    part p;
    int const kinds = static_cast<int>(last) - static_cast<int>(first) + 1;
    p.kind = static_cast<part_kind>(static_cast<int>(first) + from.below(kinds));
    int64 const keys = shape.keys, queries = shape.queries;
    int64 const diagonals[] = {0, keys - queries, keys / 2 - 1, -1, keys, -queries, keys - 1};
    int const choice = from.below(8);
    p.diagonal = choice < 7 ? diagonals[choice] : from.below(static_cast<int>(keys + queries) + 1) - queries;
    p.left = from.one_in(2);
    p.repeats_batch = from.one_in(3);
    p.repeats_heads = from.one_in(2);
    p.repeats_queries = from.one_in(3);
    p.repeats_keys = from.one_in(8) && p.kind != part_kind::bits && p.kind != part_kind::hidden_bits;
    p.gap = from.one_in(2) ? from.below(6) : 0;
    p.phase = from.below(9);
    constexpr int percents[] = {50, 90, 10, 100, 99, 0, 1};
    p.visible_percent = percents[from.below(7)];
    p.reach = 1 + from.below(40);
    p.seed = from.seed();
    return p;
}

double drawn_factor(choices& from) {
    constexpr double factors[] = {1, 0.125, -0.7, 0, 1e-30, 1e3, 8, -1e3, 0.08838834764831845, 3, 1e-3, -1};
    return factors[from.below(12)];
}

// Along which axes a bias may repeat.
constexpr bool description::*repeats[] = {&description::over_batch, &description::over_heads,
                                          &description::over_queries, &description::over_keys};

bool is_unset(part const& p) { return p.kind == part_kind::absent; }

char const* const value_names[] = {"mild",      "peaky",    "half -inf", "all -inf", "some NaN",
                                   "some +inf", "negative", "denormal",  "huge",     "equal"};

std::string in_words(smx::extents const& e) {
    return std::to_string(e.batch) + " x " + std::to_string(e.heads) + " x " + std::to_string(e.queries) + " x " +
           std::to_string(e.keys);
}

std::string in_words(char const* name, layout const& l) {
    constexpr char const* orders[] = {
        "", " padded", " query-major", " reversed", " repeats heads", " repeats batch", " repeats queries"};
    std::string text = std::string(", ") + name + orders[static_cast<int>(l.axes)];
    if (l.gap != 0) text += " gap " + std::to_string(l.gap);
    if (l.side == border::before) text += " begins where memory begins";
    if (l.side == border::offset) text += " offset " + std::to_string(l.offset);
    return l.axes == order::packed && l.gap == 0 && l.side == border::behind ? std::string() : text;
}

std::string in_words(part const& p) {
    constexpr char const* names[] = {"absent",      "causal", "lengths",   "flags", "hidden flags", "bits",
                                     "hidden bits", "window", "predicate", "bias",  "half bias",    "slope"};
    std::string text = names[static_cast<int>(p.kind)];
    switch (p.kind) {
        case part_kind::absent:
        case part_kind::slope:
            return text;
        case part_kind::causal:
            return text + " diagonal " + std::to_string(p.diagonal);
        case part_kind::window:
        case part_kind::predicate:
            return text + " " + std::to_string(p.reach);
        case part_kind::lengths:
            return text + (p.left ? " left" : " right") + " seed " + std::to_string(p.seed);
        default:
            break;
    }
    if (p.repeats_batch || p.repeats_heads || p.repeats_queries || p.repeats_keys) text += " repeating";
    if (p.repeats_batch) text += " batch";
    if (p.repeats_heads) text += " heads";
    if (p.repeats_queries) text += " queries";
    if (p.repeats_keys) text += " keys";
    if (p.gap != 0) text += " gap " + std::to_string(p.gap);
    if (p.phase != 0) text += " phase " + std::to_string(p.phase);
    return text + " visible " + std::to_string(p.visible_percent) + "% seed " + std::to_string(p.seed);
}

}  // namespace

description draw(choices& from, std::vector<signature> const& signatures) {
    description d;
    d.types = signatures[static_cast<std::size_t>(from.below(static_cast<int>(signatures.size())))];
    way const how = d.types.how;
    int const keys = drawn_keys(from);
    // Some thousand elements: the reference takes longer than what is tested.
    int const rows = keys == 0 ? 24 : std::clamp(6000 / keys, 2, 60);
    int const batch = 1 + from.below(std::min(rows, 3)), heads = 1 + from.below(std::clamp(rows / batch, 1, 3));
    int const queries = 1 + from.below(std::max(rows / batch / heads, 1));
    d.shape = {batch, heads, queries, keys};
    if (from.one_in(64)) d.shape.batch = 0;
    if (from.one_in(64)) d.shape.queries = 0;
    d.x = drawn_layout(from, false);
    d.y = drawn_layout(from, true);
    d.dy = drawn_layout(from, false);
    // As one tensor: x and y, or dy and dx.
    d.in_place = from.one_in(4) && how != way::dropped &&
                 device::bytes_of(is_backward(how) ? d.types.dy : d.types.x) == device::bytes_of(d.types.y);
    d.scores = static_cast<values>(from.below(values_count));
    d.every_row = from.one_in(2);
    d.seed = from.seed();
    d.factor_from = static_cast<factor_kind>(from.below(4));
    d.factor = d.factor_from == factor_kind::inverse_root ? 1 + from.below(256) : drawn_factor(from);
    // A gradient of half has no more than 65504.
    if (is_backward(how) && d.factor_from != factor_kind::inverse_root) d.factor = std::clamp(d.factor, -8.0, 8.0);
    d.special_dy =
        is_backward(how) && !is_of_scores(how) && d.scores == values::mild && d.factor != 1e-30 && from.one_in(4);
    d.when_empty = static_cast<smx::empty_row>(from.below(3));
    constexpr double drops[] = {0.1, 0.5, 0, 1, 0.9999, 1e-9};
    d.drop = is_dropped(how) ? drops[from.below(6)] : 0;
    d.split = from.below(static_cast<int>(d.shape.batch * d.shape.heads * d.shape.queries) + 1);
    if (sums_biases(how)) {
        d.db = drawn_layout(from, true);
        for (bool description::*over : repeats) d.*over = from.one_in(2);
    }

    auto const hiding = [&] { return drawn_part(from, part_kind::causal, part_kind::predicate, d.shape); };
    auto const biasing = [&] { return drawn_part(from, part_kind::bias, part_kind::slope, d.shape); };
    auto const only = [&](part_kind kind) { return drawn_part(from, kind, kind, d.shape); };
    switch (d.types.masks) {
        case family::none:
            break;
        case family::causal:
            d.parts[2] = only(part_kind::causal);
            break;
        case family::one:
            d.parts[2] = hiding();
            break;
        case family::composed:
            if (from.one_in(2)) d.parts[0] = only(part_kind::bias);
            if (from.one_in(2)) d.parts[2] = only(part_kind::causal);
            if (from.one_in(2)) d.parts[3] = only(part_kind::lengths);
            if (from.one_in(2)) d.parts[4] = only(part_kind::flags);
            if (from.one_in(2)) d.parts[5] = only(part_kind::bits);
            break;
        case family::tree:
            if (from.one_in(3)) d.parts[0] = biasing();
            if (from.one_in(4)) d.parts[1] = biasing();
            if (from.one_in(2)) d.parts[2] = hiding();
            if (from.one_in(4)) d.parts[3] = hiding();
            if (from.one_in(4)) {
                d.parts[4] = hiding();
                d.parts[5] = hiding();
            }
            break;
    }
    return d;
}

std::vector<description> simpler(description const& d) {
    std::vector<description> all;
    auto const with = [&](auto const& change) {
        description next = d;
        change(next);
        next.split = std::min(next.split, next.shape.batch * next.shape.heads * next.shape.queries);
        all.push_back(next);
    };
    // The lower part, and the upper, of an axis.
    auto const cut = [&](int64 smx::extents::*axis, int64 least) {
        int64 const count = d.shape.*axis;
        for (int64 kept : {least, count / 2, count - count / 4, count - 1}) {
            if (kept < least || kept >= count) continue;
            with([&](description& n) { n.shape.*axis = kept; });
            with([&](description& n) {
                n.shape.*axis = kept;
                n.origin.*axis += count - kept;
            });
        }
    };
    cut(&smx::extents::batch, 1);
    cut(&smx::extents::heads, 1);
    cut(&smx::extents::queries, 1);
    for (int i = 0; i < part_count; ++i) {
        if (is_unset(d.parts[i])) continue;
        // One of two ways to be visible goes with the other.
        with([&](description& n) {
            n.parts[i] = {};
            if (n.types.masks == family::tree && i >= 4) n.parts[4] = n.parts[5] = {};
        });
    }
    cut(&smx::extents::keys, 1);
    for (layout description::*which : {&description::x, &description::y, &description::dy, &description::db}) {
        layout const& l = d.*which;
        if (l.axes != order::packed) with([&](description& n) { (n.*which).axes = order::packed; });
        if (l.gap != 0) with([&](description& n) { (n.*which).gap = 0; });
        if (l.side != border::behind) {
            with([&](description& n) {
                (n.*which).side = border::behind;
                (n.*which).offset = 0;
            });
        }
        if (l.offset != 0) with([&](description& n) { (n.*which).offset = 0; });
    }
    if (d.in_place) with([](description& n) { n.in_place = false; });
    if (d.scores != values::equal) with([](description& n) { n.scores = values::equal; });
    if (d.scores != values::equal && d.scores != values::mild) with([](description& n) { n.scores = values::mild; });
    if (!d.every_row) with([](description& n) { n.every_row = true; });
    if (d.special_dy) with([](description& n) { n.special_dy = false; });
    if (d.factor_from != factor_kind::fixed || d.factor != 1) {
        with([](description& n) {
            n.factor_from = factor_kind::fixed;
            n.factor = 1;
        });
    }
    if (d.factor_from != factor_kind::fixed && d.factor_from != factor_kind::inverse_root)
        with([](description& n) { n.factor_from = factor_kind::fixed; });
    if (d.when_empty != smx::empty_row::zeros) with([](description& n) { n.when_empty = smx::empty_row::zeros; });
    if (d.drop != 0) with([](description& n) { n.drop = 0; });
    for (bool description::*over : repeats) {
        if (d.*over) with([&](description& n) { n.*over = false; });
    }
    if (d.split != 0) with([](description& n) { n.split = 0; });
    for (int i = 0; i < part_count; ++i) {
        part const& p = d.parts[i];
        if (is_unset(p)) continue;
        if (p.gap != 0) with([&](description& n) { n.parts[i].gap = 0; });
        if (p.phase != 0) with([&](description& n) { n.parts[i].phase = 0; });
        if (p.visible_percent != 100) with([&](description& n) { n.parts[i].visible_percent = 100; });
        if (p.repeats_batch || p.repeats_heads || p.repeats_queries || p.repeats_keys) {
            with([&](description& n) {
                n.parts[i].repeats_batch = n.parts[i].repeats_heads = n.parts[i].repeats_queries =
                    n.parts[i].repeats_keys = false;
            });
        }
        if (p.kind == part_kind::causal && p.diagonal != 0) with([&](description& n) { n.parts[i].diagonal = 0; });
    }
    return all;
}

std::string in_words(description const& d) {
    constexpr char const* ways[] = {"probabilities",
                                    "probabilities<hidden::keep>",
                                    "log_probabilities",
                                    "dropped probabilities",
                                    "gradients of saved probabilities",
                                    "gradients<hidden::keep> of saved probabilities",
                                    "gradients of recomputed probabilities",
                                    "gradients of saved log-probabilities",
                                    "gradients of recomputed log-probabilities",
                                    "gradients of dropped probabilities",
                                    "gradients of saved probabilities and of a bias",
                                    "gradients of recomputed probabilities and of the scale",
                                    "gradients of recomputed probabilities, of a bias and of the scale",
                                    "gradients of recomputed log-probabilities, of a bias and of the scale"};
    constexpr char const* families[] = {"no_mask", "causal_mask", "a mask of one part",
                                        "both(causal, lengths, flags, bits, bias)",
                                        "both(bias, bias, part, part, either(part, part))"};
    std::string text = std::string(ways[static_cast<int>(d.types.how)]) + ", " + device::name_of(d.types.x);
    if (is_backward(d.types.how)) text += std::string(" and ") + device::name_of(d.types.dy);
    text += std::string(" to ") + device::name_of(d.types.y) + ", " + in_words(d.shape) + ", " +
            value_names[static_cast<int>(d.scores)] + " scores" + (d.every_row ? "" : " in one row of two") +
            ", seed " + std::to_string(d.seed);
    smx::extents const& o = d.origin;
    if (o.batch != 0 || o.heads != 0 || o.queries != 0 || o.keys != 0) text += ", values from " + in_words(o) + " on";
    char factor[64];
    constexpr char const* factors[] = {"fixed_scale", "inv_sqrt", "device_scale", "head_scale"};
    std::snprintf(factor, sizeof factor, ", %s %.9g", factors[static_cast<int>(d.factor_from)], d.factor);
    text += factor;
    text += in_words("x", d.x) + in_words("y", d.y);
    if (is_backward(d.types.how)) text += in_words("dy", d.dy);
    if (d.in_place) text += ", in place";
    if (d.special_dy) text += ", some dy infinite or NaN";
    if (d.when_empty == smx::empty_row::uniform) text += ", empty rows uniform";
    if (d.when_empty == smx::empty_row::nan) text += ", empty rows NaN";
    if (d.drop != 0) text += ", dropout " + std::to_string(d.drop);
    if (sums_biases(d.types.how)) text += in_words("db", d.db);
    constexpr char const* axes[] = {" batch", " heads", " queries", " keys"};
    std::string over;
    for (int i = 0; i < 4; ++i) over += d.*repeats[i] ? axes[i] : "";
    if (!over.empty()) text += ", db summed over" + over;
    if (d.split != 0) text += ", split before row " + std::to_string(d.split);
    text += std::string(", ") + families[static_cast<int>(d.types.masks)];
    for (int i = 0; i < part_count; ++i) {
        if (!is_unset(d.parts[i])) text += "; part " + std::to_string(i) + ": " + in_words(d.parts[i]);
    }
    return text;
}

}  // namespace fuzz
