// The table of bars: how fast every kind of call is on this GPU, as a share of what a copy gives, beside what it has to
// be.
//
//   bars [--quick] [--stage=1|2|3] [--filter=REGEX] [--json=FILE] [--peers=FILE] [--list]
//
// --quick takes 512 MB tensors instead of 2 GB, but for rows of 1 MB and more, and leaves out what has no bar at the
// stage. Exit status 1: a bar of the stage is missed.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <regex>
#include <stdexcept>

#include "bars/chosen.hpp"
#include "bars/mask_memory.hpp"
#include "bars/table.hpp"
#include "bars/verify.hpp"
#include "support/arguments.hpp"
#include "support/today.hpp"

namespace bench {
namespace {

struct settings {
    bool quick = false, list = false;
    int stage = 1;
    std::string filter, json, peers = SMX_BENCH_RESULTS "/peers_h200.csv";
};

constexpr double mild = 1.8, peaky = 20.0;  // standard deviations of the scores

std::string short_name(smx::policy const& p) {
    return std::string(smx::name_of(p.body)) + " " + std::to_string(p.lanes) + " lanes × " + std::to_string(p.packs) +
           (p.behind > 0 ? " + " + std::to_string(p.behind) : "") + " packs of " + std::to_string(p.vec) + ", " +
           (p.blocks > 1 ? std::to_string(p.blocks) + " × " : "") + std::to_string(p.threads) + " threads";
}

void require(smx::status const& s) {
    if (s) return;
    char words[256];
    (void)smx::message(s, words, sizeof(words));
    throw std::runtime_error(words);
}

smx::status start_dense(cudaStream_t stream, call const& c) {
    switch (c.type) {
        case dtype::half:
            return launch_dense<smx::half>(stream, c);
        case dtype::bfloat16:
            return launch_dense<smx::bfloat16>(stream, c);
        case dtype::float32:
            return launch_dense<float>(stream, c);
    }
    return {};
}

smx::status start_article(cudaStream_t stream, mask_kind masks, call const& c) {
    switch (c.type) {
        case dtype::half:
            return launch_article<smx::half>(stream, masks, c);
        case dtype::bfloat16:
            return launch_article<smx::bfloat16>(stream, masks, c);
        case dtype::float32:
            return launch_article<float>(stream, masks, c);
    }
    return {};
}

smx::status start_dense_backward(cudaStream_t stream, call const& c) {
    switch (c.type) {
        case dtype::half:
            return launch_dense_backward<smx::half>(stream, c);
        case dtype::bfloat16:
            return launch_dense_backward<smx::bfloat16>(stream, c);
        case dtype::float32:
            return launch_dense_backward<float>(stream, c);
    }
    return {};
}

smx::status start_article_backward(cudaStream_t stream, mask_kind masks, call const& c) {
    switch (c.type) {
        case dtype::half:
            return launch_article_backward<smx::half>(stream, masks, c);
        case dtype::bfloat16:
            return launch_article_backward<smx::bfloat16>(stream, masks, c);
        case dtype::float32:
            return launch_article_backward<float>(stream, masks, c);
    }
    return {};
}

smx::status start_half(cudaStream_t stream, mask_kind masks, call const& c) {
    switch (masks) {
        case mask_kind::none:
            return launch_dense<smx::half>(stream, c);
        case mask_kind::causal:
            return launch_causal_half(stream, c);
        case mask_kind::flags:
            return launch_flags_half(stream, c);
        case mask_kind::bits:
            return launch_bits_half(stream, c);
        case mask_kind::bias:
            return launch_bias_half(stream, c);
        default:
            throw std::logic_error("launch_auto is not compiled for this mask here");
    }
}

// Causal rows read as much as they write, as a copy does; others two tensors for each that they write.
quantity of_backward(mask_kind masks) {
    return has_causal(masks) ? quantity::share_of_copy : quantity::share_of_stream;
}

// The memory of a run, and the cases' ways to use it.
class workbench {
public:
    workbench(gpu const& device, bool quick)
        : device_(device),
          tensor_bytes_(tensor_bytes(device, quick)),
          longest_rows_bytes_(tensor_bytes(device, false)),
          x_(longest_rows_bytes_ + slack),
          y_(longest_rows_bytes_ + slack),
          dy_(tensor_bytes_ + slack),
          dx_(tensor_bytes_ + slack),
          masks_(mask_elements + slack, mask_elements * 4 + slack, most_batches) {}

    double copy() { return copy_bandwidth(y_, x_, tensor_bytes_); }
    double stream() { return stream_ = stream_bandwidth(dx_, x_, dy_, tensor_bytes_); }

