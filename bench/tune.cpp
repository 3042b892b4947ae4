// Every way to run a row, forced by hand on the same rows: what the lists of launch_auto are chosen from.
//
//   tune [--dtype=half,bfloat16,float] [--mask=none,causal,flags,bias,causal+bias,causal+lengths+flags,bias+flags,all]
//        [--rows=N,...] [--cols=N,...] [--megabytes=512] [--limit=SECONDS] [--pause=SECONDS] [--all] [--json=FILE]
//
// A line for each length: the best of every family as a share of copy; then the fastest kernels, as they are written in
// those lists, and what launch_auto takes. --all lists every kernel. Without --rows there are as many as fill the
// tensors; with it they are measured cold, in a graph, against a copy of their size.
#include "tune/sweep.hpp"

#include <cstdio>
#include <stdexcept>
#include <string>

#include "bars/operands.hpp"

namespace bench {
namespace {

struct settings {
    sweep_settings of;
    bool all = false;
};

settings read_arguments(int argc, char** argv) {
    settings s;
    s.of.types = {dtype::half, dtype::bfloat16, dtype::float32};
    s.of.cols = {8,     16,    32,    64,    100,   128,    200,    256,    500,   512,   768,
                 1000,  1024,  1536,  2047,  2048,  3072,   4096,   6144,   8192,  10000, 12288,
                 16384, 20001, 32768, 40000, 65536, 100000, 131072, 200000, 262144};
    for (int i = 1; i < argc; ++i) {
        std::string const argument = argv[i];
        if (argument == "--all") {
            s.all = true;
        } else if (!read_argument(argument, s.of)) {
            throw std::runtime_error("unknown argument " + argument + "; see the head of bench/tune.cpp");
        }
    }
    return s;
}

std::vector<candidate> candidates_of(dtype type, mask_kind masks) {
    return with_kind(masks, [&](auto kind) {
        constexpr mask_kind known = decltype(kind)::value;
        return type == dtype::half       ? candidates<smx::half, known>()
               : type == dtype::bfloat16 ? candidates<smx::bfloat16, known>()
                                         : candidates<float, known>();
    });
}

void print_head(dtype type, mask_kind masks, int64 rows) {
    std::printf("\n%s, mask: %s, ", name_of(type), name_of(masks));
    std::printf(rows > 0 ? "%lld rows, cold, in a graph\n" : "as many rows as fill the tensors\n", rows);
    std::printf("%8s", "columns");
    for (family f : every_family) std::printf("  %12s", name_of(f));
    std::printf("  %12s\n", "launch_auto");
}

void print_line(std::vector<forced_kernel> const& kernels, int64 cols, bool all) {
    std::printf("%8lld", cols);
    auto const cell = [](forced_kernel const* k) {
        if (k == nullptr) {
            std::printf("  %12s", "-");
        } else {
            std::printf("  %12.3f", k->share);
        }
    };
    for (family f : every_family) cell(best_of(kernels, f));
    cell(automatic_of(kernels));
    std::printf("\n");
    constexpr int best = 3;
    int place = 0;
    for (forced_kernel const& k : kernels) {
        if (all || k.automatic || place < best)
            std::printf("          %.3f  %s%s  (±%.1f%%, %.0f MHz)\n", k.share, type_of(k.kernel).c_str(),
                        k.automatic ? "  <- launch_auto" : "", 50 * k.time.spread, k.time.mhz);
        ++place;
    }
    std::fflush(stdout);
}

int run(settings const& s) {
    gpu device;
    std::string why;
    if (!find_gpu(device, why)) {
        std::printf("tune: nothing is measured, CUDA finds no GPU here: %s\n", why.c_str());
        return 0;
    }
    sweep all(device, s.of);
    std::printf("%s · copy %.0f GB/s · %zu MB in, %zu MB out · cells: share of copy\n", device.name.c_str(), all.copy(),
                s.of.megabytes, s.of.megabytes);
    std::vector<forced_kernel> results;
    for (mask_kind masks : s.of.masks) {
        for (dtype type : s.of.types) {
            std::vector<candidate> const list = candidates_of(type, masks);
            for (int64 rows : s.of.rows) {
                if (all.out_of_time()) break;
                print_head(type, masks, rows);
                for (int64 cols : s.of.cols) {
                    if (all.out_of_time()) break;
                    std::vector<forced_kernel> const line = all.run(list, type, masks, rows, cols);
                    print_line(line, cols, s.all);
                    results.insert(results.end(), line.begin(), line.end());
                }
            }
        }
    }
    if (all.out_of_time())
        std::printf("Stopped at the limit of %.0f s: what is not listed was not measured.\n", s.of.limit);
    if (!s.of.json.empty() && !write_json(s.of.json, device, all.copy(), results)) {
        std::fprintf(stderr, "tune: could not write %s\n", s.of.json.c_str());
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
