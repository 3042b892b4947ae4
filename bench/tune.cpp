// Every way to run a row, forced by hand on the same rows: what the table of launch_auto is chosen from, and where one
// way overtakes another.
//
//   tune [--dtype=half|bfloat16|float] [--cols=32,100,...] [--megabytes=512] [--limit=SECONDS] [--pause=SECONDS]
//   [--all] [--json=FILE]
//
// A line for each length: the best kernel of every family as a share of copy, and what launch_auto takes. --all adds
// every kernel.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

#include "bars/operands.hpp"
#include "bars/verify.hpp"
#include "support/arguments.hpp"
#include "tune/candidates.hpp"

namespace bench {
namespace {

struct settings {
    std::vector<dtype> types = {dtype::half, dtype::bfloat16, dtype::float32};
    std::vector<int64> cols = {8,     16,    32,    64,    100,   128,    200,    256,    500,   512,   768,
                               1000,  1024,  1536,  2047,  2048,  3072,   4096,   6144,   8192,  10000, 12288,
                               16384, 20001, 32768, 40000, 65536, 100000, 131072, 200000, 262144};
    std::size_t megabytes = 512;
    double limit = 540, pause = 0.1;
    bool all = false;
    std::string json;
};

struct result {
    dtype type;
    int64 cols;
    smx::policy kernel;
    timing time;
    double share;
    bool automatic;
};

std::string words_of(smx::policy const& p) {
    char words[64];
    (void)std::snprintf(words, sizeof(words), "%s%dx%dx%d/%d",
                        p.body == smx::body_kind::packed    ? "packed "
                        : p.body == smx::body_kind::compact ? "compact "
                                                            : "",
                        p.lanes, p.packs, p.vec, p.threads);
    return words;
}

std::vector<candidate> candidates_of(dtype type) {
    return type == dtype::half       ? candidates<smx::half>()
           : type == dtype::bfloat16 ? candidates<smx::bfloat16>()
                                     : candidates<float>();
}

smx::policy automatic_of(call const& c, smx::device_limits limits) {
    auto const plan = [&](auto const* typed) {
        using element = std::remove_const_t<std::remove_pointer_t<decltype(typed)>>;
        return smx::plan(limits, scores_of<element>(c), factor_of(c), smx::no_mask(), probabilities_of<element>(c))
            .kernel;
    };
    return c.type == dtype::half       ? plan(static_cast<smx::half const*>(nullptr))
           : c.type == dtype::bfloat16 ? plan(static_cast<smx::bfloat16 const*>(nullptr))
                                       : plan(static_cast<float const*>(nullptr));
}

// Kernels of which most lanes would have nothing to do are not worth a measurement.
bool is_worth_trying(smx::policy const& p, int64 cols) {
    if (smx::holds_row(p.body)) return cols <= p.columns() && p.columns() <= 8 * cols + 64;
    return cols >= p.lanes;
}

class sweep {
public:
    sweep(gpu const& device, settings const& s)
        : settings_(s),
          bytes_(s.megabytes << 20),
          x_(bytes_ + 4096),
          y_(bytes_ + 4096),
          start_(std::chrono::steady_clock::now()) {
        limits_ = device.limits;
        options_.launches = 9;
        options_.warm_ups = 2;
        options_.pause = s.pause;
        options_.repeats = 1;
        copy_ = copy_bandwidth(y_, x_, bytes_);
    }

    double copy() const { return copy_; }
    bool out_of_time() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() > settings_.limit;
    }

