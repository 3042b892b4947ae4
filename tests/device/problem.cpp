// Problems: their memory, their run and the comparison with the reference.
#include "device/problem.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "support/compare.hpp"
#include "support/reference.hpp"

namespace device {

namespace {

using bytes = std::vector<unsigned char>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// All values of a 16-bit type: reading one by arithmetic on doubles is slow.
template <class T>
std::vector<double> const& values_of_bits() {
    static std::vector<double> const table = [] {
        std::vector<double> values(0x10000);
        for (unsigned bits = 0; bits < 0x10000; ++bits) {
            values[bits] = support::stored<T>::value(T{static_cast<unsigned short>(bits)});
        }
        return values;
    }();
    return table;
}

double value_at(storage which, unsigned char const* memory) {
    switch (which) {
        case storage::f16:
            return values_of_bits<smx::half>()[element_at<unsigned short>(memory)];
        case storage::bf16:
            return values_of_bits<smx::bfloat16>()[element_at<unsigned short>(memory)];
        case storage::f32:
            return static_cast<double>(element_at<float>(memory));
        case storage::f64:
            break;
    }
    return element_at<double>(memory);
}

void put(storage which, unsigned char* memory, double value) {
    with_type(which, [&](auto example) {
        auto const element = support::stored<decltype(example)>::make(value);
        std::memcpy(memory, &element, sizeof element);
    });
}

// Scores drawn beforehand, as they are stored: drawing every one anew takes most of a test's time. Patterns that depend
// on the column are not among them.
unsigned char const* drawn_scores(storage which, support::pattern pattern, std::size_t& count) {
    static std::map<std::pair<storage, support::pattern>, bytes> pools;
    static std::mutex mutex;
    count = 16411;  // a prime
    std::lock_guard<std::mutex> const lock(mutex);
    bytes& pool = pools[{which, pattern}];
    if (pool.empty()) {
        with_type(which, [&](auto example) {
            support::random_stream random(7);
            pool.resize(count * sizeof example);
            for (std::size_t at = 0; at < count; ++at) {
                auto const score = support::make_score<decltype(example)>(pattern, random, 0, false);
                std::memcpy(pool.data() + at * sizeof score, &score, sizeof score);
            }
        });
    }
    return pool.data();
}

bool is_poison(unsigned char const* memory, int size) {
    return std::all_of(memory, memory + size, [](unsigned char byte) { return byte == 0xff; });
}

unsigned char canary(std::size_t at) { return static_cast<unsigned char>(0xa5U ^ (at * 29U)); }

// A tensor's memory, and where in it element (0, 0, 0, 0) is.
struct image {
    bytes memory;
    int64 origin = 0;  // bytes
    smx::strides step;
    int element = 1;  // bytes