    // No mask, launch_auto; the numbers are times and floor bytes.
    measured dense(dtype type, int64 cols, double deviation = mild, double hidden_share = 0) {
        set_scores(type, deviation, hidden_share);
        // Of rows of 1 MB and more small tensors hold a few hundred, which measures how the last of them end.
        bool const is_long = cols * bytes_of(type) >= int64{1} << 20;
        int64 const count = is_long ? static_cast<int64>(longest_rows_bytes_) / bytes_of(type) : elements(type);
        call c = call_of(type, {count / cols, cols});
        measured result = timed(c, mask_kind::none, [=](cudaStream_t stream) { return start_dense(stream, c); });
        if (count > elements(type)) result.value = result.floor_bytes / result.time.median * 1e-9 / long_copy();
        return result;
    }

    // One mask, launch_auto. Shared masks: over 32 heads.
    measured masked(mask_kind masks, int64 cols) {
        int64 const count = elements(dtype::half);
        set_scores(dtype::half, mild, 0);
        bool const shares = masks != mask_kind::causal;
        int64 const queries = shares ? count / (32 * cols) : std::min(cols, count / cols);
        int64 const heads = shares ? 32 : std::max<int64>(1, count / (cols * queries));
        call c = call_of(dtype::half, {1, heads, queries, cols});
        masks_.set(c, masks);
        return timed(c, masks, [=](cudaStream_t stream) { return start_half(stream, masks, c); });
    }

    // 2048 x 2048 scores of 32 heads, as many batches as the tensor holds.
    measured article(dtype type, mask_kind masks, double set_share = 0.5) {
        set_scores(type, mild, 0);
        call c = article_call(type);
        masks_.set(c, masks, set_share);
        return timed(c, masks, [=](cudaStream_t stream) { return start_article(stream, masks, c); });
    }

    // The gradient of the scores, from probabilities that the forward pass has just given.
    measured backward(dtype type, int64 cols) {
        set_scores(type, mild, 0);
        call const c = call_of(type, {elements(type) / cols, cols});
        require(start_dense(nullptr, c));
        return share_of_stream(
            timed_backward(of_gradients(c), mask_kind::none,
                           [=](cudaStream_t stream, call const& b) { return start_dense_backward(stream, b); }));
    }
    measured article_backward(dtype type, mask_kind masks) {
        call const b = article_gradients(type, masks);
        measured const result = timed_backward(
            b, masks, [=](cudaStream_t stream, call const& c) { return start_article_backward(stream, masks, c); });
        return of_backward(masks) == quantity::share_of_stream ? share_of_stream(result) : result;
    }
    // Forward and backward, one after the other, over the time that a copy would take for both.
    measured training(dtype type, mask_kind masks) {
        call const b = article_gradients(type, masks);
        call f = article_call(type);
        masks_.set(f, masks);
        measured result = timed_backward(b, masks, [=](cudaStream_t stream, call const& c) {
            smx::status const s = start_article(stream, masks, f);
            return s ? start_article_backward(stream, masks, c) : s;
        });
        result.floor_bytes += masks_.floor_bytes(f, masks);
        result.value = result.time.median * copy() * 1e9 / result.floor_bytes;
        return result;
    }

    // Time with a dropout over time without, of rows of 2048 halves.
    measured dropout() {
        measured const without = dense(dtype::half, article_columns);
        call const c = call_of(dtype::half, {elements(dtype::half) / article_columns, article_columns});
        std::vector<double> const y = fetch(c.y, c.type, 0, article_columns);
        measured with = timed_as([=](cudaStream_t stream) { return launch_dropout_half(stream, c); }, without);
        std::vector<double> const kept = fetch(c.y, c.type, 0, article_columns);
        double dropped = 0;
        for (std::size_t k = 0; k < y.size(); ++k) {
            double const scaled = y[k] / (1 - dropped_share);
            if (kept[k] != 0 && std::fabs(kept[k] - scaled) > 0x1p-10 * scaled + 0x1p-23)
                throw std::runtime_error("wrong: kept " + std::to_string(kept[k]) + " of " + std::to_string(y[k]));
            dropped += kept[k] == 0 && y[k] != 0 ? 1.0 / article_columns : 0;
        }
        if (std::fabs(dropped - dropped_share) > 0.05)
            throw std::runtime_error("wrong: dropped " + std::to_string(dropped));
        return with;
    }
    measured dropout_backward() {
        measured const without = backward(dtype::half, article_columns);
        call const c = of_gradients(call_of(dtype::half, {elements(dtype::half) / article_columns, article_columns}));
        return timed_as([=](cudaStream_t stream) { return launch_dropout_backward_half(stream, c); }, without);
    }

