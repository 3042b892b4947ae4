// A call described by its shape, layout, numbers and masks: laid out in memory, run by any runner, and compared with
// the reference, element by element.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/runner.hpp"
#include "device/space.hpp"
#include "support/data.hpp"

namespace device {

using smx::int64;

// Which axes a mask or bias tensor has; along the others its strides are zero.
enum class form {
    absent,
    query_key,             // [Sq, Sk]
    batch_query_key,       // [B, Sq, Sk] and [B, 1, Sq, Sk]
    batch_head_query_key,  // [B, H, Sq, Sk]
    batch_key,             // [B, 1, 1, Sk]
    head_query_key,        // [1, H, Sq, Sk]
    batch_query            // [B, 1, Sq, 1]: key stride 0
};

inline constexpr form all_forms[] = {form::query_key, form::batch_query_key, form::batch_head_query_key,
                                     form::batch_key, form::head_query_key,  form::batch_query};

struct mask_tensor_layout {
    form axes = form::absent;
    int phase = 0;  // elements after a multiple of 256 bytes
    int gap = 0;    // elements between rows
};

enum class causal_kind { none, top_left, bottom_right, diagonal };
enum class lengths_kind { none, right, left };

// The parts that a family of masks is put together from; absent ones hide nothing.
struct mask_parts {
    causal_kind causal = causal_kind::none;
    int64 diagonal = 0;
    lengths_kind lengths = lengths_kind::none;
    std::vector<int> length_of_batch;  // drawn at random where empty
    mask_tensor_layout flags, hidden_flags, bias, half_bias;
    mask_tensor_layout bits;  // its elements are words; a key stride of 0 is none of its forms
    std::function<bool(int64 b, int64 h, int64 q, int k)>
        flag;  // drawn at random where empty; only of indices the form has
    std::function<double(int64 b, int64 h, int64 q, int k)> added;  // the same, for either bias
    int window = 5;
    int period = 3;
};

// The tensor that says what a family sees.
inline mask_tensor_layout& selecting_tensor(mask_parts& m, family which) {
    switch (which) {
        case family::hidden_flags:
            return m.hidden_flags;
        case family::bits:
        case family::structured_bits:
        case family::either_bits:
            return m.bits;
        default:
            return m.flags;
    }
}
// Whether it alone says so.
inline bool selects_by_tensor(family which) {
    return which == family::flags || which == family::hidden_flags || which == family::bits;
}

struct problem {
    smx::extents shape;
    mask_parts masks;
    support::pattern scores = support::pattern::mild;
    std::function<double(int64 b, int64 h, int64 q, int k)> score;  // instead of the pattern
    smx::strides x_step, y_step;                                    // all zero: packed
    int x_phase = 0, y_phase = 0;                                   // elements after a multiple of 256 bytes
    bool in_place = false;                                          // x is where y is
    bool exact =
        false;  // every buffer ends with its last element: no canaries behind y, compute-sanitizer watches instead
    double factor = 1.0;
    bool factor_on_device = false, factor_per_head = false;
    smx::empty_row when_empty = smx::empty_row::zeros;
    unsigned long long seed = 1;
};

std::string in_words(problem const& p);

// One problem in one space, for the types of one runner.
class execution {
public:
    execution(problem const& p, runner const& r, space& where);
    ~execution();

    // Other scores where the first were, and poison in y again.
    void redraw(unsigned long long seed);
    // A sentence about what failed, or nothing. May be called again: y keeps what it has.
    std::string run();
    smx::status launch() { return launch_on(where_.stream()); }
    smx::status launch_on(void* stream);
    std::string wait_and_download();

    // A sentence about the first wrong element (its row, column, what was got and wanted), or nothing.
    std::string difference() const;
    // The bytes of one row of y.
    std::vector<unsigned char> row(int64 b, int64 h, int64 q) const;
    // y and what surrounds it.
    std::vector<unsigned char> everything() const;
    double value(int64 b, int64 h, int64 q, int k) const;
    // y and what surrounds it is as it was before the first run.
    bool untouched() const;

    call arguments;

private:
    struct images;
    void fill(support::random_stream& random);
    double factor_of_head(int64 h) const;

    problem problem_;
    runner runner_;
    space& where_;
    images* images_;
};

// Runs a problem; a sentence with everything one needs to repeat a failure, or nothing.
std::string check(problem const& p, runner const& r, space& where);

// Masks of a family that between them use every kind of every part.
std::vector<mask_parts> masks_of(family which, smx::extents shape);

}  // namespace device