    std::size_t at(int64 b, int64 h, int64 q, int64 k) const {
        return static_cast<std::size_t>(origin +
                                        (b * step.batch + h * step.head + q * step.query + k * step.key) * element);
    }
    unsigned char* pointer(int64 b, int64 h, int64 q, int64 k) { return memory.data() + at(b, h, q, k); }
    unsigned char const* pointer(int64 b, int64 h, int64 q, int64 k) const { return memory.data() + at(b, h, q, k); }
};

image blank(smx::extents shape, smx::strides step, int element, int64 bytes_before, int64 bytes_behind) {
    image result;
    result.step = step;
    result.element = element;
    if (step.key == 0) shape.keys = 1;
    if (shape.batch == 0 || shape.heads == 0 || shape.queries == 0 || shape.keys == 0) return result;
    int64 low = 0, high = 0;
    int64 const ends[] = {(shape.batch - 1) * step.batch, (shape.heads - 1) * step.head,
                          (shape.queries - 1) * step.query, (shape.keys - 1) * step.key};
    for (int64 end : ends) (end < 0 ? low : high) += end;
    result.origin = bytes_before - low * element;
    result.memory.assign(static_cast<std::size_t>(bytes_before + (high - low + 1) * element + bytes_behind), 0xff);
    return result;
}

bool is_given(smx::strides step) { return step.batch != 0 || step.head != 0 || step.query != 0 || step.key != 0; }
smx::strides or_packed(smx::strides step, smx::extents shape) {
    return is_given(step) ? step : smx::packed_strides(shape);
}

smx::strides strides_of(mask_tensor_layout const& layout, smx::extents shape) {
    int64 const pitch = shape.keys + layout.gap;
    switch (layout.axes) {
        case form::absent:
            return {0, 0, 0, 0};
        case form::query_key:
            return {0, 0, pitch, 1};
        case form::batch_query_key:
            return {shape.queries * pitch, 0, pitch, 1};
        case form::batch_head_query_key:
            return {shape.heads * shape.queries * pitch, shape.queries * pitch, pitch, 1};
        case form::batch_key:
            return {pitch, 0, 0, 1};
        case form::head_query_key:
            return {0, shape.queries * pitch, pitch, 1};
        case form::batch_query:
            break;
    }
    return {shape.queries, 0, 1, 0};
}

// Extents of a tensor along the axes that do not repeat.
smx::extents distinct(smx::extents shape, smx::strides step) {
    return {step.batch == 0 ? 1 : shape.batch, step.head == 0 ? 1 : shape.heads, step.query == 0 ? 1 : shape.queries,
            step.key == 0 ? 1 : shape.keys};
}

template <class Visit>
void for_each_row(smx::extents shape, Visit&& visit) {
    for (int64 b = 0; b < shape.batch; ++b) {
        for (int64 h = 0; h < shape.heads; ++h) {
            for (int64 q = 0; q < shape.queries; ++q) visit(b, h, q);
        }
    }
}

// Rows of all kinds: whatever is drawn a row at a time also has rows where all is the same.
enum class row_mix { all, nothing, some };
row_mix draw_mix(support::random_stream& random) {
    int const draw = random.below(10);
    return draw == 0 ? row_mix::all : draw == 1 ? row_mix::nothing : row_mix::some;
}

// Whether a mask tensor shows a column: drawn, unless the problem says.
bool draw_visible(row_mix mix, mask_tensor_layout const& layout, problem const& p, int64 b, int64 h, int64 q, int64 k,
                  support::random_stream& random) {
    bool const drawn = mix == row_mix::all || (mix == row_mix::some && random.coin());
    if (layout.axes == form::absent) return true;
    return p.masks.flag ? p.masks.flag(b, h, q, static_cast<int>(k)) : drawn;
}

image flag_image(mask_tensor_layout const& layout, problem const& p, bool nonzero_is_visible, unsigned long long seed) {
    smx::strides const step = strides_of(layout, p.shape);
    image result = blank(p.shape, step, 1, layout.phase, p.exact ? 0 : 64);
    if (result.memory.empty()) return result;
    support::random_stream random(seed);
    for (unsigned char& flag : result.memory)
        flag = static_cast<unsigned char>(random.bits());  // gaps: nobody asks them
    smx::extents const own = distinct(p.shape, step);
    for_each_row(own, [&](int64 b, int64 h, int64 q) {
        row_mix const mix = draw_mix(random);
        for (int64 k = 0; k < own.keys; ++k) {
            bool const visible = draw_visible(mix, layout, p, b, h, q, k, random);
            // Nonzero is any value but 0.
            *result.pointer(b, h, q, k) =
                visible == nonzero_is_visible ? static_cast<unsigned char>(1 << random.below(8)) : 0;
        }
    });
    return result;
}

// Bits in words of that many bytes, set for visible columns or for hidden ones.
image bit_image(mask_tensor_layout const& layout, problem const& p, int word, bool set_is_visible,
                unsigned long long seed) {
    smx::extents shape = p.shape;
    shape.keys = (shape.keys + 8 * word - 1) / (8 * word);
    smx::strides step = strides_of(layout, shape);
    step.key = 1;
    image result = blank(shape, step, word, layout.phase * word, p.exact ? 0 : 64);
    if (result.memory.empty()) return result;
    support::random_stream random(seed);
    for (unsigned char& byte : result.memory)
        byte = static_cast<unsigned char>(random.bits());  // gaps, and what lies behind the keys of a row
    smx::extents const own = distinct(p.shape, step);
    for_each_row(own, [&](int64 b, int64 h, int64 q) {
        row_mix const mix = draw_mix(random);
        for (int64 k = 0; k < own.keys; ++k) {
            bool const visible = draw_visible(mix, layout, p, b, h, q, k, random);
            unsigned char& byte = result.pointer(b, h, q, 0)[k / 8];
            unsigned const bit = 1U << (k % 8);
            byte = static_cast<unsigned char>(visible == set_is_visible ? byte | bit : byte & ~bit);
        }
    });
    return result;
}

image bias_image(mask_tensor_layout const& layout, problem const& p, storage type, unsigned long long seed) {
    smx::strides const step = strides_of(layout, p.shape);
    int const element = bytes_of(type);
    image result = blank(p.shape, step, element, layout.phase * element, p.exact ? 0 : 64);  // gaps are NaN
    if (result.memory.empty()) return result;
    support::random_stream random(seed);
    smx::extents const own = distinct(p.shape, step);
    for_each_row(own, [&](int64 b, int64 h, int64 q) {
        row_mix const mix = draw_mix(random);
        for (int64 k = 0; k < own.keys; ++k) {
            double value = random.normal();
            if (mix == row_mix::nothing || (mix == row_mix::some && random.coin(0.2))) value = -infinity;
            if (layout.axes == form::absent) {
                value = 0.0;
            } else if (p.masks.added) {
                value = p.masks.added(b, h, q, static_cast<int>(k));
            }
            put(type, result.pointer(b, h, q, k), value);
        }
    });
    return result;
}

std::string in_words(mask_tensor_layout const& layout, char const* name) {
    char const* axes = "";
    switch (layout.axes) {
        case form::absent:
            return {};
        case form::query_key:
            axes = "[Sq,Sk]";
            break;
        case form::batch_query_key:
            axes = "[B,1,Sq,Sk]";
            break;
        case form::batch_head_query_key:
            axes = "[B,H,Sq,Sk]";
            break;
        case form::batch_key:
            axes = "[B,1,1,Sk]";
            break;
        case form::head_query_key:
            axes = "[1,H,Sq,Sk]";
            break;
        case form::batch_query:
            axes = "[B,1,Sq,1]";
            break;
    }
    std::string text = std::string(", ") + name + " " + axes;
    if (layout.phase != 0) text += " phase " + std::to_string(layout.phase);
    if (layout.gap != 0) text += " gap " + std::to_string(layout.gap);
    return text;
}

std::string in_words(smx::strides step) {
    return "{" + std::to_string(step.batch) + ", " + std::to_string(step.head) + ", " + std::to_string(step.query) +
           ", " + std::to_string(step.key) + "}";
}

std::string in_words(smx::status const& s) {
    char text[256];
    smx::message(s, text, sizeof text);
    return text;
}

}  // namespace

std::string in_words(problem const& p) {
    std::string text = "[" + std::to_string(p.shape.batch) + ", " + std::to_string(p.shape.heads) + ", " +
                       std::to_string(p.shape.queries) + ", " + std::to_string(p.shape.keys) + "], " +
                       (p.score ? "given" : support::name_of(p.scores)) + " scores, factor " +
                       support::in_words(p.factor);
    if (p.factor_per_head) {
        text += " a head";
    } else if (p.factor_on_device) {
        text += " in memory";
    }
    if (is_given(p.x_step)) text += ", x strides " + in_words(p.x_step);
    if (is_given(p.y_step)) text += ", y strides " + in_words(p.y_step);
    if (p.x_phase != 0) text += ", x phase " + std::to_string(p.x_phase);
    if (p.y_phase != 0) text += ", y phase " + std::to_string(p.y_phase);
    if (p.in_place) text += ", in place";
    if (p.when_empty == smx::empty_row::uniform) text += ", empty rows uniform";
    if (p.when_empty == smx::empty_row::nan) text += ", empty rows NaN";
    mask_parts const& m = p.masks;
    if (m.causal == causal_kind::top_left) text += ", causal top left";
    if (m.causal == causal_kind::bottom_right) text += ", causal bottom right";
    if (m.causal == causal_kind::diagonal) text += ", causal diagonal " + std::to_string(m.diagonal);
    if (m.lengths == lengths_kind::right) text += ", padded right";
    if (m.lengths == lengths_kind::left) text += ", padded left";
    text += in_words(m.flags, "mask") + in_words(m.hidden_flags, "hidden_where") + in_words(m.bits, "bits") +
            in_words(m.bias, "bias") + in_words(m.half_bias, "half bias");
    return text + ", seed " + std::to_string(p.seed);
}

struct execution::images {
    image x, y, flags, hidden_flags, bits, bias, half_bias;
    std::vector<int> lengths;
    std::vector<float> factors;
    bytes sums;
    std::size_t sums_origin = 0;
    bytes x_before, y_before;

