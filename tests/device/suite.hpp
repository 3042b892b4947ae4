// How the tests of this folder are written down: each check runs on a GPU, and with the same expectations on the host
// path, where a mistake in an expectation shows without one.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device/problem.hpp"

// A test SUITE.NAME on the GPU, which skips itself where there is none, and a test SUITE_on_host.NAME; the body is
// given `where`.
#define SMX_DEVICE_TEST(SUITE, NAME)                                      \
    static void SUITE##_##NAME(device::space& where);                     \
    TEST(SUITE, NAME) {                                                   \
        std::string why;                                                  \
        device::space* const gpu = device::gpu_space(&why);               \
        if (gpu == nullptr) GTEST_SKIP() << why;                          \
        SUITE##_##NAME(*gpu);                                             \
    }                                                                     \
    TEST(SUITE##_on_host, NAME) { SUITE##_##NAME(device::host_space()); } \
    static void SUITE##_##NAME([[maybe_unused]] device::space& where)

namespace device {

// The kernel itself, or the host path with its types.
inline runner at(space& where, runner const& kernel) { return where.is_gpu() ? kernel : host_twin(kernel); }

// Whether the answer is right; reports it if not, so that a loop can stop at a kernel's first wrong answer.
inline bool is_right(problem const& p, runner const& kernel, space& where) {
    std::string const sentence = check(p, at(where, kernel), where);
    if (sentence.empty()) return true;
    ADD_FAILURE() << sentence;
    return false;
}

// Every kernel; where all of them are the host path, one for each set of types, the one for the longest rows.
runner_list const& kernels_of(space& where);

// Whether a kernel can take rows of this length where it runs, packed ones of its own types.
bool can_take(runner const& kernel, int64 cols, space& where);
// The longest such rows, where there is a limit; 0 where the device lacks an instruction that the kernel needs.
int64 longest_row(runner const& kernel, space& where);

// Lengths at which a kernel, or launch_auto's choice, does something else than one column before.
std::vector<int> edges_of(runner const& kernel, space& where);

// A problem with everything drawn at random but the number of columns.
problem random_problem(runner const& kernel, int cols, support::random_stream& random);

// A few kernels that between them have every kind of group and every body, composed masks, half and float.
runner_list const& chosen_kernels();

smx::strides pitched(smx::extents shape, int64 pitch);
// Memory order batch, query, head, key: what a transposed view of an attention layer's scores looks like.
smx::strides query_major(smx::extents shape, int64 pitch);

}  // namespace device
