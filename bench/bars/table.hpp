// The table of bars: what was measured, what it had to be, and who else does it how fast.
#pragma once
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "../support/gpu.hpp"

namespace bench {

// What the number of a case means, and so which side of its bar it has to be on.
enum class quantity {
    share_of_copy,    // at least the bar
    share_of_stream,  // two reads and a write; at least
    microseconds,     // at most
    ratio,            // at most
    bytes,            // at most
};

inline constexpr int stages = 3;

struct measured {
    timing time;
    double floor_bytes = 0;  // share of copy = floor bytes / time / copy bandwidth, unless `value` says it
    double value = std::nan("");
    int64 rows = 0;
    std::string kernel;
    std::string note;
};

struct bench_case {
    std::string name;
    std::string work;
    quantity what = quantity::share_of_copy;
    double bars[stages] = {};  // of stage 1, 2 and 3; 0 = none
    dtype type = dtype::half;
    int64 cols = 0;
    std::function<measured()> run;  // empty: smx does not have it yet

    bool has_bar(int stage) const { return bars[stage - 1] != 0; }
};

struct outcome {
    bench_case const* of = nullptr;
    measured result;
    double value = std::nan("");
    std::string error;

    bool held(int stage) const {
        double const bar = of->bars[stage - 1];
        bool const at_least = of->what == quantity::share_of_copy || of->what == quantity::share_of_stream;
        return error.empty() && (at_least ? value >= bar : value <= bar);
    }
};

struct peer {
    std::string name;
    double microseconds = 0, share = 0;
    std::string gpu, date;
};
using peers = std::map<std::string, peer>;

// Lines of case,peer,microseconds,share,gpu,date; empty fields are unknown.
peers read_peers(std::string const& path);

struct run_facts {
    std::string gpu, date;
    bool quick = false;
    int stage = 1;
    double copy_before = 0, copy_after = 0;  // GB/s
    double stream = 0;                       // GB/s, two reads and a write

    double copy() const { return copy_before > copy_after ? copy_before : copy_after; }
};

void print_table(std::vector<outcome> const& outcomes, peers const& known, run_facts const& facts);
bool write_json(std::string const& path, std::vector<outcome> const& outcomes, peers const& known,
                run_facts const& facts);

}  // namespace bench
