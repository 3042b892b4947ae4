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

// In place of a kernel: let the library choose.
struct automatic {};

template <class Kernel, class... Arguments>
smx::status launch_as(Arguments const&... arguments) {
    if constexpr (smx::same_type<Kernel, automatic>) {
        return smx::launch_auto(arguments...);
    } else {
        return smx::launch<Kernel>(arguments...);
    }
}
template <class Kernel, class... Arguments>
smx::status launch_backward_as(Arguments const&... arguments) {
    if constexpr (smx::same_type<Kernel, automatic>) {
        return smx::launch_auto_backward(arguments...);
    } else {
        return smx::launch_backward<Kernel>(arguments...);
    }
}

}  // namespace device
