// A case as plain numbers, without types or memory: drawn from choices, made simpler step by step, and said in words.
#pragma once

#include <string>
#include <vector>

#include "device/call.hpp"
#include "fuzz/choices.hpp"

namespace fuzz {

using device::storage;
using smx::int64;

// One part of a mask. Those of memory repeat along some axes, and their contents follow from a seed.
enum class part_kind {
    absent,
    causal,
    lengths,
    flags,
    hidden_flags,
    bits,
    hidden_bits,  // in words of 32
    window,       // a user's mask
    predicate,
    bias,
    half_bias,
    slope  // a user's bias
};

struct part {
    part_kind kind = part_kind::absent;
    int64 diagonal = 0;
    bool left = false;  // padding
    bool repeats_batch = false, repeats_heads = false, repeats_queries = false, repeats_keys = false;
    int gap = 0, phase = 0;  // elements between rows, and before the first
    int visible_percent = 50;
    int reach = 3;  // of a window; the period of a predicate
    unsigned long long seed = 1;
};

// The types a mask is put together from, each of some of the parts.
enum class family {
    none,
    causal,    // parts[2]
    one,       // parts[2], any that only hides
    composed,  // both(causal, key_lengths, mask_tensor, mask_bits, bias_tensor): parts 2, 3, 4, 5 and 0
    tree       // both(parts 0, 1, 2, 3, either(4, 5)), parts of any type; 0 and 1 bias
};
inline constexpr int part_count = 6;

// What a call makes of the scores, or of which gradient.
enum class way {
    probabilities,
    kept,  // hidden::keep
    logarithms,
    dropped,
    from_saved,
    from_saved_kept,
    from_scores,
    from_saved_logarithms,
    from_scores_logarithms,
    from_saved_dropped,
    from_saved_summed,             // with bias_gradients
    from_scores_scaled,            // with scale_gradients
    from_scores_summed,            // with both
    from_scores_logarithms_summed  // with both
};
constexpr bool is_backward(way which) { return which >= way::from_saved; }
constexpr bool is_dropped(way which) { return which == way::dropped || which == way::from_saved_dropped; }
constexpr bool is_of_scores(way which) {
    return which == way::from_scores || which == way::from_scores_logarithms ||
           (which >= way::from_scores_scaled && which <= way::from_scores_logarithms_summed);
}
constexpr bool is_of_logarithms(way which) {
    return which == way::logarithms || which == way::from_saved_logarithms || which == way::from_scores_logarithms ||
           which == way::from_scores_logarithms_summed;
}
constexpr bool is_kept(way which) { return which == way::kept || which == way::from_saved_kept; }
constexpr bool sums_biases(way which) { return which >= way::from_saved_summed && which != way::from_scores_scaled; }
constexpr bool sums_scales(way which) { return which >= way::from_scores_scaled; }

// What a case is compiled for. Forward: x and y; backward: y (or scores) in x, dx in y, and dy. The gradient of a bias
// is stored as dx is.
struct signature {
    storage x, y, dy;
    family masks;
    way how;
};
inline bool operator==(signature const& a, signature const& b) {
    return a.x == b.x && a.y == b.y && a.dy == b.dy && a.masks == b.masks && a.how == b.how;
}

enum class order { packed, padded, query_major, reversed, repeats_heads, repeats_batch, repeats_queries };
enum class border { behind, before, offset };  // where memory ends; or neither, at any offset

struct layout {
    order axes = order::packed;
    int gap = 0;
    border side = border::behind;
    int offset = 0;
};

enum class values { mild, peaky, half_hidden, all_hidden, some_nan, some_inf, negative, denormal, huge, equal };
inline constexpr int values_count = 10;
enum class factor_kind { fixed, inverse_root, in_memory, per_head };

struct description {
    signature types{storage::f32, storage::f32, storage::f32, family::none, way::probabilities};
    smx::extents shape{1, 1, 1, 1};
    smx::extents origin{0, 0, 0, 0};  // values are those of a larger tensor, from here on: a smaller case keeps its own
    layout x, y, dy;
    bool in_place = false;
    values scores = values::mild;
    bool every_row = true;    // has such scores; or one in two
    bool special_dy = false;  // some are infinite or NaN
    unsigned long long seed = 1;
    part parts[part_count];
    factor_kind factor_from = factor_kind::fixed;
    double factor = 1;
    smx::empty_row when_empty = smx::empty_row::zeros;
    double drop = 0;
    layout db;  // of the gradient of a bias, and what it is summed over
    bool over_batch = false, over_heads = false, over_queries = false, over_keys = false;
    int64 split = 0;  // the host path runs rows before this one and those behind it by themselves
};

description draw(choices& from, std::vector<signature> const& signatures);

// Simpler cases that differ from it by one step, the largest steps first.
std::vector<description> simpler(description const& d);

std::string in_words(description const& d);

}  // namespace fuzz
