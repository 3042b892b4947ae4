// The CPU path on one core against the three-pass loop one would write instead, compiled with the same flags, and on
// one core and all against oneDNN.
//
//   cpu [--stage=1|2] [--filter=REGEX]
//
// Exit status 1: slower than the plain loop; at stage 2 also: slower than oneDNN. Times of one core are of the thread's
// own clock, so that others on the machine disturb little; of all cores by the wall.
#include <benchmark/benchmark.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include "cpu/onednn.hpp"
#include "cpu/plain.hpp"
#include "smx/smx.hpp"

namespace bench {
namespace {

enum class cores { one, all };
enum class mask_kind { none, causal, lengths, flags, bias };

char const* name_of(mask_kind m) {
    switch (m) {
        case mask_kind::none:
            return "none";
        case mask_kind::causal:
            return "causal";
        case mask_kind::lengths:
            return "lengths";
        case mask_kind::flags:
            return "flags";
        case mask_kind::bias:
            return "bias";
    }
    return "";
}

template <class T>
char const* type_name();
template <>
char const* type_name<float>() {
    return "float";
}
template <>
char const* type_name<smx::half>() {
    return "half";
}
template <>
char const* type_name<smx::bfloat16>() {
    return "bfloat16";
}

template <class T>
constexpr onednn_call::type onednn_type() {
    return sizeof(T) == 4                     ? onednn_call::type::float32
           : smx::same_type<T, smx::bfloat16> ? onednn_call::type::bfloat16
                                              : onednn_call::type::half;
}

constexpr float factor = 0.125f;
constexpr smx::int64 elements = 2 << 20;  // x and y together leave a second-level cache

// One head's worth of square scores where they fit, repeated over heads.
template <class T>
struct problem {
    smx::extents shape;
    std::vector<T> x, y, expected, biases, hiding;
    std::vector<unsigned char> flags;
    int length;

    explicit problem(int cols) {
        smx::int64 const queries = std::min<smx::int64>(cols, elements / cols), heads = elements / (queries * cols);
        shape = {1, heads, queries, cols};
        length = cols - cols / 8;
        std::mt19937 random(1);
        std::normal_distribution<float> scores(0.0f, 14.0f), small(0.0f, 1.0f);
        auto const count = static_cast<std::size_t>(heads * queries * cols),
                   panel = static_cast<std::size_t>(queries * cols);
        x.resize(count);
        y.resize(count);
        expected.resize(count);
        biases.resize(panel);
        flags.resize(panel);
        for (T& value : x) value = smx::dtype<T>::narrow(scores(random));
        for (T& value : biases) value = smx::dtype<T>::narrow(small(random));
        for (unsigned char& flag : flags) flag = random() % 2 != 0 ? 1 : 0;
    }

    int span_end(mask_kind masks, smx::int64 query) const {
        auto const keys = static_cast<int>(shape.keys);
        if (masks == mask_kind::causal) return static_cast<int>(query + shape.keys - shape.queries) + 1;
        return masks == mask_kind::lengths ? length : keys;
    }

    // The mask as numbers to add, for a library that has no other.
    void hide(mask_kind masks) {
        hiding = biases;
        if (masks == mask_kind::bias) return;
        for (smx::int64 q = 0; q < shape.queries; ++q) {
            for (int k = 0; k < shape.keys; ++k) {
                auto const at = static_cast<std::size_t>(q * shape.keys + k);
                bool const sees = k < span_end(masks, q) && (masks != mask_kind::flags || flags[at] != 0);
                hiding[at] = smx::dtype<T>::narrow(sees ? 0.0f : -HUGE_VALF);
            }
        }
    }

    void run_smx(mask_kind masks, cores used) {
        auto const call = [&](auto const& mask) {
            smx::rows const all{0, shape.heads * shape.queries};
            auto const scores = smx::scores(x.data(), shape);
            auto const scale = smx::fixed_scale(factor);
            auto const probabilities = smx::probabilities(y.data());
            auto const s = used == cores::one ? smx::softmax_on_host(all, scores, scale, mask, probabilities)
                                              : smx::softmax_on_host(scores, scale, mask, probabilities);
            if (!s) throw std::runtime_error(s.argument);
        };
        smx::strides const step = smx::broadcast({1, 1, shape.queries, shape.keys});
        if (masks == mask_kind::none) return call(smx::no_mask());
        if (masks == mask_kind::causal) return call(smx::causal_mask::bottom_right());
        if (masks == mask_kind::lengths) return call(smx::key_lengths(&length));
        if (masks == mask_kind::flags) return call(smx::mask_tensor(flags.data(), step));
        return call(smx::bias_tensor(biases.data(), step));
    }