    std::unique_ptr<placed> x_at, y_at, flags_at, hidden_flags_at, bits_at, bias_at, half_bias_at, lengths_at,
        factors_at, sums_at;
};

namespace {

// What a row can see, from the description alone.
class visibility {
public:
    visibility(problem const& p, family masks, image const& flags, image const& hidden_flags, image const& bits,
               image const& bias, image const& half_bias, std::vector<int> const& lengths)
        : p_(p),
          family_(masks),
          flags_(flags),
          hidden_flags_(hidden_flags),
          bits_(bits),
          bias_(bias),
          half_bias_(half_bias),
          lengths_(lengths) {}

    // By the mask's selection, biases aside.
    bool selects(int64 b, int64 h, int64 q, int k) const {
        switch (family_) {
            case family::none:
            case family::bias:
            case family::half_bias:
                return true;
            case family::either_of:
                return in_length(b, k) || flag(b, h, q, k) || in_window(q, k);
            case family::either_bits:
                return in_length(b, k) || !bit(b, h, q, k);
            case family::two_ends:
                return in_triangle(q, k) || in_length(b, k);
            case family::written:
                return k <= q * p_.shape.keys / p_.shape.queries;
            case family::predicate:
                return p_.masks.period == 0 || (h + q + k) % p_.masks.period != 0;
            case family::hidden_flags:
                return *hidden_flags_.pointer(b, h, q, k) == 0;
            case family::flags:
                return flag(b, h, q, k);
            case family::bits:
                return bit(b, h, q, k);
            case family::causal:
                return in_triangle(q, k);
            case family::lengths:
                return in_length(b, k);
            case family::structured:
                return in_triangle(q, k) && in_length(b, k);
            case family::structured_bits:
                return in_triangle(q, k) && in_length(b, k) && bit(b, h, q, k);
            case family::composed:
                break;
        }
        return in_triangle(q, k) && in_length(b, k) && flag(b, h, q, k);
    }