    // x, y and the mask begin at different places within 16 bytes, and so do their rows.
    measured phases() {
        set_scores(dtype::half, mild, 0);
        constexpr int64 cols = 2047;
        call c = call_of(dtype::half, {1, 32, elements(dtype::half) / (32 * cols) - 1, cols});
        c.x = x_.at(2);
        c.y = y_.at(6);
        masks_.set(c, mask_kind::flags);
        c.flags += 5;
        c.flags_step.query = cols + 2;
        c.flags_step.batch = c.flags_step.query * c.shape.queries;
        masks_.set_flags(c.flags_step.batch + 5, 0.5);
        return timed(c, mask_kind::flags, [=](cudaStream_t stream) { return start_half(stream, mask_kind::flags, c); });
    }

    // Time of a kernel on one kind of data over its time on another.
    measured peaky_over_mild(dtype type, double deviation, double hidden_share) {
        measured const easy = dense(type, 2048);
        measured hard = dense(type, 2048, deviation, hidden_share);
        hard.value = hard.time.median / easy.time.median;
        return hard;
    }
    measured half_set_over_all_set(dtype type) {
        measured const easy = article(type, mask_kind::flags, 1.0);
        measured hard = article(type, mask_kind::flags, 0.5);
        hard.value = hard.time.median / easy.time.median;
        return hard;
    }

    // The worst time a byte at t + 1 columns over that at t, over all t where another kernel begins.
    measured worst_cliff(dtype type) {
        measured worst;
        worst.value = 0;
        auto const policy_at = [&](int64 cols) {
            return policy_of(call_of(type, {elements(type) / cols, cols}), mask_kind::none, device_.limits);
        };
        for (int64 t = 7; t < 131072; ++t) {
            if (policy_at(t) == policy_at(t + 1)) continue;
            measured const before = dense(type, t);
            measured after = dense(type, t + 1);
            after.value = (after.time.median / after.floor_bytes) / (before.time.median / before.floor_bytes);
            after.note = "at " + std::to_string(t) + " columns";
            if (after.value > worst.value) worst = after;
        }
        return worst;
    }

    // Few long rows, cold: a graph that goes round more memory than the L2 holds four times, against the fastest plain
    // copy in such a graph.
    measured decode(dtype type, int64 rows, int64 cols, bool programmatic) {
        set_scores(type, mild, 0);
        std::size_t const bytes = static_cast<std::size_t>(rows * cols * bytes_of(type));
        std::size_t const wanted =
            std::max<std::size_t>(8, 4 * static_cast<std::size_t>(device_.l2_bytes) / (2 * bytes) + 1);
        int const calls = static_cast<int>(std::min(wanted, tensor_bytes_ / bytes));
        double const plain = cold_copy(bytes, calls);
        call c = call_of(type, {rows, cols});
        c.programmatic = programmatic;
        auto const call_at = [&](int i) {
            call here = c;
            here.x = x_.at(static_cast<std::size_t>(i) * bytes);
            here.y = y_.at(static_cast<std::size_t>(i) * bytes);
            return here;
        };
        measured result;
        check(call_at(calls - 1), mask_kind::none, [&](cudaStream_t s) { return start_dense(s, call_at(calls - 1)); });
        result.time = measure_graph(calls, [&](cudaStream_t s, int i) { require(start_dense(s, call_at(i))); });
        result.floor_bytes = 2.0 * static_cast<double>(bytes);
        result.value = plain / result.time.median;
        result.rows = rows_of(c);
        result.kernel = kernel_of(c, mask_kind::none);
        char note[64];
        (void)std::snprintf(note, sizeof(note), "copy %.2f µs", plain * 1e6);
        result.note = note;
        return result;
    }

    double cold_copy(std::size_t bytes, int calls) {
        double& fastest = cold_copies_[bytes];
        if (fastest > 0) return fastest;
        for (int threads : {128, 256, 512, 1024}) {
            timing const time = measure_graph(calls, [&](cudaStream_t s, int i) {
                std::size_t const place = static_cast<std::size_t>(i) * bytes;
                bench::copy(s, y_.at(place), x_.at(place), bytes, threads);
            });
            if (fastest == 0 || time.median < fastest) fastest = time.median;
        }
        return fastest;
    }

    // 1 x 12 x 128 x 128 in a graph, out of the L2.
    measured small(mask_kind masks) {
        set_scores(dtype::half, mild, 0);
        call c = call_of(dtype::half, {1, 12, 128, 128});
        masks_.set(c, masks);
        check(c, masks, [&](cudaStream_t s) { return start_half(s, masks, c); });
        constexpr int calls = 200;
        measured result;
        timing const plain =
            measure_graph(calls, [&](cudaStream_t s, int) { bench::copy(s, c.y, c.x, 12 * 128 * 128 * 2); });
        result.time = measure_graph(calls, [&](cudaStream_t s, int) { require(start_half(s, masks, c)); });
        result.floor_bytes = masks_.floor_bytes(c, masks);
        result.value = result.time.median * 1e6;
        result.rows = rows_of(c);
        result.kernel = kernel_of(c, masks);
        char note[64];
        (void)std::snprintf(note, sizeof(note), "copy %.2f µs", plain.median * 1e6);
        result.note = note;
        return result;
    }

