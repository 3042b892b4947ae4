// The operator from C++ without Python: the library is loaded, and the dispatcher finds it by name.
//
//   call_from_cpp smx_torch.so      g++ -std=c++17 -I<torch>/include ... call_from_cpp.cpp -ltorch_cpu -lc10 -ldl
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
    if (argc != 2 || dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) == nullptr) {
        std::puts(argc != 2 ? "usage: call_from_cpp smx_torch.so" : dlerror());
        return 1;
    }
    auto const softmax = c10::Dispatcher::singleton().findSchemaOrThrow("smx::scaled_mask_softmax", "");
    // scores; then mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty and out_dtype, as the schema has them.
    torch::jit::Stack stack{at::rand({3, 4}), {}, {}, {}, 0.125, 0, false, false, "zeros", {}};
    softmax.callBoxed(stack);
    at::Tensor const y = stack[0].toTensor();
    for (int query = 0; query < 3; ++query) {
        for (int key = 0; key < 4; ++key) std::printf("%g ", y[query][key].item<double>());
        std::puts("");
    }
    return y[0][0].item<double>() == 1 ? 0 : 1;
}