    template <class Exponential>
    void run_plain(mask_kind masks, std::vector<T>& into) const {
        static std::vector<float> scores;
        scores.resize(static_cast<std::size_t>(shape.keys));
        auto const cols = static_cast<int>(shape.keys);
        for (smx::int64 row = 0; row < shape.heads * shape.queries; ++row) {
            smx::int64 const query = row % shape.queries;
            unsigned char const* const f = masks == mask_kind::flags ? flags.data() + query * shape.keys : nullptr;
            T const* const b = masks == mask_kind::bias ? biases.data() + query * shape.keys : nullptr;
            plain_row<Exponential>(x.data() + row * shape.keys, into.data() + row * shape.keys, cols, factor, 0,
                                   span_end(masks, query), f, b, scores.data());
        }
    }

    // Largest error of y against `expected`, as a part of the value, past what rounding to T may do.
    void compare() const {
        double const allowed = sizeof(T) == 4 ? 2e-5 : smx::same_type<T, smx::half> ? 0x1p-10 : 0x1p-7;
        for (std::size_t i = 0; i < y.size(); ++i) {
            double const have = static_cast<double>(smx::dtype<T>::widen(y[i])),
                         want = static_cast<double>(smx::dtype<T>::widen(expected[i]));
            if (!(std::fabs(have - want) <= allowed * want + 0x1p-24))
                throw std::runtime_error("wrong at " + std::to_string(i) + ": " + std::to_string(have) + ", must be " +
                                         std::to_string(want));
        }
    }
};

double seconds(cores used) {
    timespec now{};
    clock_gettime(used == cores::one ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct outcome {
    std::string name, error, onednn_missing;
    double bytes_an_element = 0;
    double smx = 0, plain = 0, polynomial = 0, onednn = 0;  // ns an element, one core
    double smx_all = 0, onednn_all = 0;
};

template <class T>
void run_case(benchmark::State& state, outcome& o, mask_kind masks, int cols) {
    try {
        problem<T> p(cols);
        p.template run_plain<libm_exponential>(masks, p.expected);
        p.run_smx(masks, cores::all);
        p.compare();
        p.run_smx(masks, cores::one);
        p.compare();

        std::function<void()> onednn, onednn_all;
        {
            onednn_call call{};
            call.element = onednn_type<T>();
            call.heads = p.shape.heads;
            call.queries = p.shape.queries;
            call.keys = p.shape.keys;
            call.x = p.x.data();
            call.y = p.y.data();
            call.factor = factor;
            if (masks != mask_kind::none) {
                p.hide(masks);
                call.bias = p.hiding.data();
            }
            onednn_all = make_onednn(call, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), o.onednn_missing);
            onednn = make_onednn(call, 1, o.onednn_missing);
        }
        auto const nanoseconds = [&](cores used, auto const& work) {
            work();  // each finds in the caches what it left there itself
            double const start = seconds(used);
            work();
            return (seconds(used) - start) * 1e9 / static_cast<double>(p.x.size());
        };
        // Taken in turn, so that a change of the clock meets all of them; the least is what the core can do.
        auto const least = [](double& best, double now) { best = best == 0 || now < best ? now : best; };
        for (auto _ : state) {
            double const now = nanoseconds(cores::one, [&] { p.run_smx(masks, cores::one); });
            state.SetIterationTime(now * 1e-9 * static_cast<double>(p.x.size()));
            least(o.smx, now);
            if (onednn) least(o.onednn, nanoseconds(cores::one, onednn));
            for (int i = 0; i < 3; ++i) least(o.smx_all, nanoseconds(cores::all, [&] { p.run_smx(masks, cores::all); }));
            if (!onednn_all) continue;
            for (int i = 0; i < 3; ++i) least(o.onednn_all, nanoseconds(cores::all, onednn_all));
            // OpenMP's threads wait for more work with their eyes open, on the cores of whoever comes next.
            usleep(20000);
        }
        for (int i = 0; i < 2; ++i) {
            least(o.plain, nanoseconds(cores::one, [&] { p.template run_plain<libm_exponential>(masks, p.expected); }));
            least(o.polynomial,
                  nanoseconds(cores::one, [&] { p.template run_plain<smx_exponential>(masks, p.expected); }));
        }
        o.bytes_an_element = 2.0 * sizeof(T);
        state.counters["ns_per_element"] = o.smx;
        state.counters["plain_over_smx"] = o.plain / o.smx;
        if (o.onednn > 0) state.counters["onednn_over_smx"] = o.onednn / o.smx;
        if (o.onednn_all > 0) state.counters["onednn_over_smx_all_cores"] = o.onednn_all / o.smx_all;
    } catch (std::exception const& problem) {
        o.error = problem.what();
        state.SkipWithError(o.error.c_str());
    }
}

class silent_reporter : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(Context const&) override { return true; }
    void ReportRuns(std::vector<Run> const&) override {}
};

void print_table(std::vector<outcome> const& outcomes) {
    std::printf("%-24s %8s %8s %12s %8s %14s %10s %8s %10s %8s %8s\n", "one core", "ns/elem", "GB/s", "plain loop",
                "share", "same, smx exp", "oneDNN", "share", "all cores", "oneDNN", "share");
    for (outcome const& o : outcomes) {
        if (!o.error.empty()) {
            std::printf("%-24s %s\n", o.name.c_str(), o.error.c_str());
            continue;
        }
        std::printf("%-24s %8.3f %8.2f %12.3f %8.2f %14.3f ", o.name.c_str(), o.smx, o.bytes_an_element / o.smx,
                    o.plain, o.plain / o.smx, o.polynomial);
        if (o.onednn > 0) {
            std::printf("%10.3f %8.2f ", o.onednn, o.onednn / o.smx);
        } else {
            std::printf("%10s %8s ", "-", "-");
        }
        if (o.onednn_all > 0) {
            std::printf("%10.3f %8.3f %8.2f\n", o.smx_all, o.onednn_all, o.onednn_all / o.smx_all);
        } else {
            std::printf("%10.3f %8s %8s %s\n", o.smx_all, "-", "-", o.onednn_missing.c_str());
        }
    }
}

template <class T>
void register_cases(std::vector<outcome>& outcomes, std::regex const& filter) {
    for (mask_kind masks :
         {mask_kind::none, mask_kind::causal, mask_kind::lengths, mask_kind::flags, mask_kind::bias}) {
        for (int cols : {7, 32, 64, 128, 500, 512, 2047, 2048, 8192, 32768, 131072}) {
            std::string const name =
                std::string("cpu/") + type_name<T>() + "/" + name_of(masks) + "/" + std::to_string(cols);
            if (!std::regex_search(name, filter)) continue;
            outcomes.emplace_back();
            outcomes.back().name = name;
            outcome& o = outcomes.back();
            benchmark::RegisterBenchmark(
                name.c_str(), [&o, masks, cols](benchmark::State& state) { run_case<T>(state, o, masks, cols); })
                ->UseManualTime()
                ->Iterations(7)
                ->Unit(benchmark::kMicrosecond);
        }
    }
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
    int stage = 1, kept = 1;
    std::string words;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--stage=1") == 0 || std::strcmp(argv[i], "--stage=2") == 0) {
            stage = argv[i][8] - '0';
        } else if (std::strncmp(argv[i], "--filter=", 9) == 0) {
            words = argv[i] + 9;
        } else {
            argv[kept++] = argv[i];
        }
    }
    argc = kept;
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;