    measured host_cost() {
        call const c = call_of(dtype::half, {4, launch_cost_columns});
        launch_cost const cost = measure_launch_cost(c);
        measured result;
        result.time.median = cost.automatic;
        result.value = (cost.automatic - cost.bare) * 1e6;
        char note[96];
        (void)std::snprintf(note, sizeof(note), "launch_auto %.2f µs, cudaLaunchKernelEx %.2f µs", cost.automatic * 1e6,
                            cost.bare * 1e6);
        result.note = note;
        return result;
    }

    // Device memory that a call takes besides its tensors.
    measured extra_memory() {
        measured result = dense(dtype::half, 131072);
        std::size_t before = 0, after = 0, all = 0;
        must(cudaMemGetInfo(&before, &all), "cudaMemGetInfo");
        call const c = call_of(dtype::half, {elements(dtype::half) / 131072, 131072});
        require(start_dense(nullptr, c));
        must(cudaDeviceSynchronize(), "launch_auto");
        must(cudaMemGetInfo(&after, &all), "cudaMemGetInfo");
        result.value = static_cast<double>(before) - static_cast<double>(after);
        return result;
    }

private:
    static constexpr std::size_t slack = 4096;  // so that tensors may begin off the first byte
    static constexpr std::size_t mask_elements = std::size_t{1} << 26;
    static constexpr int most_batches = 64;

    // GB/s of a copy as large as the tensors of the longest rows.
    double long_copy() {
        if (long_copy_ == 0) long_copy_ = copy_bandwidth(y_, x_, longest_rows_bytes_);
        return long_copy_;
    }

    static std::size_t tensor_bytes(gpu const& device, bool quick) {
        std::size_t bytes = std::size_t{1} << (quick ? 29 : 31);
        while (4 * bytes + 5 * mask_elements + (std::size_t{1} << 28) > static_cast<std::size_t>(device.free_bytes))
            bytes /= 2;
        return bytes;
    }

    int64 elements(dtype type) const { return static_cast<int64>(tensor_bytes_) / bytes_of(type); }

    call call_of(dtype type, smx::extents shape) const {
        call c{};
        c.type = type;
        c.x = x_.at();
        c.y = y_.at();
        c.shape = shape;
        c.factor = 1.0;
        c.bulk_copies = device_.limits.bulk_copies;
        return c;
    }

    call article_call(dtype type) const {
        constexpr int64 heads = 32, side = article_columns;
        int64 const batches = std::min<int64>(most_batches, elements(type) / (heads * side * side));
        return call_of(type, {batches, heads, side, side});
    }

    call article_gradients(dtype type, mask_kind masks) {
        set_scores(type, mild, 0);
        call c = article_call(type);
        masks_.set(c, masks);
        require(start_article(nullptr, masks, c));
        return of_gradients(c);
    }

    // A forward call that has run as the backward call behind it.
    call of_gradients(call c) {
        if (!has_gradients_ || gradients_type_ != c.type) {
            fill_normal(dy_.at(), c.type, static_cast<int64>(dy_.bytes()) / bytes_of(c.type), 1.0, 0, 7);
            has_gradients_ = true;
            gradients_type_ = c.type;
        }
        c.x = y_.at();
        c.dy = dy_.at();
        c.y = dx_.at();
        c.factor = 0.125;
        return c;
    }

    measured share_of_stream(measured result) const {
        result.value = result.floor_bytes / result.time.median * 1e-9 / stream_;
        return result;
    }

    // Its time over that of another call of the same shape.
    template <class Launch>
    measured timed_as(Launch const& launch, measured const& other) {
        measured result = other;
        result.time = measure([&](cudaStream_t stream) { require(launch(stream)); });
        result.value = result.time.median / other.time.median;
        return result;
    }

    template <class Launch>
    measured timed_backward(call const& c, mask_kind masks, Launch const& launch) {
        auto const run = [=](cudaStream_t stream) { return launch(stream, c); };
        check(c, masks, run);
        measured result;
        result.time = measure([&](cudaStream_t stream) { require(run(stream)); });
        result.floor_bytes = masks_.floor_bytes(c, masks);
        result.rows = rows_of(c);
        result.kernel = short_name(backward_policy_of(c, masks, device_.limits));
        return result;
    }

    static int64 rows_of(call const& c) { return c.shape.batch * c.shape.heads * c.shape.queries; }
    std::string kernel_of(call const& c, mask_kind masks) const {
        return short_name(policy_of(c, masks, device_.limits));
    }