    double bias(int64 b, int64 h, int64 q, int k) const {
        switch (family_) {
            case family::bias:
            case family::composed:
                return value_at(storage::f32, bias_.pointer(b, h, q, k));
            case family::half_bias:
            case family::two_ends:
                return value_at(storage::f16, half_bias_.pointer(b, h, q, k));
            case family::written:
                return -0.125 * static_cast<double>(h + 1) * (k % 64);
            default:
                return 0.0;
        }
    }

    bool sees(int64 b, int64 h, int64 q, int k) const { return selects(b, h, q, k) && bias(b, h, q, k) != -infinity; }

    // Whether hidden::keep leaves this column: it lies outside what the mask's structure can show.
    bool keeps(int64 b, int64, int64 q, int k) const { return !in_triangle(q, k) || !in_length(b, k); }

private:
    bool in_triangle(int64 q, int k) const {
        mask_parts const& m = p_.masks;
        if (m.causal == causal_kind::none) return true;
        int64 const offset = m.causal == causal_kind::top_left       ? 0
                             : m.causal == causal_kind::bottom_right ? p_.shape.keys - p_.shape.queries
                                                                     : m.diagonal;
        return k <= q + offset;
    }
    bool in_length(int64 b, int k) const {
        if (p_.masks.lengths == lengths_kind::none) return true;
        int const length = lengths_[static_cast<std::size_t>(b)];
        return p_.masks.lengths == lengths_kind::right ? k < length : k >= p_.shape.keys - length;
    }
    bool flag(int64 b, int64 h, int64 q, int k) const { return *flags_.pointer(b, h, q, k) != 0; }
    bool bit(int64 b, int64 h, int64 q, int k) const {
        unsigned const byte = bits_.pointer(b, h, q, 0)[k / 8];
        return (byte >> (k % 8) & 1U) != 0;
    }
    bool in_window(int64 q, int k) const {
        int64 const place = q * p_.shape.keys / p_.shape.queries;
        return k >= place - p_.masks.window && k < place + p_.masks.window && k % 3 != 1;
    }