    // All that can run rows of this length.
    std::vector<result> run(dtype type, int64 cols) {
        if (type != filled_ || !has_scores_) {
            constexpr double deviation = 1.8;
            fill_normal(x_.at(), type, static_cast<int64>(bytes_) / bytes_of(type), deviation, 0, 1);
            filled_ = type;
            has_scores_ = true;
        }
        call c{};
        c.type = type;
        c.x = x_.at();
        c.y = y_.at();
        c.shape = smx::extents(static_cast<int64>(bytes_) / (cols * bytes_of(type)), cols);
        c.factor = 1.0;
        smx::policy const automatic = automatic_of(c, limits_);
        std::vector<result> results;
        for (candidate const& k : candidates_of(type)) {
            if (!is_worth_trying(k.kernel, cols) || out_of_time()) continue;
            constexpr int all_ones = 0xff;
            fill_bytes(c.y, all_ones, static_cast<std::size_t>(c.shape.queries * cols * bytes_of(type)));
            if (smx::status const s = k.launch(nullptr, c); !s) {
                if (s.code == smx::errc::cuda_failed) throw std::runtime_error(s.requirement);
                continue;  // the device has not what it needs
            }
            must(cudaDeviceSynchronize(), "kernel");
            verify(c, {});
            timing const time = measure([&](cudaStream_t stream) { (void)k.launch(stream, c); }, options_);
            must(cudaGetLastError(), "launch");
            double const moved = 2.0 * static_cast<double>(c.shape.queries * cols * bytes_of(type));
            results.push_back({type, cols, k.kernel, time, moved / time.median * 1e-9 / copy_, k.kernel == automatic});
        }
        std::sort(results.begin(), results.end(), [](result const& a, result const& b) { return a.share > b.share; });
        return results;
    }

private:
    settings settings_;
    std::size_t bytes_;
    buffer x_, y_;
    smx::device_limits limits_;
    timing_options options_;
    double copy_ = 0;
    dtype filled_ = dtype::half;
    bool has_scores_ = false;
    std::chrono::steady_clock::time_point start_;
};

void print_line(std::vector<result> const& results, int64 cols, bool all) {
    std::printf("%8lld", cols);
    for (family f : every_family) {
        auto const best =
            std::find_if(results.begin(), results.end(), [&](result const& r) { return family_of(r.kernel) == f; });
        if (best == results.end()) {
            std::printf("  %26s", "-");
        } else {
            std::printf("  %.3f %20s", best->share, words_of(best->kernel).c_str());
        }
    }
    auto const automatic = std::find_if(results.begin(), results.end(), [](result const& r) { return r.automatic; });
    if (automatic == results.end()) {
        std::printf("  %26s\n", "(not in this list)");
    } else {
        std::printf("  %.3f %20s\n", automatic->share, words_of(automatic->kernel).c_str());
    }
    for (result const& r : results) {
        if (all)
            std::printf("            %.3f ±%.1f%%  %.0f MHz  %s %s%s\n", r.share, 50 * r.time.spread, r.time.mhz,
                        name_of(family_of(r.kernel)), words_of(r.kernel).c_str(),
                        r.automatic ? "  <- launch_auto" : "");
    }
    std::fflush(stdout);
}

bool write_json(std::string const& path, std::string const& gpu_name, double copy, std::vector<result> const& results) {
    std::ofstream file(path);
    file << "{\n\"gpu\": \"" << gpu_name << "\",\n\"copy_gbs\": " << copy << ",\n\"kernels\": [";
    char const* separator = "\n";
    for (result const& r : results) {
        file << separator << "{\"dtype\": \"" << name_of(r.type) << "\", \"cols\": " << r.cols << ", \"family\": \""
             << name_of(family_of(r.kernel)) << "\", \"kernel\": \"" << words_of(r.kernel)
             << "\", \"share\": " << r.share << ", \"microseconds\": " << r.time.median * 1e6
             << ", \"mhz\": " << r.time.mhz << ", \"automatic\": " << (r.automatic ? "true" : "false") << "}";
        separator = ",\n";
    }
    file << "\n]\n}\n";
    return static_cast<bool>(file.flush());
}

settings read_arguments(int argc, char** argv) {
    settings s;
    for (int i = 1; i < argc; ++i) {
        std::string const argument = argv[i];
        std::string value;
        if (argument == "--all") {
            s.all = true;
        } else if (value_of(argument, "--dtype=", value)) {
            s.types.clear();
            for (dtype type : every_dtype) {
                if (value == name_of(type)) s.types.push_back(type);
            }
            if (s.types.empty()) throw std::runtime_error("--dtype is half, bfloat16 or float");
        } else if (value_of(argument, "--cols=", value)) {
            s.cols.clear();
            for (char const* at = value.c_str(); *at != '\0';) {
                char* end = nullptr;
                long long const cols = std::strtoll(at, &end, 10);
                if (end == at || cols < 1) throw std::runtime_error("--cols is a list of lengths, with commas between");
                s.cols.push_back(cols);
                at = *end == ',' ? end + 1 : end;
            }
        } else if (value_of(argument, "--megabytes=", value)) {
            s.megabytes = static_cast<std::size_t>(std::max(1, std::atoi(value.c_str())));
        } else if (value_of(argument, "--limit=", value)) {
            s.limit = std::atof(value.c_str());
        } else if (value_of(argument, "--pause=", value)) {
            s.pause = std::atof(value.c_str());
        } else if (!value_of(argument, "--json=", s.json)) {
            throw std::runtime_error("unknown argument " + argument + "; see the head of bench/tune.cpp");
        }
    }
    return s;
}

int run(settings const& s) {
    gpu device;
    std::string why;
    if (!find_gpu(device, why)) {
        std::printf("tune: nothing is measured, CUDA finds no GPU here: %s\n", why.c_str());
        return 0;
    }
    sweep all(device, s);
    std::printf(
        "%s · copy %.0f GB/s · %zu MB in, %zu MB out · cells: share of copy, lanes x packs x columns a pack / "
        "threads\n",
        device.name.c_str(), all.copy(), s.megabytes, s.megabytes);
    std::vector<result> results;
    for (dtype type : s.types) {
        std::printf("\n%8s", name_of(type));
        for (family f : every_family) std::printf("  %26s", name_of(f));
        std::printf("  %26s\n", "launch_auto");
        for (int64 cols : s.cols) {
            if (all.out_of_time()) break;
            std::vector<result> const line = all.run(type, cols);
            print_line(line, cols, s.all);
            results.insert(results.end(), line.begin(), line.end());
        }
    }
    if (all.out_of_time())
        std::printf("Stopped at the limit of %.0f s: what is not listed was not measured.\n", s.limit);
    if (!s.json.empty() && !write_json(s.json, device.name, all.copy(), results)) {
        std::fprintf(stderr, "tune: could not write %s\n", s.json.c_str());
        return 1;
    }
    return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
    try {
        return bench::run(bench::read_arguments(argc, argv));
    } catch (std::exception const& problem) {
        std::fprintf(stderr, "tune: %s\n", problem.what());
        return 2;
    }
}
