// Forcing kernels on the same rows, one after another, and what each took.
#pragma once
#include <string>
#include <vector>

#include "../bars/mask_memory.hpp"
#include "candidates.hpp"

namespace bench {

struct sweep_settings {
    std::vector<dtype> types;
    std::vector<mask_kind> masks = {mask_kind::none};
    std::vector<int64> rows = {0};  // 0: as many as fill the tensors
    std::vector<int64> cols;
    std::size_t megabytes = 512;  // of x, and of y
    double limit = 540;           // seconds after which no more is begun
    double pause = 0.1;           // seconds before each measurement
    std::string json;
};

// False where the argument is none of a sweep's; throws where it is one and says nothing.
//   --dtype=half,... --mask=causal,bias+flags,... --rows=32,... --cols=32,... --megabytes=512 --limit=540 --pause=0.1
//   --json=FILE
bool read_argument(std::string const& argument, sweep_settings& s);

struct forced_kernel {
    dtype type;
    mask_kind masks;
    int64 rows, cols;  // rows: 0 where there were as many as fill the tensors
    smx::policy kernel;
    timing time;
    double share;    // of copy: for few rows, of a cold copy of their size in a graph
    bool automatic;  // what launch_auto takes
};

class sweep {
public:
    sweep(gpu const& device, sweep_settings const& s);

    double copy() const { return copy_; }
    bool out_of_time() const;

    // All kernels of a list that can run such rows, fastest first.
    std::vector<forced_kernel> run(std::vector<candidate> const& list, dtype type, mask_kind masks, int64 rows,
                                   int64 cols);

private:
    call call_of(dtype type, mask_kind masks, int64 rows, int64 cols) const;
    void set_scores(dtype type);

    struct rounds;  // the places of few rows' calls, so many that none finds its rows in the L2
    rounds rounds_of(call const& c, mask_kind masks);
    double cold_copy(rounds const& around);
    static call call_at(rounds const& around, call const& c, int place);

    sweep_settings settings_;
    gpu device_;
    std::size_t bytes_;
    buffer x_, y_;
    mask_memory masks_;
    timing_options options_;
    double copy_ = 0, start_;
    bool has_scores_ = false;
    dtype scores_type_ = dtype::half;
};

// The fastest of a family, and what launch_auto takes; null where it is not among them.
forced_kernel const* best_of(std::vector<forced_kernel> const& kernels, family f);
forced_kernel const* automatic_of(std::vector<forced_kernel> const& kernels);

bool write_json(std::string const& path, gpu const& device, double copy, std::vector<forced_kernel> const& kernels);

}  // namespace bench