    void set_scores(dtype type, double deviation, double hidden_share) {
        if (type == scores_type_ && deviation == deviation_ && hidden_share == hidden_share_) return;
        fill_normal(x_.at(), type, static_cast<int64>(x_.bytes()) / bytes_of(type), deviation, hidden_share, 1);
        scores_type_ = type;
        deviation_ = deviation;
        hidden_share_ = hidden_share;
    }

    template <class Launch>
    void check(call const& c, mask_kind masks, Launch const& launch) {
        int64 const count = rows_of(c) * c.shape.keys;
        constexpr int all_ones = 0xff;  // a NaN in every dtype
        fill_bytes(c.y, all_ones, static_cast<std::size_t>(count * bytes_of(c.type)));
        require(launch(nullptr));
        must(cudaDeviceSynchronize(), "kernel");
        verify(c, {masks, masks_.host_lengths()});
    }

    template <class Launch>
    measured timed(call const& c, mask_kind masks, Launch const& launch) {
        check(c, masks, launch);
        measured result;
        result.time = measure([&](cudaStream_t stream) { require(launch(stream)); });
        result.floor_bytes = masks_.floor_bytes(c, masks);
        result.rows = rows_of(c);
        result.kernel = kernel_of(c, masks);
        return result;
    }

    gpu device_;
    std::size_t tensor_bytes_, longest_rows_bytes_;
    buffer x_, y_, dy_, dx_;
    double stream_ = 0, long_copy_ = 0;  // GB/s
    bool has_gradients_ = false;
    dtype gradients_type_ = dtype::half;
    mask_memory masks_;
    dtype scores_type_ = dtype::half;
    double deviation_ = 0, hidden_share_ = 0;
    std::map<std::size_t, double> cold_copies_;  // seconds of the fastest copy in a graph, by bytes
};

struct sweep {
    std::vector<int64> cols;
    double bar;  // of step 2
};

// Stage 1 asks 0.90 of aligned rows and 0.30 of all others from 32 to 131072 columns.
double first_bar(int64 cols, bool aligned) {
    if (cols < 32 || cols > 131072) return 0;
    return aligned && cols <= 16384 ? 0.90 : 0.30;
}

void add_dense(std::vector<bench_case>& cases, workbench* bench) {
    std::vector<sweep> const sweeps = {
        {{32, 64, 96, 128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192}, 0.97},
        {{12288, 16384}, 0.96},
        {{7, 9, 11, 12, 17, 24, 31, 33, 50, 63, 65, 100, 127, 129, 191, 200, 255}, 0.95},
        {{257, 383, 500, 700, 1000, 1001, 1023, 2047, 2050, 3000, 4095, 5000, 8191, 10000, 10001, 16383}, 0.94},
        {{20001, 32767}, 0.93},
        {{32768, 65536}, 0.96},
        {{131072}, 0.95},
        {{262144, 524288}, 0.92},
        {{1048576}, 0.91},
    };
    for (dtype type : every_dtype) {
        auto const add = [&](int64 cols, double bar) {
            bench_case c;
            c.name = std::string("dense/") + name_of(type) + "/" + std::to_string(cols);
            c.work = "no mask";
            c.bars[0] = first_bar(cols, cols * bytes_of(type) % 16 == 0);
            c.bars[1] = bar;
            c.type = type;
            c.cols = cols;
            c.run = [=] { return bench->dense(type, cols); };
            cases.push_back(c);
        };
        for (sweep const& s : sweeps) {
            for (int64 cols : s.cols) add(cols, s.bar);
        }
        for (int64 cols : {40000, 100000, 200000, 300000, 400000, 800000, 1200000}) {
            int64 const kilobytes = cols * bytes_of(type) / 1024;
            add(cols, kilobytes <= 512 ? 0.93 : kilobytes <= 1024 ? 0.90 : 0.80);
        }
    }
}

struct mask_case {
    mask_kind kind;
    char const* work;
    double bar;
};
constexpr mask_case mask_cases[] = {
    {mask_kind::none, "no mask", 0.97},
    {mask_kind::bias, "additive mask [Sq,Sk]", 0.96},
    {mask_kind::flags, "byte mask [B,1,Sq,Sk]", 0.95},
    {mask_kind::bits, "bit mask [B,1,Sq,Sk]", 0.95},
    {mask_kind::causal, "causal", 0.94},
    {mask_kind::causal_lengths_flags, "causal, lengths and byte mask", 0.93},
    {mask_kind::causal_bits, "causal and bit mask", 0.93},
    {mask_kind::causal_bias, "causal and additive", 0.90},
    {mask_kind::bias_flags, "additive and byte mask", 0.92},
    {mask_kind::all_four, "causal, lengths, byte and additive", 0.82},
};

void add_masks(std::vector<bench_case>& cases, workbench* bench) {
    for (dtype type : every_dtype) {
        for (mask_case const& m : mask_cases) {
            bench_case c;
            c.name = std::string("article/") + name_of(type) + "/" + name_of(m.kind);
            c.work = std::string("B x 32 x 2048 x 2048, ") + m.work;
            c.bars[0] = m.kind == mask_kind::causal && type == dtype::half ? 0.80
                        : m.kind == mask_kind::none                        ? 0.90
                                                                           : 0.30;
            c.bars[1] = m.bar;
            c.type = type;
            c.cols = article_columns;
            mask_kind const kind = m.kind;
            c.run = [=] { return bench->article(type, kind); };
            cases.push_back(c);
        }
    }
    for (mask_case const& m : mask_cases) {
        if (m.kind != mask_kind::causal && m.kind != mask_kind::flags && m.kind != mask_kind::bits &&
            m.kind != mask_kind::bias)
            continue;
        std::vector<int64> lengths = {32, 128, 500, 512, 1023, 2050, 8192, 32768, 131072};
        if (m.kind == mask_kind::bits) lengths = {512, 2050, 8192};
        for (int64 cols : lengths) {
            bench_case c;
            c.name = std::string(name_of(m.kind)) + "/half/" + std::to_string(cols);
            c.work = m.work;
            c.bars[0] = 0.30;
            c.cols = cols;
            mask_kind const kind = m.kind;
            c.run = [=] { return bench->masked(kind, cols); };
            cases.push_back(c);
        }
    }
    bench_case c;
    c.name = "phases/half/2047";
    c.work = "byte mask; x, y and mask in different phases";
    c.cols = 2047;
    c.run = [=] { return bench->phases(); };
    cases.push_back(c);
}

void add_backward(std::vector<bench_case>& cases, workbench* bench) {
    for (dtype type : every_dtype) {
        auto const add = [&](std::string const& name, std::string const& work, quantity what, int64 cols, double bar,
                             std::function<measured()> run) {
            bench_case c;
            c.name = std::string("backward/") + name_of(type) + "/" + name;
            c.work = work;
            c.what = what;
            c.bars[2] = bar;
            c.type = type;
            c.cols = cols;
            c.run = std::move(run);
            cases.push_back(c);
        };
        auto const add_dense = [&](int64 cols, double bar) {
            add(std::to_string(cols), "gradients, no mask", quantity::share_of_stream, cols, bar,
                [=] { return bench->backward(type, cols); });
        };
        for (int64 cols : {128, 256, 512, 1024, 2048, 4096, 8192, 16384}) add_dense(cols, 0.98);
        for (int64 cols : {500, 1001, 2047, 5000}) add_dense(cols, 0.93);
        for (int64 cols : {32, 64, 32768, 131072}) add_dense(cols, 0);
        add_dense(65536, 0.93);
        for (mask_case const& m : mask_cases) {
            if (m.kind == mask_kind::none || !has_backward(m.kind)) continue;
            mask_kind const kind = m.kind;
            add(name_of(kind), std::string("gradients, B x 32 x 2048 x 2048, ") + m.work, of_backward(kind),
                article_columns, kind == mask_kind::causal ? 0.96 : 0,
                [=] { return bench->article_backward(type, kind); });
        }
        bench_case c;
        c.name = std::string("training/") + name_of(type) + "/bias";
        c.work = "forward and backward, B x 32 x 2048 x 2048, additive mask [Sq,Sk], over a copy of its bytes";
        c.what = quantity::ratio;
        c.bars[2] = type == dtype::half ? 1.09 : 0;
        c.type = type;
        c.cols = article_columns;
        c.run = [=] { return bench->training(type, mask_kind::bias); };
        cases.push_back(c);
    }
}

void add_decode(std::vector<bench_case>& cases, workbench* bench) {
    struct row_bars {
        int64 rows;
        double bars[3];  // of 4096, 32768 and 131072 columns
    };
    constexpr int64 columns[3] = {4096, 32768, 131072};
    constexpr row_bars alone[] = {{32, {0.77, 0.68, 0.68}}, {64, {0.77, 0.74, 0.73}}, {256, {0.77, 0.80, 0.85}}};
    constexpr double programmatic[3] = {0.90, 0.78, 0.75};
    for (dtype type : every_dtype) {
        for (row_bars const& r : alone) {
            for (int i = 0; i < 3; ++i) {
                int64 const rows = r.rows, cols = columns[i];
                bench_case c;
                c.name =
                    std::string("decode/") + name_of(type) + "/" + std::to_string(rows) + "x" + std::to_string(cols);
                c.work = "few long rows, cold, in a graph";
                c.bars[1] = r.bars[i];
                c.type = type;
                c.cols = cols;
                c.run = [=] { return bench->decode(type, rows, cols, false); };
                cases.push_back(c);
                c.name += "/programmatic";
                c.work += ", programmatic launch";
                c.bars[1] = programmatic[i];
                c.run = [=] { return bench->decode(type, rows, cols, true); };
                cases.push_back(c);
            }
        }
    }
}

void add_others(std::vector<bench_case>& cases, workbench* bench) {
    for (mask_case const& m : mask_cases) {
        if (m.kind != mask_kind::none && m.kind != mask_kind::causal && m.kind != mask_kind::flags &&
            m.kind != mask_kind::bias)
            continue;
        bench_case c;
        c.name = std::string("small/half/") + name_of(m.kind);
        c.work = std::string("1 x 12 x 128 x 128 in a graph, ") + m.work;
        c.what = quantity::microseconds;
        c.bars[1] = m.kind == mask_kind::none ? 1.35 : 1.45;
        c.cols = 128;
        mask_kind const kind = m.kind;
        c.run = [=] { return bench->small(kind); };
        cases.push_back(c);
    }
    {
        bench_case c;
        c.name = "launch/host";
        c.work = "host time of launch_auto beyond cudaLaunchKernelEx";
        c.what = quantity::microseconds;
        c.bars[1] = 0.5;
        c.cols = 32;
        c.run = [=] { return bench->host_cost(); };
        cases.push_back(c);
    }
    {
        bench_case c;
        c.name = "memory/half";
        c.work = "device memory besides the tensors";
        c.what = quantity::bytes;
        c.bars[1] = 0.5;  // none
        c.cols = 131072;
        c.run = [=] { return bench->extra_memory(); };
        cases.push_back(c);
    }
    for (dtype type : every_dtype) {
        bench_case c;
        c.what = quantity::ratio;
        c.bars[1] = 1.03;
        c.type = type;
        c.cols = 2048;
        c.name = std::string("data/") + name_of(type) + "/peaky";
        c.work = "time on N(0, 20) over time on N(0, 1.8)";
        c.run = [=] { return bench->peaky_over_mild(type, peaky, 0); };
        cases.push_back(c);
        c.name = std::string("data/") + name_of(type) + "/half-hidden";
        c.work = "time on scores of which half are -inf over time on N(0, 1.8)";
        c.run = [=] { return bench->peaky_over_mild(type, mild, 0.5); };
        cases.push_back(c);
        c.name = std::string("data/") + name_of(type) + "/masked";
        c.work = "time with half the mask bytes set over time with all set";
        c.run = [=] { return bench->half_set_over_all_set(type); };
        cases.push_back(c);
        c.name = std::string("cliff/") + name_of(type);
        c.work = "worst time a byte at t + 1 columns over that at t";
        c.bars[1] = 1.10;
        c.cols = 0;
        c.run = [=] { return bench->worst_cliff(type); };
        cases.push_back(c);
    }
}

void add_dropout(std::vector<bench_case>& cases, workbench* bench) {
    bench_case c;
    c.what = quantity::ratio;
    c.bars[2] = 1.05;
    c.cols = article_columns;
    c.name = "dropout/half/forward";
    c.work = "time with a dropout over time without";
    c.run = [=] { return bench->dropout(); };
    cases.push_back(c);
    c.name = "dropout/half/backward";
    c.work = "time of gradients with a dropout over time without";
    c.run = [=] { return bench->dropout_backward(); };
    cases.push_back(c);
}

std::vector<bench_case> all_cases(workbench* bench) {
    std::vector<bench_case> cases;
    add_dense(cases, bench);
    add_masks(cases, bench);
    add_backward(cases, bench);
    add_dropout(cases, bench);
    add_decode(cases, bench);
    add_others(cases, bench);
    return cases;
}

// One case under Google Benchmark, which keeps its times if it is asked to (--benchmark_out).
void run_case(benchmark::State& state, outcome& o, int place, int count, double copy) {
    try {
        o.result = o.of->run();
        o.value =
            std::isnan(o.result.value) ? o.result.floor_bytes / o.result.time.median * 1e-9 / copy : o.result.value;
    } catch (std::exception const& problem) {
        o.error = problem.what();
    }
    if (!o.error.empty()) {
        std::fprintf(stderr, "[%d/%d] %s: %s\n", place, count, o.of->name.c_str(), o.error.c_str());
        state.SkipWithError(o.error.c_str());
        return;
    }
    std::fprintf(stderr, "[%d/%d] %s: %.3f (%.1f µs, %.0f MHz)\n", place, count, o.of->name.c_str(), o.value,
                 o.result.time.median * 1e6, o.result.time.mhz);
    std::size_t next = 0;
    while (state.KeepRunning()) {
        auto const& seconds = o.result.time.seconds;
        state.SetIterationTime(seconds.empty() ? o.result.time.median : seconds[next++ % seconds.size()]);
    }
    state.counters["value"] = o.value;
    state.counters["MHz"] = o.result.time.mhz;
}

// The table is printed when the copy has been measured again; until then a case is a line on stderr.
class silent_reporter : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(Context const&) override { return true; }
    void ReportRuns(std::vector<Run> const&) override {}
};

settings read_arguments(int& argc, char** argv) {
    settings s;
    int kept = 1;
    for (int i = 1; i < argc; ++i) {
        std::string const argument = argv[i];
        std::string stage;
        if (argument == "--quick") {
            s.quick = true;
        } else if (argument == "--list") {
            s.list = true;
        } else if (value_of(argument, "--stage=", stage) && (stage == "1" || stage == "2" || stage == "3")) {
            s.stage = stage[0] - '0';
        } else if (!value_of(argument, "--filter=", s.filter) && !value_of(argument, "--json=", s.json) &&
                   !value_of(argument, "--peers=", s.peers)) {
            argv[kept++] = argv[i];
        }
    }
    argc = kept;
    return s;
}

int run(settings const& s) {
    gpu device;
    std::string why;
    std::unique_ptr<workbench> bench;
    if (!s.list) {
        if (!find_gpu(device, why)) {
            std::printf("bars: nothing is measured, CUDA finds no GPU here: %s\n", why.c_str());
            return 0;
        }
        bench = std::make_unique<workbench>(device, s.quick);
    }

    std::vector<bench_case> cases = all_cases(bench.get());
    std::regex const filter(s.filter);
    cases.erase(std::remove_if(cases.begin(), cases.end(),
                               [&](bench_case const& c) {
                                   bool counts = false;
                                   for (int stage = 1; stage <= s.stage; ++stage) counts = counts || c.has_bar(stage);
                                   return (s.quick && !counts) || !std::regex_search(c.name, filter);
                               }),
                cases.end());
    if (s.list) {
        for (bench_case const& c : cases)
            std::printf("%-36s %6.2f %6.2f %6.2f  %s\n", c.name.c_str(), c.bars[0], c.bars[1], c.bars[2],
                        c.work.c_str());
        return 0;
    }
    if (cases.empty()) {
        std::fprintf(stderr, "bars: no case matches %s\n", s.filter.c_str());
        return 2;
    }

    run_facts facts;
    facts.gpu = device.name;
    facts.date = today();
    facts.quick = s.quick;
    facts.stage = s.stage;
    facts.copy_before = bench->copy();
    facts.stream = bench->stream();

    std::vector<outcome> outcomes(cases.size());
    int const count = static_cast<int>(cases.size());
    for (int i = 0; i < count; ++i) {
        outcome& o = outcomes[static_cast<std::size_t>(i)];
        o.of = &cases[static_cast<std::size_t>(i)];
        if (!o.of->run) {
            o.error = "smx does not have it yet";
            continue;
        }
        benchmark::RegisterBenchmark(o.of->name.c_str(),
                                     [&o, i, count, copy = facts.copy_before](benchmark::State& state) {
                                         run_case(state, o, i + 1, count, copy);
                                     })
            ->UseManualTime()
            ->Iterations(15)
            ->Unit(benchmark::kMicrosecond);
    }
    silent_reporter reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter);

