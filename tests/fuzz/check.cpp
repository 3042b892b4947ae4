// A case in memory, its run by everything that can run it, and the comparison with the reference.
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>

#include "fuzz/call.hpp"
#include "support/compare.hpp"
#include "support/dropout_reference.hpp"
#include "support/gradient.hpp"
#include "support/guarded_buffer.hpp"
#include "support/logarithms.hpp"
#include "support/mask_cases.hpp"
#include "support/sums_reference.hpp"

namespace fuzz {

namespace {

using device::element_at;
using device::with_type;
using bytes = std::vector<unsigned char>;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double value_at(storage which, unsigned char const* memory) {
    return with_type(which, [&](auto example) {
        return support::stored<decltype(example)>::value(element_at<decltype(example)>(memory));
    });
}

void put(storage which, unsigned char* memory, double value) {
    with_type(which, [&](auto example) {
        auto const element = support::stored<decltype(example)>::make(value);
        std::memcpy(memory, &element, sizeof element);
    });
}

double rounded(storage which, double value) {
    return with_type(which, [&](auto example) {
        using stored = support::stored<decltype(example)>;
        return stored::value(stored::make(value));
    });
}

// Where a value is, in the tensor that the case's tensors are a part of; 0 along axes that repeat.
struct place {
    int64 b, h, q, k;
};

unsigned long long mixed(unsigned long long seed, place const& at) {
    unsigned long long state = seed;
    for (int64 index : {at.b, at.h, at.q, at.k})
        state = support::random_stream(state ^ static_cast<unsigned long long>(index) * 0x9e3779b97f4a7c15ULL).bits();
    return state;
}

// Memory of exactly so many bytes: beside what cannot be touched, or with canaries on both sides.
class memory_block {
public:
    memory_block(std::size_t size, border side, std::size_t offset)
        : fenced_(side == border::offset
                      ? nullptr
                      : std::make_unique<support::fenced_buffer<unsigned char>>(
                            size, side == border::before ? support::fence::before : support::fence::behind)),
          guarded_(side != border::offset ? nullptr
                                          : std::make_unique<support::guarded_buffer<unsigned char>>(size, offset)),
          side_(side),
          size_(size) {}

    border side() const { return side_; }
    unsigned char* data() const { return fenced_ ? fenced_->data() : guarded_->data(); }
    std::size_t size() const { return size_; }
    bool intact() const { return !guarded_ || guarded_->intact(); }
    bytes contents() const { return {data(), data() + size_}; }
    void set(bytes const& contents) {
        if (size_ != 0) std::memcpy(data(), contents.data(), size_);
    }

private:
    std::unique_ptr<support::fenced_buffer<unsigned char>> fenced_;
    std::unique_ptr<support::guarded_buffer<unsigned char>> guarded_;
    border side_;
    std::size_t size_;
};

// Copies of a case's memory where a runner runs, each between the same borders.
class copies {
public:
    explicit copies(other_memory const& where) : where_(where) {}

    void add(void* here, std::size_t size, border side) {
        if (size == 0) return;
        auto* const first = static_cast<unsigned char*>(here);
        bool const has_margins = side == border::offset;
        std::size_t const before = has_margins ? margin + reinterpret_cast<std::size_t>(here) % margin : 0;
        bytes contents(before + size + (has_margins ? margin : 0));
        for (std::size_t at = 0; at < contents.size(); ++at) contents[at] = canary(at);
        for (std::size_t at = 0; at < size; ++at) contents[before + at] = first[at];
        device::space& to = *(side == border::behind ? where_.behind : has_margins ? where_.offset : where_.before);
        all_.push_back({first, size, before, std::make_unique<device::placed>(to, contents)});
    }
    void add(memory_block const& block) { add(block.data(), block.size(), block.side()); }

    // The same byte there.
    template <class T>
    T* of(T* pointer) const {
        auto* const address = reinterpret_cast<unsigned char const*>(pointer);
        for (copy const& one : all_) {
            if (address < one.here || address >= one.here + one.size) continue;
            return reinterpret_cast<T*>(one.there->data() + one.before + (address - one.here));
        }
        return pointer;  // to nothing: nobody reads it
    }

    // Waits, and takes all that was written home; a sentence about what went wrong, or nothing.
    std::string bring_home() {
        std::string failure = where_.offset->finish();
        for (copy const& one : all_) {
            if (!failure.empty()) return failure;
            bytes const contents = one.there->contents();
            for (std::size_t at = 0; at < contents.size(); ++at) {
                bool const is_margin = at < one.before || at >= one.before + one.size;
                if (is_margin && contents[at] != canary(at)) failure = "wrote outside a tensor";
            }
            std::memcpy(one.here, contents.data() + one.before, one.size);
        }
        for (device::space* space : {where_.offset, where_.before, where_.behind}) failure += space->finish();
        return failure;
    }
    std::string wait() { return where_.offset->finish() + where_.before->finish() + where_.behind->finish(); }

private:
    static constexpr std::size_t margin = 256;
    static unsigned char canary(std::size_t at) { return static_cast<unsigned char>(0xa5U ^ (at * 29U)); }

