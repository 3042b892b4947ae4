// Runs a call on a device and says how long it took.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "call.hpp"

struct timing {
    std::string device;
    double seconds = 0;  // the median of several runs

    // What the operator must move at least: every score once, every probability once.
    double gigabytes_per_second(call const& c) const {
        double const bytes = static_cast<double>(c.elements()) * static_cast<double>(bytes_of(c.in) + bytes_of(c.out));
        return seconds > 0 ? bytes / seconds * 1e-9 : 0;
    }
};

inline double median(std::vector<double> seconds) {
    auto const middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    return *middle;
}

// Errors    std::runtime_error with one sentence; the probabilities are then unspecified
timing run_on_cpu(call const&);

// Why nothing can run on a GPU here; empty if it can.
std::string gpu_absence();

// All pointers of the call are the host's; the time is the kernel's alone.
timing run_on_gpu(call const&);