    facts.copy_after = bench->copy();
    for (outcome& o : outcomes) {
        if (std::isnan(o.result.value) && o.error.empty())
            o.value = o.result.floor_bytes / o.result.time.median * 1e-9 / facts.copy();
    }

    peers const known = read_peers(s.peers);
    print_table(outcomes, known, facts);
    bool written = true;
    if (!s.json.empty()) {
        written = write_json(s.json, outcomes, known, facts);
        if (!written) std::fprintf(stderr, "bars: could not write %s\n", s.json.c_str());
    }

    bool all_right = written;
    for (int stage = 1; stage <= stages; ++stage) {
        int held = 0, missed = 0;
        for (outcome const& o : outcomes) {
            if (o.of->has_bar(stage)) ++(o.held(stage) ? held : missed);
        }
        if (held + missed > 0)
            std::printf("Step %d: %d bars held, %d missed%s. ", stage, held, missed,
                        stage > s.stage ? " (not asked for yet)" : "");
        if (stage <= s.stage && missed > 0) all_right = false;
    }
    for (outcome const& o : outcomes) {
        if (!o.of->run || o.error.empty()) continue;
        std::printf("%s failed. ", o.of->name.c_str());
        all_right = false;
    }
    std::printf("\n");
    return all_right ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
    try {
        bench::settings const s = bench::read_arguments(argc, argv);
        benchmark::Initialize(&argc, argv);
        if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
        int const code = bench::run(s);
        benchmark::Shutdown();
        return code;
    } catch (std::exception const& problem) {
        std::fprintf(stderr, "bars: %s\n", problem.what());
        return 2;
    }
}