    struct copy {
        unsigned char* here;
        std::size_t size, before;
        std::unique_ptr<device::placed> there;
    };
    other_memory where_;
    std::vector<copy> all_;
};

bool is_empty(smx::extents const& shape) {
    return shape.batch == 0 || shape.heads == 0 || shape.queries == 0 || shape.keys == 0;
}

smx::strides strides_of(layout const& l, smx::extents const& shape) {
    int64 const p = shape.keys + l.gap, heads = shape.heads, queries = shape.queries;
    switch (l.axes) {
        case order::packed:
            return smx::packed_strides(shape);
        case order::padded:
            return {heads * queries * p, queries * p, p, 1};
        case order::query_major:
            return {heads * queries * p, p, heads * p, 1};
        case order::reversed:
            return {heads * queries * p, -queries * p, -p, 1};
        case order::repeats_heads:
            return {queries * p, 0, p, 1};
        case order::repeats_batch:
            return {0, queries * p, p, 1};
        case order::repeats_queries:
            break;
    }
    return {heads * p, p, 0, 1};
}

// A tensor of the case.
struct tensor {
    storage type;
    smx::strides step;
    int64 origin = 0;  // elements before the first
    std::unique_ptr<memory_block> memory;

    tensor(storage of, layout const& l, smx::extents const& shape) : tensor(of, l, shape, strides_of(l, shape)) {}
    tensor(storage of, layout const& l, smx::extents const& shape, smx::strides const& by) : type(of), step(by) {
        int64 low = 0, high = 0;
        if (!is_empty(shape)) {
            int64 const ends[] = {(shape.batch - 1) * step.batch, (shape.heads - 1) * step.head,
                                  (shape.queries - 1) * step.query, shape.keys - 1};
            for (int64 end : ends) (end < 0 ? low : high) += end;
            ++high;
        }
        origin = -low;
        auto const size = static_cast<std::size_t>(device::bytes_of(type));
        memory = std::make_unique<memory_block>(static_cast<std::size_t>(high - low) * size, l.side,
                                                static_cast<std::size_t>(l.offset) * size);
    }

    std::size_t at(int64 b, int64 h, int64 q, int64 k) const {
        int64 const element = origin + b * step.batch + h * step.head + q * step.query + k;
        return static_cast<std::size_t>(element * device::bytes_of(type));
    }
    unsigned char* pointer(int64 b, int64 h, int64 q, int64 k) const { return memory->data() + at(b, h, q, k); }
    void* first() const { return memory->data() + origin * device::bytes_of(type); }
};

template <class Visit>
void for_each_row(smx::extents const& shape, Visit const& visit) {
    int64 row = 0;
    for (int64 b = 0; b < shape.batch; ++b)
        for (int64 h = 0; h < shape.heads; ++h)
            for (int64 q = 0; q < shape.queries; ++q, ++row) visit(b, h, q, row);
}

// The gradient of a bias: one element along what it is summed over.
smx::extents shape_of_sums(description const& d) {
    if (!sums_biases(d.types.how)) return {0, 0, 0, 0};
    smx::extents const& all = d.shape;
    return {d.over_batch ? 1 : all.batch, d.over_heads ? 1 : all.heads, d.over_queries ? 1 : all.queries,
            d.over_keys ? 1 : all.keys};
}
smx::strides strides_of_sums(description const& d) {
    smx::strides step = strides_of(d.db, shape_of_sums(d));
    if (d.over_batch) step.batch = 0;
    if (d.over_heads) step.head = 0;
    if (d.over_queries) step.query = 0;
    if (d.over_keys) step.key = 0;
    return step;
}

// What a mask shows and adds, from the description alone.
class visibility {
public:
    explicit visibility(description const& d) : d_(d) {}

    place of_part(part const& p, int64 b, int64 h, int64 q, int64 k) const {
        smx::extents const& o = d_.origin;
        return {p.repeats_batch ? 0 : b + o.batch, p.repeats_heads ? 0 : h + o.heads,
                p.repeats_queries ? 0 : q + o.queries, p.repeats_keys ? 0 : k + o.keys};
    }
    // Of memory. Some rows are all the same.
    bool is_set(part const& p, place const& at) const {
        unsigned long long const row = mixed(p.seed, {at.b, at.h, at.q, -1}) % 10;
        if (row < 2) return row == 0;
        return mixed(p.seed, at) % 100 < static_cast<unsigned>(p.visible_percent);
    }
    double bias_at(part const& p, place const& at) const {
        if (!is_set(p, at)) return -infinity;
        unsigned long long const drawn = mixed(p.seed + 1, at);
        if (drawn % 997 == 0) return drawn % 1994 == 0 ? nan : infinity;
        return rounded(p.kind == part_kind::half_bias ? storage::f16 : storage::f32,
                       support::random_stream(drawn).normal());
    }
    int length_of(part const& p, int64 b) const {
        unsigned long long const drawn = mixed(p.seed, {b + d_.origin.batch, 0, 0, 0});
        int const keys = static_cast<int>(d_.shape.keys);
        int const choices[] = {0, keys, keys + 7, -3};
        return drawn % 8 < 4 ? choices[drawn % 8] : static_cast<int>(drawn / 8 % static_cast<unsigned>(keys + 1));
    }

    bool shows(part const& p, int64 b, int64 h, int64 q, int k) const {
        switch (p.kind) {
            case part_kind::absent:
                return true;
            case part_kind::window: {
                int64 const at = q * d_.shape.keys / d_.shape.queries;
                return k >= at - p.reach && k < at + p.reach && k % 3 != 1;
            }
            case part_kind::predicate:
                return (h + q + k) % (p.reach + 1) != 0;
            case part_kind::causal:
            case part_kind::lengths: {
                smx::interval const all = structure(p, b, h, q);
                return k >= all.begin && k < all.end;
            }
            case part_kind::flags:
            case part_kind::hidden_flags:
            case part_kind::bits:
            case part_kind::hidden_bits:
                return is_set(p, of_part(p, b, h, q, k));
            default:
                break;
        }
        return true;
    }
    double added(part const& p, int64 b, int64 h, int64 q, int k) const {
        if (p.kind == part_kind::slope) return support::sloped_bias{}(k);
        return p.kind == part_kind::bias || p.kind == part_kind::half_bias ? bias_at(p, of_part(p, b, h, q, k)) : 0.0;
    }

