// What tests of calls on a GPU have in common: they are left out where there is none, and call a kernel by its name or
// let the library choose.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "device/support.cuh"
#include "smx/smx.cuh"

namespace device {

class gpu_test : public ::testing::Test {
protected:
    void SetUp() override {
        std::string const why = why_no_gpu();
        if (!why.empty()) GTEST_SKIP() << why;
        (void)cudaGetLastError();
        ASSERT_TRUE(smx::find_limits(limits));
    }
    smx::device_limits limits;
};

// In place of a kernel: let the library choose, among all or, where a test has no time to compile them, among some.
template <class Choice>
struct automatic_among {
    using choice = Choice;
};
using automatic = automatic_among<smx::every_kernel>;
template <class Kernel>
inline constexpr bool is_automatic = false;
template <class Choice>
inline constexpr bool is_automatic<automatic_among<Choice>> = true;

template <class Kernel, class... Arguments>
smx::status launch_as(Arguments const&... arguments) {
    if constexpr (is_automatic<Kernel>) {
        return smx::launch_auto<typename Kernel::choice>(arguments...);
    } else {
        return smx::launch<Kernel>(arguments...);
    }
}
template <class Kernel, class... Arguments>
smx::status launch_backward_as(Arguments const&... arguments) {
    if constexpr (is_automatic<Kernel>) {
        return smx::launch_auto_backward<typename Kernel::choice>(arguments...);
    } else {
        return smx::launch_backward<Kernel>(arguments...);
    }
}

}  // namespace device
