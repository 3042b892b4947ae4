// What a tile may do with packs nobody sees, with its factor, with its scores and with the ends of a row: the choices it is made by.
#pragma once
#include "config.hpp"

SMX_BEGIN

// What becomes of packs that no lane can see.
enum class hidden_packs {
    skipped,      // jumped over: a row may see little of itself
    computed,     // as all others
    all_or_none,  // as all others, for masks whose span is the row or nothing: no pack has an end of the span in it
};

// How long the product of scores and factor may wait.
enum class product {
    until_weighed,  // for the exponential, if the factor is one that can
    until_biased,   // for a bias to be added, by one operation: for masks that add, and any factor. What is not loaded is 0 until mask hides it.
};

// What a tile holds once its row is reduced.
enum class kept {
    scores,   // what it held before: any normalisation can follow
    weights,  // exp(score - max), max over the lane's own slots: half the exponentials, and the scale is folded into them; for softmax alone
    stored,   // packs of scores as they lie in memory, for more columns in the registers: the same weights, worked out for the sum and again for
              // the store; for softmax of tensors without biases
    terms,    // numbers that are multiplied and added up, as of a gradient, or what is stored of them: what is not loaded is 0
};

// Where the packs of a tile are that a step is about.
enum class packs_in { all, registers, behind };
// Whether packs that were copied behind the registers have come, or need not have.
enum class copies { there, on_the_way };

// How a GPU works out the exponent of a weight in float.
enum class exponent {
    of_difference,  // (score - max) * slope: the largest score weighs exactly 1
    of_product,     // score * slope - max * slope as one operation: it weighs 1 within a rounding or two of float, for outputs of 16 bits
};

// Where the columns are that no whole pack is left for.
enum class row_ends {
    single,    // in slots of their own, before the first and after the last pack: packs are aligned, and none reaches past the row
    none,      // nowhere: every row is whole packs (whole_rows.hpp)
    in_packs,  // in packs that begin with the row, on a CPU: the last reaches past its end (row/whole_packs.hpp)
};

SMX_END