    bool selects(int64 b, int64 h, int64 q, int k) const {
        for (int i = 0; i < part_count; ++i) {
            if (!is_alternative(i) && !shows(d_.parts[i], b, h, q, k)) return false;
        }
        return d_.types.masks != family::tree || shows(d_.parts[4], b, h, q, k) || shows(d_.parts[5], b, h, q, k);
    }
    // -infinity in one of them hides, whatever the other is.
    double bias(int64 b, int64 h, int64 q, int k) const {
        double const first = added(d_.parts[0], b, h, q, k), second = added(d_.parts[1], b, h, q, k);
        return first == -infinity || second == -infinity ? -infinity : first + second;
    }
    bool sees(int64 b, int64 h, int64 q, int k) const { return selects(b, h, q, k) && bias(b, h, q, k) != -infinity; }

    // The columns that a row can see by the structure of its mask: hidden::keep leaves the others.
    smx::interval structure(int64 b, int64 h, int64 q) const {
        smx::interval all{0, static_cast<int>(d_.shape.keys)};
        for (int i = 0; i < part_count; ++i) {
            if (!is_alternative(i)) all = common(all, structure(d_.parts[i], b, h, q));
        }
        if (d_.types.masks != family::tree) return all;
        smx::interval const first = structure(d_.parts[4], b, h, q), second = structure(d_.parts[5], b, h, q);
        if (first.begin >= first.end) return common(all, second);
        if (second.begin >= second.end) return common(all, first);
        return common(all, {std::min(first.begin, second.begin), std::max(first.end, second.end)});
    }

private:
    bool is_alternative(int i) const { return d_.types.masks == family::tree && i >= 4; }
    static smx::interval common(smx::interval a, smx::interval b) {
        return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
    }

    smx::interval structure(part const& p, int64 b, int64 h, int64 q) const {
        int64 const keys = d_.shape.keys;
        int64 begin = 0, end = keys;
        switch (p.kind) {
            case part_kind::causal:
                end = q + p.diagonal + 1;
                break;
            case part_kind::lengths:
                (p.left ? begin : end) = p.left ? keys - length_of(p, b) : length_of(p, b);
                break;
            case part_kind::window: {
                int64 const at = q * keys / d_.shape.queries;
                begin = at - p.reach;
                end = at + p.reach;
                break;
            }
            case part_kind::flags:
            case part_kind::hidden_flags:
                if (p.repeats_keys && !is_set(p, of_part(p, b, h, q, 0))) end = 0;
                break;
            default:
                break;
        }
        return {static_cast<int>(std::clamp<int64>(begin, 0, keys)), static_cast<int>(std::clamp<int64>(end, 0, keys))};
    }

    description const& d_;
};

// The memory of one part, which ends, or begins, where memory does.
class part_memory {
public:
    part_memory(part const& p, visibility const& mask, smx::extents const& shape) {
        switch (p.kind) {
            case part_kind::lengths:
                allocate(static_cast<std::size_t>(shape.batch) * sizeof(int), p);
                for (int64 b = 0; b < shape.batch; ++b) {
                    int const length = mask.length_of(p, b);
                    std::memcpy(block_->data() + b * int64{sizeof(int)}, &length, sizeof length);
                }
                break;
            case part_kind::flags:
            case part_kind::hidden_flags:
                fill(
                    p, shape, 1, p.repeats_keys ? 1 : shape.keys,
                    [&](unsigned char* row, place const& at, int64 k) {
                        bool const is_shown = mask.is_set(p, {at.b, at.h, at.q, p.repeats_keys ? 0 : at.k + k});
                        row[k] = is_shown == (p.kind == part_kind::flags)
                                     ? static_cast<unsigned char>(1U << (mixed(p.seed + 1, {at.b, at.h, at.q, k}) % 8))
                                     : static_cast<unsigned char>(0);
                    },
                    mask);
                break;
            case part_kind::bits:
            case part_kind::hidden_bits:
                fill(
                    p, shape, p.kind == part_kind::bits ? 1 : 4, shape.keys,
                    [&](unsigned char* row, place const& at, int64 k) {
                        bool const is_shown = mask.is_set(p, {at.b, at.h, at.q, at.k + k});
                        unsigned const bit = 1U << (k % 8);
                        row[k / 8] = static_cast<unsigned char>(
                            is_shown == (p.kind == part_kind::bits) ? row[k / 8] | bit : row[k / 8] & ~bit);
                    },
                    mask);
                break;
            case part_kind::bias:
            case part_kind::half_bias: {
                storage const type = p.kind == part_kind::bias ? storage::f32 : storage::f16;
                fill(
                    p, shape, device::bytes_of(type), p.repeats_keys ? 1 : shape.keys,
                    [&](unsigned char* row, place const& at, int64 k) {
                        put(type, row + k * device::bytes_of(type),
                            mask.bias_at(p, {at.b, at.h, at.q, p.repeats_keys ? 0 : at.k + k}));
                    },
                    mask);
                break;
            }
            default:
                break;
        }
        if (block_) before_ = block_->contents();
    }

    void const* data() const { return block_ ? block_->data() + first_ : nullptr; }
    smx::strides step() const { return step_; }
    memory_block const* block() const { return block_.get(); }
    bool intact() const { return !block_ || (block_->intact() && block_->contents() == before_); }

private:
    void allocate(std::size_t size, part const& p) {
        block_ = std::make_unique<memory_block>(size, p.phase % 2 == 0 ? border::behind : border::before, 0);
    }