    problem const& p_;
    family family_;
    image const& flags_;
    image const& hidden_flags_;
    image const& bits_;
    image const& bias_;
    image const& half_bias_;
    std::vector<int> const& lengths_;
};

template <class T>
bytes bytes_of_all(std::vector<T> const& values) {
    bytes result(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(result.data(), values.data(), result.size());
    return result;
}

}  // namespace

execution::execution(problem const& p, runner const& r, space& where)
    : problem_(p), runner_(r), where_(where), images_(new images) {
    images& i = *images_;
    smx::extents const shape = p.shape;
    auto const rows = static_cast<std::size_t>(shape.batch * shape.heads * shape.queries);
    int64 const margin = p.exact ? 0 : 256;
    support::random_stream random(p.seed);

    for (int64 b = 0; b < shape.batch; ++b) {
        int const keys = static_cast<int>(shape.keys);
        int const draw = random.below(8);
        int length = draw == 0 ? 0 : draw == 1 ? keys : draw == 2 ? keys + 7 : draw == 3 ? -3 : random.below(keys + 1);
        if (!p.masks.length_of_batch.empty()) length = p.masks.length_of_batch[static_cast<std::size_t>(b)];
        i.lengths.push_back(p.masks.lengths == lengths_kind::none ? INT_MAX : length);
    }
    for (int64 h = 0; h < std::max<int64>(shape.heads, 1); ++h) {
        double const number =
            p.factor_per_head ? p.factor * static_cast<double>(h + 1) * (h % 2 == 0 ? 1.0 : -1.0) : p.factor;
        i.factors.push_back(static_cast<float>(number));
    }
    i.flags = flag_image(p.masks.flags, p, true, random.bits());
    i.hidden_flags = flag_image(p.masks.hidden_flags, p, false, random.bits());
    i.bias = bias_image(p.masks.bias, p, storage::f32, random.bits());
    i.half_bias = bias_image(p.masks.half_bias, p, storage::f16, random.bits());
    bool const bits_hide = r.masks == family::either_bits;
    i.bits = bit_image(p.masks.bits, p, bits_hide ? int{sizeof(unsigned)} : 1, !bits_hide, random.bits());

    // What lies round the elements of x and y is not theirs: NaN, and canaries.
    smx::strides const y_step = or_packed(p.y_step, shape), x_step = p.in_place ? y_step : or_packed(p.x_step, shape);
    i.y = blank(shape, y_step, bytes_of(r.y), margin + p.y_phase * bytes_of(r.y), margin);
    i.x = blank(shape, x_step, bytes_of(r.x), margin + p.x_phase * bytes_of(r.x), margin);
    if (r.log_sum_exp != sums::none) {
        i.sums_origin = static_cast<std::size_t>(margin);
        i.sums.resize(2 * i.sums_origin + rows * (r.log_sum_exp == sums::in_float ? 4 : 8));
    }
    fill(random);

    auto const place = [&](bytes const& memory) { return std::make_unique<placed>(where, memory); };
    if (!p.in_place) i.x_at = place(i.x.memory);
    i.y_at = place(i.y.memory);
    i.flags_at = place(i.flags.memory);
    i.hidden_flags_at = place(i.hidden_flags.memory);
    i.bits_at = place(i.bits.memory);
    i.bias_at = place(i.bias.memory);
    i.half_bias_at = place(i.half_bias.memory);
    i.lengths_at = place(bytes_of_all(i.lengths));
    i.factors_at = place(bytes_of_all(i.factors));
    i.sums_at = place(i.sums);

    auto const at_origin = [](placed const& memory, image const& tensor) -> unsigned char* {
        return memory.data() == nullptr ? nullptr : memory.data() + tensor.origin;
    };
    call& c = arguments;
    c.shape = shape;
    c.x_step = x_step;
    c.y_step = y_step;
    c.y = at_origin(*i.y_at, i.y);
    c.x = p.in_place ? c.y : at_origin(*i.x_at, i.x);
    c.factor.fixed = smx::fixed_scale(p.factor);
    bool const in_memory = p.factor_on_device || p.factor_per_head;
    c.factor.data = in_memory ? reinterpret_cast<float const*>(i.factors_at->data()) : nullptr;
    c.factor.per_head = p.factor_per_head;
    if (p.masks.causal == causal_kind::top_left) c.causal = smx::causal_mask::top_left();
    if (p.masks.causal == causal_kind::bottom_right) c.causal = smx::causal_mask::bottom_right();
    if (p.masks.causal == causal_kind::diagonal) c.causal = smx::causal_mask::diagonal(p.masks.diagonal);
    c.lengths = smx::key_lengths(reinterpret_cast<int const*>(i.lengths_at->data()),
                                 p.masks.lengths == lengths_kind::left ? smx::padding::left : smx::padding::right);
    c.flags = smx::mask_tensor(at_origin(*i.flags_at, i.flags), i.flags.step);
    c.hidden_flags = smx::hidden_where(at_origin(*i.hidden_flags_at, i.hidden_flags), i.hidden_flags.step);
    c.bits = smx::mask_bits(at_origin(*i.bits_at, i.bits), i.bits.step);
    c.hidden_bits = smx::hidden_bits(reinterpret_cast<unsigned const*>(at_origin(*i.bits_at, i.bits)), i.bits.step);
    c.bias = smx::bias_tensor(reinterpret_cast<float const*>(at_origin(*i.bias_at, i.bias)), i.bias.step);
    c.half_bias =
        smx::bias_tensor(reinterpret_cast<smx::half const*>(at_origin(*i.half_bias_at, i.half_bias)), i.half_bias.step);
    c.window = p.masks.window;
    c.period = p.masks.period;
    c.when_empty = p.when_empty;
    c.log_sum_exp = i.sums_at->data() == nullptr ? nullptr : i.sums_at->data() + i.sums_origin;
}

// Scores where a row sees them, poison in all that is to be written, or read by nobody.
void execution::fill(support::random_stream& random) {
    images& i = *images_;
    problem const& p = problem_;
    runner const& r = runner_;
    smx::extents const shape = p.shape;
    int const y_element = bytes_of(r.y), x_element = bytes_of(r.x);

    for (std::size_t at = 0; at < i.y.memory.size(); ++at) i.y.memory[at] = canary(at);
    for_each_row(shape, [&](int64 b, int64 h, int64 q) {
        for (int64 k = 0; k < shape.keys; ++k)
            std::memset(i.y.pointer(b, h, q, k), 0xff, static_cast<std::size_t>(y_element));
    });

    std::fill(i.x.memory.begin(), i.x.memory.end(), static_cast<unsigned char>(0xff));
    visibility const mask(p, r.masks, i.flags, i.hidden_flags, i.bits, i.bias, i.half_bias, i.lengths);
    smx::extents const own = distinct(shape, i.x.step);
    std::vector<bool> seen(i.x.memory.size());
    for_each_row(shape, [&](int64 b, int64 h, int64 q) {
        for (int k = 0; k < shape.keys; ++k) {
            if (mask.sees(b, h, q, k)) seen[i.x.at(b, h, q, k)] = true;
        }
    });
    std::size_t pool_size = 0;
    unsigned char const* const pool = drawn_scores(r.x, p.scores, pool_size);
    auto const element = static_cast<std::size_t>(x_element);
    for_each_row(own, [&](int64 b, int64 h, int64 q) {
        if (shape.keys == 0) return;
        int const special = random.below(static_cast<int>(shape.keys));
        std::size_t next = random.bits() % pool_size;
        for (int k = 0; k < shape.keys; ++k, next = next + 1 == pool_size ? 0 : next + 1) {
            if (!seen[i.x.at(b, h, q, k)]) continue;
            unsigned char* const at = i.x.pointer(b, h, q, k);
            std::memcpy(at, pool + next * element, element);
            if (p.score) {
                put(r.x, at, p.score(b, h, q, k));
            } else if (p.scores == support::pattern::negative) {
                put(r.x, at, -100.0 - k);
            } else if (k == special && p.scores == support::pattern::with_nan) {
                put(r.x, at, nan);
            } else if (k == special && p.scores == support::pattern::with_inf) {
                put(r.x, at, infinity);
            }
        }
    });
    if (p.in_place && !i.y.memory.empty()) {
        for_each_row(shape, [&](int64 b, int64 h, int64 q) {
            std::memcpy(i.y.pointer(b, h, q, 0), i.x.pointer(b, h, q, 0),
                        static_cast<std::size_t>(shape.keys * x_element));
        });
    }

    for (std::size_t at = 0; at < i.sums.size(); ++at) {
        bool const is_sum = at >= i.sums_origin && at < i.sums.size() - i.sums_origin;
        i.sums[at] = is_sum ? static_cast<unsigned char>(0xff) : canary(at);
    }
    i.x_before = i.x.memory;
    i.y_before = i.y.memory;
}

void execution::redraw(unsigned long long seed) {
    support::random_stream random(seed);
    fill(random);
    auto const refresh = [&](std::unique_ptr<placed> const& to, bytes const& from) {
        if (to && !from.empty()) where_.upload(to->data(), from.data(), from.size());
    };
    refresh(images_->x_at, images_->x.memory);
    refresh(images_->y_at, images_->y.memory);
    refresh(images_->sums_at, images_->sums);
}

execution::~execution() { delete images_; }

smx::status execution::launch_on(void* stream) { return runner_.run(stream, arguments); }

std::string execution::wait_and_download() {
    std::string const failure = where_.finish();
    if (!failure.empty()) return failure;
    images_->y.memory = images_->y_at->contents();
    images_->sums = images_->sums_at->contents();
    if (!problem_.in_place) images_->x.memory = images_->x_at->contents();
    return where_.finish();
}

std::string execution::run() {
    std::string const failure = where_.finish();  // what was uploaded has arrived
    if (!failure.empty()) return "before the launch: " + failure;
    if (smx::status const s = launch(); !s) return "refused: " + in_words(s);
    return wait_and_download();
}

bool execution::untouched() const { return images_->y.memory == images_->y_before; }

std::vector<unsigned char> execution::row(int64 b, int64 h, int64 q) const {
    auto const begin = images_->y.memory.begin() + static_cast<std::ptrdiff_t>(images_->y.at(b, h, q, 0));
    return {begin, begin + static_cast<std::ptrdiff_t>(problem_.shape.keys * images_->y.element)};
}

std::vector<unsigned char> execution::everything() const { return images_->y.memory; }

double execution::value(int64 b, int64 h, int64 q, int k) const {
    return value_at(runner_.y, images_->y.pointer(b, h, q, k));
}

double execution::factor_of_head(int64 h) const {
    if (problem_.factor_per_head) return static_cast<double>(images_->factors[static_cast<std::size_t>(h)]);
    bool const in_float = problem_.factor_on_device || runner_.x != storage::f64;
    return in_float ? static_cast<double>(static_cast<float>(problem_.factor)) : problem_.factor;
}

std::string execution::difference() const {
    images const& i = *images_;
    smx::extents const shape = problem_.shape;
    int const keys = static_cast<int>(shape.keys);
    if (!problem_.in_place && i.x.memory != i.x_before) return "wrote to x";

    // Outside the elements of y nothing may change.
    std::vector<bool> is_element(i.y.memory.size());
    for_each_row(shape, [&](int64 b, int64 h, int64 q) {
        for (int k = 0; k < keys; ++k) is_element[i.y.at(b, h, q, k)] = true;
    });
    for (std::size_t at = 0; at < i.y.memory.size();) {
        if (is_element[at]) {
            at += static_cast<std::size_t>(i.y.element);
        } else if (i.y.memory[at] != i.y_before[at]) {
            return "wrote outside y, " + std::to_string(static_cast<int64>(at) - i.y.origin) +
                   " bytes from its first element";
        } else {
            ++at;
        }
    }
    std::size_t const sum_size = runner_.log_sum_exp == sums::in_float ? 4 : 8;
    for (std::size_t at = 0; at < i.sums_origin && !i.sums.empty(); ++at) {
        std::size_t const behind = i.sums.size() - 1 - at;
        if (i.sums[at] != canary(at) || i.sums[behind] != canary(behind)) return "wrote outside log_sum_exp";
    }

    support::arithmetic const type =
        runner_.x == storage::f64 ? support::arithmetic::in_double : support::arithmetic::in_float;
    support::empty_gives const rule = problem_.when_empty == smx::empty_row::zeros ? support::empty_gives::zeros
                                      : problem_.when_empty == smx::empty_row::nan ? support::empty_gives::nan
                                                                                   : support::empty_gives::uniform;
    visibility const mask(problem_, runner_.masks, i.flags, i.hidden_flags, i.bits, i.bias, i.half_bias, i.lengths);
    bool const keeps = runner_.hidden == smx::hidden::keep;

    auto const difference_in = [&](int64 index) -> std::string {
        int64 const q = index % shape.queries, h = index / shape.queries % shape.heads,
                    b = index / shape.queries / shape.heads;
        auto const here = [&](std::string const& sentence) {
            return "row (" + std::to_string(b) + ", " + std::to_string(h) + ", " + std::to_string(q) + "), " + sentence;
        };
        support::reference_row const want = support::softmax_reference(
            keys,
            [&](int k) {
                std::size_t const at = problem_.in_place ? i.y.at(b, h, q, k) : i.x.at(b, h, q, k);
                return value_at(runner_.x, (problem_.in_place ? i.y_before : i.x_before).data() + at);
            },
            factor_of_head(h), [&](int k) { return mask.bias(b, h, q, k); },
            [&](int k) { return mask.selects(b, h, q, k); }, rule, type);

        if (i.sums_at->data() != nullptr) {
            unsigned char const* const at = i.sums.data() + i.sums_origin + static_cast<std::size_t>(index) * sum_size;
            double const got = value_at(sum_size == 4 ? storage::f32 : storage::f64, at);
            if (is_poison(at, static_cast<int>(sum_size))) return here("log-sum-exp: not written");
            double const sum =
                sum_size == 4 ? support::held(want.log_sum_exp, support::arithmetic::in_float) : want.log_sum_exp;
            std::string const sentence =
                support::difference_of("log-sum-exp", got, sum, want.largest_score + std::fabs(want.log_sum_exp),
                                       sum_size == 4 ? support::arithmetic::in_float : type, keys);
            if (!sentence.empty()) return here(sentence);
        }

        auto const kept = [&](int k) {
            return keeps && (want.kind == support::row_kind::empty || mask.keeps(b, h, q, k));
        };
        for (int k = 0; k < keys; ++k) {
            bool const poisoned = is_poison(i.y.pointer(b, h, q, k), i.y.element);
            if (kept(k) ? std::memcmp(i.y.pointer(b, h, q, k), i.y_before.data() + i.y.at(b, h, q, k),
                                      static_cast<std::size_t>(i.y.element)) != 0
                        : poisoned && !problem_.in_place) {
                return here("column " + std::to_string(k) + ": " +
                            (kept(k) ? "written, got " + support::in_words(value(b, h, q, k)) + ", want what was there"
                                     : "not written, want " + support::in_words(want.y[static_cast<std::size_t>(k)])));
            }
        }
        if (keeps && want.kind == support::row_kind::empty) return {};
        std::string const sentence = with_type(runner_.y, [&](auto example) {
            using type_of_y = decltype(example);
            return support::difference<type_of_y>(
                want,
                [&](int k) {
                    return kept(k) ? support::stored<type_of_y>::make(0.0)
                                   : element_at<type_of_y>(i.y.pointer(b, h, q, k));
                },
                type);
        });
        return sentence.empty() ? sentence : here(sentence);
    };

    // The first wrong row, found by several threads where there is much to compare.
    int64 const rows = shape.batch * shape.heads * shape.queries;
    int64 const wanted = 1 + rows * shape.keys / 40000;
    int64 const threads = std::min({wanted, rows, int64{std::thread::hardware_concurrency()}, int64{8}});
    std::vector<std::string> sentences(static_cast<std::size_t>(std::max<int64>(threads, 1)));
    auto const share = [&](int64 number) {
        std::string& sentence = sentences[static_cast<std::size_t>(number)];
        int64 const last = rows * (number + 1) / std::max<int64>(threads, 1);
        for (int64 index = rows * number / std::max<int64>(threads, 1); index < last && sentence.empty(); ++index)
            sentence = difference_in(index);
    };
    std::vector<std::thread> others;
    for (int64 number = 1; number < threads; ++number) others.emplace_back(share, number);
    share(0);
    for (std::thread& other : others) other.join();
    for (std::string const& sentence : sentences) {
        if (!sentence.empty()) return sentence;
    }
    return {};
}

std::string check(problem const& p, runner const& r, space& where) {
    execution one(p, r, where);
    std::string sentence = one.run();
    if (sentence.empty()) sentence = one.difference();
    return sentence.empty() ? sentence : sentence + "\n  " + name_of(r) + "\n  " + in_words(p);
}

std::vector<mask_parts> masks_of(family which, smx::extents shape) {
    std::vector<mask_parts> all;
    auto const diagonals = [&](auto&& add) {
        mask_parts m;
        m.causal = causal_kind::top_left;
        add(m);
        m.causal = causal_kind::bottom_right;
        add(m);
        m.causal = causal_kind::diagonal;
        for (int64 diagonal : {int64{0}, shape.keys / 2, int64{-1}, -shape.queries, shape.keys}) {
            m.diagonal = diagonal;
            add(m);
        }
    };
    auto const paddings = [&](mask_parts m, auto&& add) {
        m.lengths = lengths_kind::right;
        add(m);
        m.lengths = lengths_kind::left;
        add(m);
    };
    auto const tensors = [&](auto&& add) {
        int number = 0;
        for (form axes : all_forms) {
            add(mask_tensor_layout{axes, number % 3 == 0 ? 0 : number, number % 2 == 0 ? 0 : 3});
            ++number;
        }
    };
    auto const bits = [&](auto&& add) {
        tensors([&](mask_tensor_layout const& layout) {
            mask_parts m;
            m.bits = layout;
            if (layout.axes != form::batch_query) add(m);
        });
    };
    auto const keep = [&](mask_parts const& m) { all.push_back(m); };

    switch (which) {
        case family::none:
        case family::written:
            all.push_back({});
            break;
        case family::causal:
            diagonals(keep);
            break;
        case family::lengths:
            paddings({}, keep);
            break;
        case family::flags:
        case family::hidden_flags:
        case family::bias:
        case family::half_bias:
            tensors([&](mask_tensor_layout const& layout) {
                mask_parts m;
                (which == family::flags          ? m.flags
                 : which == family::hidden_flags ? m.hidden_flags
                 : which == family::bias         ? m.bias
                                                 : m.half_bias) = layout;
                all.push_back(m);
            });
            break;
        case family::bits:
            bits(keep);
            break;
        case family::structured_bits:
            all.push_back({});
            diagonals([&](mask_parts m) {
                m.bits = {form::query_key, 3, 1};
                paddings(m, keep);
            });
            bits([&](mask_parts m) {
                m.causal = causal_kind::bottom_right;
                all.push_back(m);
                paddings(m, keep);
            });
            break;
        case family::either_bits:
            bits([&](mask_parts const& m) { paddings(m, keep); });
            break;
        case family::structured:
            all.push_back({});
            diagonals(keep);
            paddings({}, keep);
            diagonals([&](mask_parts const& m) { paddings(m, keep); });
            break;
        case family::composed:
            all.push_back({});
            diagonals([&](mask_parts const& m) { paddings(m, keep); });
            tensors([&](mask_tensor_layout const& layout) {
                mask_parts m;
                m.flags = layout;
                all.push_back(m);
                m.bias = layout;
                all.push_back(m);
                m.causal = causal_kind::bottom_right;
                paddings(m, keep);
            });
            break;
        case family::either_of:
            all.push_back({});
            tensors([&](mask_tensor_layout const& layout) {
                mask_parts m;
                m.flags = layout;
                paddings(m, keep);
            });
            break;
        case family::two_ends:
            diagonals([&](mask_parts const& m) { paddings(m, keep); });
            tensors([&](mask_tensor_layout const& layout) {
                mask_parts m;
                m.half_bias = layout;
                m.causal = causal_kind::top_left;
                paddings(m, keep);
            });
            break;
        case family::predicate:
            for (int period : {0, 1, 2, 3, 7}) {
                mask_parts m;
                m.period = period;
                all.push_back(m);
            }
            break;
    }
    return all;
}

}  // namespace device