    std::vector<bench::outcome> outcomes;
    outcomes.reserve(1000);  // cases hold references
    std::regex const filter(words);
    bench::register_cases<float>(outcomes, filter);
    bench::register_cases<smx::half>(outcomes, filter);
    bench::register_cases<smx::bfloat16>(outcomes, filter);
    bench::silent_reporter reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter);
    benchmark::Shutdown();

    bench::print_table(outcomes);
    int slower_than_plain = 0, slower_than_onednn = 0, slower_on_all = 0, broken = 0;
    for (bench::outcome const& o : outcomes) {
        broken += o.error.empty() ? 0 : 1;
        slower_than_plain += o.error.empty() && o.plain < o.smx ? 1 : 0;
        slower_than_onednn += o.onednn > 0 && o.onednn < o.smx ? 1 : 0;
        slower_on_all += o.onednn_all > 0 && o.onednn_all < o.smx_all ? 1 : 0;
    }
    std::printf("%zu cases: %d slower than the plain loop, %d slower than oneDNN on one core and %d on all%s, %d failed.\n",
                outcomes.size(), slower_than_plain, slower_than_onednn, slower_on_all,
                stage == 1 ? " (bars of step 2)" : "", broken);
    return broken > 0 || slower_than_plain > 0 || (stage == 2 && slower_than_onednn + slower_on_all > 0) ? 1 : 0;
}