    // Rows of `count` elements, or of as many bits as there are keys; calls put_one(row, place of the row, k).
    template <class Put>
    void fill(part const& p, smx::extents const& shape, int element, int64 count, Put const& put_one,
              visibility const& mask) {
        bool const bits = p.kind == part_kind::bits || p.kind == part_kind::hidden_bits;
        int64 const columns = bits ? (count + 8 * element - 1) / (8 * element) : count;
        int64 const pitch = columns + p.gap, batches = p.repeats_batch ? 1 : shape.batch,
                    heads = p.repeats_heads ? 1 : shape.heads, queries = p.repeats_queries ? 1 : shape.queries;
        step_ = {p.repeats_batch ? 0 : heads * queries * pitch, p.repeats_heads ? 0 : queries * pitch,
                 p.repeats_queries ? 0 : pitch, p.repeats_keys ? 0 : 1};
        int64 const rows = batches * heads * queries;
        int64 const phase = p.phase % 2 == 0 ? 0 : p.phase / 2;
        first_ = phase * element;
        int64 const elements = rows == 0 ? 0 : phase + (rows - 1) * pitch + columns;
        allocate(static_cast<std::size_t>(elements * element), p);
        support::random_stream random(p.seed);
        // What lies between the rows, and behind the bits of one, is anything.
        for (std::size_t at = 0; at < block_->size(); ++at)
            block_->data()[at] = static_cast<unsigned char>(random.bits());
        for_each_row({batches, heads, queries, 0}, [&](int64 b, int64 h, int64 q, int64 row) {
            place const at = mask.of_part(p, b, h, q, 0);
            for (int64 k = 0; k < count; ++k) put_one(block_->data() + first_ + row * pitch * element, at, k);
        });
    }

    std::unique_ptr<memory_block> block_;
    smx::strides step_;
    int64 first_ = 0;
    bytes before_;
};

double drawn_score(description const& d, storage type, place const& at) {
    support::random_stream random(mixed(d.seed, at));
    bool const is_chosen = d.every_row || mixed(d.seed, {at.b, at.h, at.q, -1}) % 2 == 0;
    double const mild = 1.8 * random.normal();
    if (!is_chosen) return mild;
    return with_type(type, [&](auto example) -> double {
        using element = decltype(example);
        switch (d.scores) {
            case values::mild:
                return mild;
            case values::peaky:
                return 10 * mild;
            case values::half_hidden:
                return random.coin() ? -infinity : mild;
            case values::all_hidden:
                return -infinity;
            case values::some_nan:
                return random.below(64) == 0 ? nan : mild;
            case values::some_inf:
                return random.below(64) == 0 ? infinity : mild;
            case values::negative:
                return -100.0 - static_cast<double>(at.k);
            case values::denormal:
                return support::smallest_of<element>() * (random.below(7) - 3);
            case values::huge:
                return support::largest_of<element>() * (random.coin() ? 1.0 : -1.0) * (random.coin() ? 1.0 : 0.5);
            case values::equal:
                return 1.25;
        }
        return mild;
    });
}

// A probability, or its logarithm: what a forward pass may have left, whatever its scores were.
double drawn_probability(description const& d, place const& at) {
    support::random_stream random(mixed(d.seed, at));
    double const uniform = random.uniform();
    if (d.scores == values::some_nan && random.below(64) == 0) return nan;
    if (d.scores == values::half_hidden && random.coin()) return 0;
    if (d.scores == values::equal) return 0.25;
    return uniform * uniform / 8;
}

double drawn_gradient(description const& d, place const& at) {
    support::random_stream random(mixed(d.seed + 1, at));
    if (d.special_dy && random.below(64) == 0) return random.coin() ? nan : random.coin() ? infinity : -infinity;
    return random.normal();
}

smx::strides given(smx::strides step, layout const& l) { return l.axes == order::packed ? smx::contiguous : step; }

std::string in_words(smx::status const& s) {
    char text[256];
    smx::message(s, text, sizeof text);
    return text;
}

// A case, its memory and what must come out of it.
class execution {
public:
    explicit execution(description const& d)
        : d_(d),
          mask_(d_),
          x_(d.types.x, input_layout(d.x, d.in_place && !is_backward(d.types.how)), d.shape),
          y_(d.types.y, output_layout(d.y), d.shape),
          undropped_(d.types.y, output_layout(d.y), d.shape),
          db_(d.types.y, output_layout(d.db), shape_of_sums(d), strides_of_sums(d)),
          dy_(d.types.dy, input_layout(d.dy, d.in_place && is_backward(d.types.how)), d.shape),
          rows_(d.shape.batch * d.shape.heads * d.shape.queries),
          sums_(static_cast<std::size_t>(rows_)),
          scale_gradients_(static_cast<std::size_t>(rows_)),
          type_(d.types.x == storage::f64 || (is_backward(d.types.how) && d.types.dy == storage::f64)
                    ? support::arithmetic::in_double
                    : support::arithmetic::in_float) {
        for (int i = 0; i < part_count; ++i)
            parts_.push_back(std::make_unique<part_memory>(d_.parts[i], mask_, d.shape));
        for (int64 h = 0; h < d.shape.heads; ++h) factors_.push_back(static_cast<float>(exact_factor(h)));
        fill();
    }

