// Where one way to run a row overtakes another: the best kernel of every family, forced by hand on the same rows,
// beside launch_auto.
//
//   crossover [--dtype=half,float] [--cols=N,...] [--megabytes=512] [--limit=SECONDS] [--pause=SECONDS] [--json=FILE]
//
// Prints a Markdown table for each type: columns, families, shares of copy, and which kernel was the fastest.
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "crossover/list.hpp"
#include "tune/sweep.hpp"

namespace bench {
namespace {

sweep_settings read_arguments(int argc, char** argv) {
    sweep_settings s;
    s.types = {dtype::half, dtype::float32};
    s.cols = {8,    16,   32,    64,    128,   256,   512,    1000,   1024,   2047,   2048,
              4096, 8192, 10000, 16384, 32768, 65536, 131072, 262144, 524288, 1048576};
    for (int i = 1; i < argc; ++i) {
        if (!read_argument(argv[i], s))
            throw std::runtime_error(std::string("unknown argument ") + argv[i] +
                                     "; see the head of bench/crossover.cpp");
    }
    bool const is_compiled =
        s.masks.size() == 1 && s.masks[0] == mask_kind::none && s.rows.size() == 1 && s.rows[0] == 0;
    if (!is_compiled) throw std::runtime_error("masks and few rows are what tune is for");
    if (std::find(s.types.begin(), s.types.end(), dtype::bfloat16) != s.types.end())
        throw std::runtime_error("--dtype is of half, float: bfloat16 is as half");
    return s;
}

void print_head(dtype type) {
    std::printf("\n| %s, columns |", name_of(type));
    for (family f : every_family) std::printf(" %s |", name_of(f));
    std::printf(" launch_auto | fastest |\n|---|");
    for (std::size_t i = 0; i < std::size(every_family) + 2; ++i) std::printf("---|");
    std::printf("\n");
}

// The fastest family is in bold.
void print_line(std::vector<forced_kernel> const& kernels, int64 cols) {
    std::printf("| %lld |", cols);
    auto const cell = [&](forced_kernel const* k) {
        if (k == nullptr) {
            std::printf(" |");
        } else {
            std::printf(k == kernels.data() ? " **%.2f** |" : " %.2f |", k->share);
        }
    };
    for (family f : every_family) cell(best_of(kernels, f));
    cell(automatic_of(kernels));
    std::printf(" `%s` |\n", kernels.empty() ? "" : type_of(kernels[0].kernel).c_str());
    std::fflush(stdout);
}

int run(sweep_settings const& s) {
    gpu device;
    std::string why;
    if (!find_gpu(device, why)) {
        std::printf("crossover: nothing is measured, CUDA finds no GPU here: %s\n", why.c_str());
        return 0;
    }
    sweep all(device, s);
    std::printf("%s · copy %.0f GB/s · %zu MB in, %zu MB out · cells: share of copy\n", device.name.c_str(), all.copy(),
                s.megabytes, s.megabytes);
    std::vector<forced_kernel> results;
    for (dtype type : s.types) {
        std::vector<candidate> const list =
            type == dtype::half ? crossover_kernels<smx::half>() : crossover_kernels<float>();
        if (all.out_of_time()) break;
        print_head(type);
        for (int64 cols : s.cols) {
            if (all.out_of_time()) break;
            std::vector<forced_kernel> const line = all.run(list, type, mask_kind::none, 0, cols);
            print_line(line, cols);
            for (forced_kernel const& k : line) {
                if (k.automatic || best_of(line, family_of(k.kernel)) == &k) results.push_back(k);
            }
        }
    }
    if (all.out_of_time())
        std::printf("Stopped at the limit of %.0f s: what is not listed was not measured.\n", s.limit);
    if (!s.json.empty() && !write_json(s.json, device, all.copy(), results)) {
        std::fprintf(stderr, "crossover: could not write %s\n", s.json.c_str());
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
        std::fprintf(stderr, "crossover: %s\n", problem.what());
        return 2;
    }
}