    std::string run(runner const& r) {
        y_.memory->set(y_before_);
        for (tensor const* one : {&undropped_, &db_}) one->memory->set(bytes(one->memory->size(), 0xff));
        scale_gradients_.poison();
        if (!is_of_scores(d_.types.how)) sums_.poison();
        if (r.where != nullptr) return run_elsewhere(r);
        if (smx::status const s = r.run(arguments()); !s) return "refused: " + in_words(s);
        return difference();
    }

private:
    std::string run_elsewhere(runner const& r) {
        arguments();  // what is absent has its memory too
        copies there(*r.where);
        for (tensor const* one : {&x_, &y_, &undropped_, &db_, &dy_}) there.add(*one->memory);
        for (auto const& one : parts_) {
            if (one->block() != nullptr) there.add(*one->block());
        }
        there.add(sums_.data(), sums_.size() * sizeof(double), border::offset);
        there.add(scale_gradients_.data(), scale_gradients_.size() * sizeof(double), border::offset);
        there.add(factors_.data(), factors_.size() * sizeof(float), border::behind);
        there.add(drop_state_, sizeof drop_state_, border::behind);
        there.add(no_lengths_.data(), no_lengths_.size() * sizeof(int), border::behind);
        there.add(set_bits_.data(), set_bits_.size(), border::behind);
        there.add(&no_bias_, sizeof no_bias_, border::behind);
        there.add(&set_flag_, sizeof set_flag_, border::behind);
        if (std::string const failure = there.wait(); !failure.empty()) return "before the call: " + failure;
        smx::status const s = r.run(arguments(&there));
        if (s.code == smx::errc::device_limit) return {};  // what runs it lacks what the kernel needs
        if (!s) return "refused: " + in_words(s);
        std::string const failure = there.bring_home();
        return failure.empty() ? difference() : failure;
    }

    // Outputs have canaries on both sides.
    static layout output_layout(layout l) {
        l.side = border::offset;
        return l;
    }
    layout input_layout(layout const& own, bool in_place) const { return in_place ? output_layout(d_.y) : own; }

    double exact_factor(int64 h) const {
        if (d_.factor_from == factor_kind::inverse_root) return 1 / std::sqrt(d_.factor);
        if (d_.factor_from != factor_kind::per_head) return d_.factor;
        int64 const head = h + d_.origin.heads;
        return d_.factor * static_cast<double>(head + 1) * (head % 2 == 0 ? 1.0 : -1.0);
    }
    double factor(int64 h) const {
        bool const is_float = type_ == support::arithmetic::in_float || d_.factor_from == factor_kind::in_memory ||
                              d_.factor_from == factor_kind::per_head;
        return is_float ? static_cast<double>(static_cast<float>(exact_factor(h))) : exact_factor(h);
    }

    static place in_tensor(tensor const& t, description const& d, int64 b, int64 h, int64 q, int64 k) {
        smx::extents const& o = d.origin;
        return {t.step.batch == 0 ? 0 : b + o.batch, t.step.head == 0 ? 0 : h + o.heads,
                t.step.query == 0 ? 0 : q + o.queries, k + o.keys};
    }

    // Scores, probabilities and gradients where a row sees them; poison everywhere else.
    void fill() {
        way const how = d_.types.how;
        bool const in_place = d_.in_place;
        int const keys = static_cast<int>(d_.shape.keys);
        for_each_row(d_.shape, [&](int64 b, int64 h, int64 q, int64) {
            for (int k = 0; k < keys; ++k) {
                if (!mask_.sees(b, h, q, k)) continue;
                place const at = in_tensor(x_, d_, b, h, q, k);
                double x = 0;
                if (how == way::from_saved_logarithms) {
                    x = std::log(drawn_probability(d_, at));
                } else if (is_backward(how) && !is_of_scores(how)) {
                    x = drawn_probability(d_, at);
                } else {
                    x = drawn_score(d_, d_.types.x, at);
                }
                put(d_.types.x, x_.pointer(b, h, q, k), x);
                if (is_backward(how))
                    put(d_.types.dy, dy_.pointer(b, h, q, k), drawn_gradient(d_, in_tensor(dy_, d_, b, h, q, k)));
            }
        });
        x_before_ = x_.memory->contents();
        dy_before_ = dy_.memory->contents();
        y_before_ = in_place ? (is_backward(how) ? dy_before_ : x_before_) : bytes(y_.memory->size(), 0xff);
        if (is_backward(how) && !is_of_scores(how)) return;
        for_each_row(d_.shape, [&](int64 b, int64 h, int64 q, int64 row) {
            auto const x = [&](int k) { return value_at(d_.types.x, x_before_.data() + x_.at(b, h, q, k)); };
            auto const bias = [&](int k) { return mask_.bias(b, h, q, k); };
            auto const selects = [&](int k) { return mask_.selects(b, h, q, k); };
            forward_.push_back(support::softmax_reference(
                keys, x, factor(h), bias, selects,
                is_of_scores(how) ? support::empty_gives::zeros : support::reference_rule(d_.when_empty), type_));
            // What follows from a score is off by a power of what the score is off by: no more than its first term
            // here.
            support::reference_row& last = forward_.back();
            if (last.largest_score * rounding() > 1e-3) last.largest_score *= 16;
            if (how == way::logarithms) {
                logarithms_.push_back(support::logarithm_reference(keys, x, factor(h), bias, selects,
                                                                   support::reference_rule(d_.when_empty), type_));
            }
            if (is_of_scores(how)) sums_[static_cast<std::size_t>(row)] = last.log_sum_exp;
        });
    }

    double rounding() const { return type_ == support::arithmetic::in_float ? 0x1p-24 : 0x1p-53; }

    // Pointers to the case's memory, or to its copies.
    call arguments(copies const* there = nullptr) {
        auto const at = [&](auto* pointer) { return there == nullptr ? pointer : there->of(pointer); };
        call c;
        c.shape = d_.shape;
        bool const forward = !is_backward(d_.types.how);
        c.y = at(y_.first());
        c.undropped = at(undropped_.first());
        c.x = d_.in_place && forward ? c.y : at(x_.first());
        c.dy = d_.in_place && !forward ? c.y : at(dy_.first());
        c.y_step = given(y_.step, d_.y);
        c.x_step = d_.in_place && forward ? c.y_step : given(x_.step, d_.x);
        c.dy_step = d_.in_place && !forward ? c.y_step : given(dy_.step, d_.dy);
        c.db = at(db_.first());
        bool const is_summed = d_.over_batch || d_.over_heads || d_.over_queries || d_.over_keys;
        c.db_step = is_summed ? db_.step : given(db_.step, d_.db);
        c.scale_gradients = at(scale_gradients_.data());
        c.sums = at(sums_.data());
        c.scale.from = d_.factor_from;
        c.scale.fixed =
            d_.factor_from == factor_kind::inverse_root ? smx::inv_sqrt(d_.factor) : smx::fixed_scale(d_.factor);
        c.scale.one = smx::device_scale<float>(at(factors_.data()));
        c.scale.heads = smx::head_scale<float>(at(factors_.data()));
        for (int i = 0; i < part_count; ++i) {
            c.parts[i] = placed(i);
            c.parts[i].data = at(c.parts[i].data);
        }
        c.when_empty = d_.when_empty;
        c.drop = d_.drop;
        c.drop_seed = drop_state_[0];
        c.drop_offset = drop_state_[1];
        c.drop_state = at(drop_state_);
        c.split = d_.split;
        return c;
    }

    placed_part placed(int i) {
        part const& p = d_.parts[i];
        placed_part result{p.kind,
                           p.diagonal,
                           p.left,
                           p.reach,
                           parts_[static_cast<std::size_t>(i)]->data(),
                           parts_[static_cast<std::size_t>(i)]->step()};
        bool const is_whole_type = d_.types.masks == family::causal || d_.types.masks == family::composed;
        if (!is_whole_type || p.kind != part_kind::absent) return result;
        // Absent from a mask whose type has it: one that hides nothing.
        if (i == 0) result.data = &no_bias_;
        if (i == 2) result.diagonal = smx::most_rows;
        if (i == 3) {
            no_lengths_.assign(static_cast<std::size_t>(d_.shape.batch) + 1, INT_MAX);
            result.data = no_lengths_.data();
        }
        if (i == 4) result.data = &set_flag_;
        if (i == 5) {
            set_bits_.assign(static_cast<std::size_t>(d_.shape.keys / 8 + 1), 0xff);
            result.data = set_bits_.data();
            result.step = {0, 0, 0, 1};
        }
        return result;
    }

    std::string difference() {
        way const how = d_.types.how;
        int const keys = static_cast<int>(d_.shape.keys);
        bool const forward = !is_backward(how);
        for (tensor const* one : {&y_, &undropped_, &db_}) {
            if (!one->memory->intact()) return "wrote outside an output";
        }
        if (!sums_.intact()) return "wrote outside log_sum_exp";
        if (!scale_gradients_.intact()) return "wrote outside the scale gradients";
        if (!x_.memory->intact() || x_.memory->contents() != x_before_) return "wrote to x";
        if (!dy_.memory->intact() || dy_.memory->contents() != dy_before_) return "wrote to dy";
        for (auto const& one : parts_) {
            if (!one->intact()) return "wrote to a mask";
        }
        std::string sentence = wrong_gap(y_, y_before_);
        if (sentence.empty() && how == way::dropped)
            sentence = wrong_gap(undropped_, bytes(undropped_.memory->size(), 0xff));
        if (!sentence.empty()) return sentence;
        for_each_row(d_.shape, [&](int64 b, int64 h, int64 q, int64 row) {
            if (!sentence.empty()) return;
            smx::interval const span = mask_.structure(b, h, q);
            bool const keeps_all =
                forward && is_kept(how) && forward_[static_cast<std::size_t>(row)].kind == support::row_kind::empty;
            for (int k = 0; k < keys && sentence.empty(); ++k) {
                bool const kept = is_kept(how) && (keeps_all || k < span.begin || k >= span.end);
                auto const size = static_cast<std::size_t>(device::bytes_of(d_.types.y));
                unsigned char const *const now = y_.pointer(b, h, q, k), *const before =
                                                                             y_before_.data() + y_.at(b, h, q, k);
                bool const same = std::memcmp(now, before, size) == 0;
                if (kept && !same) sentence = "column " + std::to_string(k) + ": written, want what was there";
                bool const poisoned = std::all_of(now, now + size, [](unsigned char byte) { return byte == 0xff; });
                if (!kept && poisoned && !d_.in_place) sentence = "column " + std::to_string(k) + ": not written";
            }
            if (sentence.empty()) {
                sentence = with_type(d_.types.y, [&](auto example) {
                    using element = decltype(example);
                    return forward ? this->template wrong_row<element>(b, h, q, row, keeps_all)
                                   : this->template wrong_gradients<element>(b, h, q, row);
                });
            }
            if (!sentence.empty()) {
                sentence = "row (" + std::to_string(b) + ", " + std::to_string(h) + ", " + std::to_string(q) + "), " +
                           sentence;
            }
        });
        if (sentence.empty() && sums_biases(how)) {
            sentence =
                with_type(db_.type, [&](auto example) { return this->template wrong_sums<decltype(example)>(); });
        }
        return sentence;
    }

    template <class Element>
    std::string wrong_sums() const {
        auto const size = static_cast<std::size_t>(device::bytes_of(db_.type));
        smx::extents const shape = shape_of_sums(d_);
        support::added_gradients sums(db_.memory->size() / size, type_);
        std::string sentence;
        for_each_row(shape, [&](int64 b, int64 h, int64 q, int64) {
            for (int64 k = 0; k < shape.keys; ++k) {
                sums.expect(db_.at(b, h, q, k) / size);
                if (sentence.empty() && is_poison(db_, db_.at(b, h, q, k) / size)) sentence = "db: not written";
            }
        });
        if (!sentence.empty()) return sentence;
        for_each_row(d_.shape, [&](int64 b, int64 h, int64 q, int64 row) {
            row_gradients const ds = gradients_of_row(b, h, q, row, 1.0);
            for (int k = 0; k < d_.shape.keys; ++k) {
                std::size_t const element = db_.at(b, h, q, d_.over_keys ? 0 : k) / size;
                if (ds.are_known) {
                    sums.add(element, ds.want, k, ds.more);
                } else if (mask_.sees(b, h, q, k)) {
                    sums.add_unknown(element);
                }
            }
        });
        sentence =
            sums.difference<Element>([&](std::size_t i) { return element_at<Element>(db_.memory->data() + i * size); },
                                     [&](std::size_t i) { return is_poison(db_, i); });
        return sentence.empty() ? sentence : "db, " + sentence;
    }

    static bool is_poison(tensor const& t, std::size_t element) {
        auto const size = static_cast<std::size_t>(device::bytes_of(t.type));
        unsigned char const* const first = t.memory->data() + element * size;
        return std::all_of(first, first + size, [](unsigned char byte) { return byte == 0xff; });
    }

    // Between the rows of an output nothing may change.
    std::string wrong_gap(tensor const& t, bytes const& before) const {
        auto const size = static_cast<std::size_t>(device::bytes_of(t.type));
        std::vector<bool> is_element(before.size() / size);
        for_each_row(d_.shape, [&](int64 b, int64 h, int64 q, int64) {
            for (int64 k = 0; k < d_.shape.keys; ++k) is_element[t.at(b, h, q, k) / size] = true;
        });
        for (std::size_t i = 0; i < is_element.size(); ++i) {
            if (!is_element[i] && std::memcmp(t.memory->data() + i * size, before.data() + i * size, size) != 0)
                return "wrote between the rows of an output";
        }
        return {};
    }

    double dropped_factor(int64 row, int k) const {
        return is_dropped(d_.types.how) ? support::dropout_factor(d_.drop, drop_state_[0], drop_state_[1] + 3, row, k)
                                        : 1.0;
    }

    template <class Element>
    std::string wrong_row(int64 b, int64 h, int64 q, int64 row, bool keeps_all) const {
        way const how = d_.types.how;
        auto const index = static_cast<std::size_t>(row);
        support::reference_row const& want = forward_[index];
        int const keys = static_cast<int>(d_.shape.keys);
        std::string sentence = support::difference_of("log-sum-exp", sums_[index], want.log_sum_exp,
                                                      want.largest_score + std::fabs(want.log_sum_exp), type_, keys);
        if (!sentence.empty() || keeps_all) return sentence;
        smx::interval const span = mask_.structure(b, h, q);
        auto const y = [&](int k) {
            bool const kept = is_kept(how) && (k < span.begin || k >= span.end);
            return kept ? support::stored<Element>::make(0.0) : element_at<Element>(y_.pointer(b, h, q, k));
        };
        if (how == way::logarithms) return support::difference_of_logarithms<Element>(logarithms_[index], y, type_);
        if (how != way::dropped) return support::difference<Element>(want, y, type_);

        auto const undropped = [&](int k) { return element_at<Element>(undropped_.pointer(b, h, q, k)); };
        sentence = support::difference<Element>(want, undropped, type_);
        if (!sentence.empty()) return "before the dropout, " + sentence;
        // What is dropped is 0, whatever it was; what is kept is as exact as a row of which nothing is dropped.
        double const by_all = 1 / (1 - support::drawn_probability(d_.drop));
        support::reference_row scaled = want;
        for (double& value : scaled.y) value = std::isinf(by_all) ? 0 : value * by_all;
        for (int k = 0; k < keys; ++k) {
            if (dropped_factor(row, k) == 0 && support::stored<Element>::value(y(k)) != 0)
                return "column " + std::to_string(k) + ": is to be dropped";
        }
        auto const kept = [&](int k) {
            return dropped_factor(row, k) == 0 ? support::stored<Element>::make(scaled.y[static_cast<std::size_t>(k)])
                                               : y(k);
        };
        return support::difference<Element>(scaled, kept, type_);
    }

    // The gradients of a row's scores, and the roundings that its probabilities had beforehand.
    struct row_gradients {
        support::gradient_row want;
        double more = 0;
        bool are_known = true;  // false: so many roundings that nothing is known of such probabilities
    };

    row_gradients gradients_of_row(int64 b, int64 h, int64 q, int64 row, double factor) const {
        way const how = d_.types.how;
        auto const index = static_cast<std::size_t>(row);
        int const keys = static_cast<int>(d_.shape.keys);
        bool const of_scores = is_of_scores(how);
        auto const x = [&](int k) { return score(b, h, q, k); };
        auto const dy = [&](int k) {
            double const by = dropped_factor(row, k);
            double const value = value_at(d_.types.dy, dy_before_.data() + dy_.at(b, h, q, k));
            return by == 0 ? 0 : value * by;
        };
        auto const sees = [&](int k) { return mask_.sees(b, h, q, k); };
        row_gradients result;
        if (of_scores) {
            support::reference_row const& forward = forward_[index];
            bool const is_defined = forward.kind == support::row_kind::defined;
            result.more = is_defined ? 4 * (forward.largest_score + std::fabs(forward.log_sum_exp)) : 0;
            result.are_known = result.more * rounding() <= 0.05;
            if (!result.are_known) return result;
        }
        if (!is_of_logarithms(how)) {
            auto const y = [&](int k) { return of_scores ? forward_[index].y[static_cast<std::size_t>(k)] : x(k); };
            result.want = support::gradient_reference(keys, y, dy, factor, sees);
            if (of_scores) allow_underflow(result.want, y, dy, factor);
            return result;
        }
        auto const z = [&](int k) {
            if (!of_scores) return x(k);
            support::reference_row const& forward = forward_[index];
            double const y = forward.y[static_cast<std::size_t>(k)];
            return forward.kind == support::row_kind::empty ? -infinity : std::log(y);
        };
        // Where the score is -infinity nothing could have come of dy; where the exponential alone is 0, something
        // could.
        auto const counts = [&](int k) {
            return sees(k) && (of_scores ? score_counts(b, h, q, k) : z(k) != -infinity);
        };
        std::vector<double> magnitudes;
        std::vector<double> const want = support::logarithm_gradient(
            keys, [&](int k) { return std::max(z(k), -1e4); }, dy, factor, counts, magnitudes);
        result.want = {want, magnitudes, std::vector<bool>(want.size(), true)};
        bool const undefined = of_scores && forward_[index].kind == support::row_kind::undefined;
        for (int k = 0; k < keys; ++k) {
            result.want.visible[static_cast<std::size_t>(k)] = sees(k);
            if (undefined && sees(k)) result.want.dx[static_cast<std::size_t>(k)] = nan;
        }
        return result;
    }

    template <class Element>
    std::string wrong_gradients(int64 b, int64 h, int64 q, int64 row) const {
        way const how = d_.types.how;
        auto const index = static_cast<std::size_t>(row);
        if (sums_scales(how) && scale_gradients_.is_poison(index)) return "scale gradient: not written";
        row_gradients const of_scores = gradients_of_row(b, h, q, row, factor(h));
        if (!of_scores.are_known) return {};
        smx::interval const span = mask_.structure(b, h, q);
        auto const dx = [&](int k) {
            bool const kept = is_kept(how) && (k < span.begin || k >= span.end);
            return kept ? support::stored<Element>::make(0.0) : element_at<Element>(y_.pointer(b, h, q, k));
        };
        std::string sentence = support::difference_of_gradients<Element>(of_scores.want, dx, type_, of_scores.more);
        if (!sentence.empty() || !sums_scales(how)) return sentence;
        row_gradients const ds = gradients_of_row(b, h, q, row, 1.0);
        return support::difference_of_scale_gradient(
            scale_gradients_[index], ds.want, [&](int k) { return score(b, h, q, k); }, type_, ds.more);
    }

    // An exponential under the smallest normal number may be 0, before it is multiplied.
    template <class Y, class Gradient>
    void allow_underflow(support::gradient_row& row, Y const& y, Gradient const& dy, double factor) const {
        double const smallest = type_ == support::arithmetic::in_float ? 0x1p-126 : 0x1p-1022;
        double sizes = 0;
        for (std::size_t k = 0; k < row.dx.size(); ++k) {
            if (row.visible[k]) sizes += std::fabs(y(static_cast<int>(k)) * dy(static_cast<int>(k)));
        }
        for (std::size_t k = 0; k < row.dx.size(); ++k) {
            if (row.visible[k])
                row.magnitude[k] +=
                    smallest / rounding() * std::fabs(factor) * (std::fabs(dy(static_cast<int>(k))) + sizes);
        }
    }

    double score(int64 b, int64 h, int64 q, int k) const {
        return value_at(d_.types.x, x_before_.data() + x_.at(b, h, q, k));
    }
    bool score_counts(int64 b, int64 h, int64 q, int k) const {
        double const scaled = support::held(factor(h) * score(b, h, q, k), type_);
        return support::held(scaled + mask_.bias(b, h, q, k), type_) != -infinity;
    }

    description const d_;
    visibility mask_;
    tensor x_, y_, undropped_, db_, dy_;
    int64 rows_;
    support::guarded_buffer<double> sums_, scale_gradients_;
    support::arithmetic type_;
    std::vector<std::unique_ptr<part_memory>> parts_;
    std::vector<float> factors_;
    bytes x_before_, y_before_, dy_before_;
    std::vector<support::reference_row> forward_;
    std::vector<support::logarithm_row> logarithms_;
    std::vector<int> no_lengths_;
    bytes set_bits_;
    float no_bias_ = 0;
    unsigned char set_flag_ = 1;
    unsigned long long drop_state_[2] = {77, 5};
};

}  // namespace

std::vector<runner> const& all_runners() {
    static std::vector<runner> const list = [] {
        std::vector<runner> all;
        for (auto part :
             {forward_host, forward_types, forward_lanes, backward_host, backward_lanes, summed_host, summed_lanes}) {
            auto const some = part();
            all.insert(all.end(), some.begin(), some.end());
        }
        return all;
    }();
    return list;
}

std::vector<signature> signatures_of(std::vector<runner> const& runners) {
    std::vector<signature> all;
    for (runner const& r : runners) {
        if (std::find(all.begin(), all.end(), r.types) == all.end()) all.push_back(r.types);
    }
    return all;
}

std::vector<signature> const& all_signatures() {
    static std::vector<signature> const list = signatures_of(all_runners());
    return list;
}

std::string check(description const& d, std::vector<runner> const& more) {
    execution it(d);
    for (std::vector<runner> const* list : {&all_runners(), &more}) {
        for (runner const& r : *list) {
            if (!(r.types == d.types) || (r.longest != 0 && d.shape.keys > r.longest)) continue;
            std::string sentence;
            try {
                sentence = it.run(r);
            } catch (std::exception const& thrown) {
                sentence = thrown.what();
            }
            if (!sentence.empty()) return r.name + ": " + sentence;
        }
    }
    return {};
}

}  // namespace fuzz
