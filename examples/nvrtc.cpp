// Compiling at run time, as an inference engine does: a kernel template that includes smx's headers, one instance of it
// by NVRTC, loaded through the driver API. No compiler but NVRTC sees the kernel, and this program does not link the
// driver.
#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "support/check.hpp"

namespace {

// [source]
// What an engine would generate: a kernel of its own around one row of smx, a template over what it knows by now.
char const* const source = R"(
#include <smx/group/warp.cuh>
#include <smx/mask/causal.hpp>
#include <smx/row/resident.hpp>

template <class Element, int Packs>
__global__ void attention_softmax(Element const* x, Element* y, smx::row_range rows, smx::extents shape, float factor) {
    smx::int64 const index = blockIdx.x * 4 + threadIdx.x / 32;  // a warp a row, four a block
    if (index >= rows.count()) return;
    smx::warp_group<32> g;
    smx::strides const step = smx::packed_strides(shape);
    smx::softmax_row<smx::tile<32, 16 / sizeof(Element), Packs>>(
        g, smx::dense_input<Element>{x, step}, factor, smx::causal_mask::bottom_right(), smx::dense_output<Element>{y, step},
        rows[index], shape);
}
)";
char const* const instance = "attention_softmax<smx::half, 2>";  // rows of up to 32 * 8 * 2 columns
// [/source]

void require(nvrtcResult result) {
    if (result == NVRTC_SUCCESS) return;
    std::printf("NVRTC: %s\n", nvrtcGetErrorString(result));
    std::exit(1);
}

void require(CUresult result) {
    if (result == CUDA_SUCCESS) return;
    std::printf("CUDA driver: error %d\n", static_cast<int>(result));
    std::exit(1);
}

struct compiled {
    std::string cubin;
    std::string name;  // of the instance, as the linker knows it
};

// [compile]
compiled compile(std::string const& architecture) {
    nvrtcProgram program;
    require(nvrtcCreateProgram(&program, source, "attention_softmax.cu", 0, nullptr, nullptr));
    require(nvrtcAddNameExpression(program, instance));
    std::string const target = "--gpu-architecture=" + architecture;
    char const* const options[] = {"--std=c++17", "-I" SMX_INCLUDE_DIR, target.c_str()};
    if (nvrtcCompileProgram(program, 3, options) != NVRTC_SUCCESS) {
        std::size_t size = 0;
        require(nvrtcGetProgramLogSize(program, &size));
        std::string log(size, '\0');
        require(nvrtcGetProgramLog(program, &log[0]));
        std::puts(log.c_str());
        std::exit(1);
    }
    compiled result;
    char const* name = nullptr;
    require(nvrtcGetLoweredName(program, instance, &name));
    result.name = name;
    std::size_t size = 0;
    require(nvrtcGetCUBINSize(program, &size));
    result.cubin.resize(size);
    require(nvrtcGetCUBIN(program, &result.cubin[0]));
    require(nvrtcDestroyProgram(&program));
    return result;
}
// [/compile]

// The driver, found when the program runs: a program that links it does not start on a machine without one.
class driver {
public:
    driver() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {}

    template <class Function>
    Function* find(Function*, char const* name) const {
        void* const symbol = library_ != nullptr ? dlsym(library_, name) : nullptr;
        return reinterpret_cast<Function*>(symbol);
    }

    // A GPU with a context that is current for this thread, its architecture in `architecture`; or why there is none.
    char const* start(std::string& architecture) const;

private:
    void* library_;
};

// cuda.h names some functions by macros that carry their version; both steps are needed to get at that name.
#define NAME_AS_TEXT(function) #function
#define DRIVER(functions, function) functions.find(static_cast<decltype(&function)>(nullptr), NAME_AS_TEXT(function))

char const* driver::start(std::string& architecture) const {
    auto const init = DRIVER((*this), cuInit);
    if (init == nullptr) return "no CUDA driver on this machine";
    int devices = 0, major = 0, minor = 0;
    if (init(0) != CUDA_SUCCESS || DRIVER((*this), cuDeviceGetCount)(&devices) != CUDA_SUCCESS || devices == 0)
        return "the CUDA driver finds no device";
    CUdevice device;
    CUcontext context;
    require(DRIVER((*this), cuDeviceGet)(&device, 0));
    require(DRIVER((*this), cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    require(DRIVER((*this), cuDeviceGetAttribute)(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    require(DRIVER((*this), cuDevicePrimaryCtxRetain)(&context, device));
    require(DRIVER((*this), cuCtxSetCurrent)(context));
    architecture = "sm_" + std::to_string(10 * major + minor);
    return nullptr;
}

// Runs the compiled kernel on `y`, which holds the scores, in place.
void run(driver const& cuda, compiled const& code, std::vector<smx::half>& y, smx::extents shape, float factor) {
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr memory;
    std::size_t const bytes = y.size() * sizeof(smx::half);
    require(DRIVER(cuda, cuModuleLoadData)(&module, code.cubin.data()));
    require(DRIVER(cuda, cuModuleGetFunction)(&kernel, module, code.name.c_str()));
    require(DRIVER(cuda, cuMemAlloc)(&memory, bytes));
    require(DRIVER(cuda, cuMemcpyHtoD)(memory, y.data(), bytes));
    smx::row_range rows(shape);
    void* arguments[] = {&memory, &memory, &rows, &shape, &factor};
    require(DRIVER(cuda, cuLaunchKernel)(kernel, static_cast<unsigned>((rows.count() + 3) / 4), 1, 1, 128, 1, 1, 0,
                                         nullptr, arguments, nullptr));
    require(DRIVER(cuda, cuMemcpyDtoH)(y.data(), memory, bytes));
    require(DRIVER(cuda, cuMemFree)(memory));
    require(DRIVER(cuda, cuModuleUnload)(module));
}

}  // namespace

int main() {
    driver const cuda;
    std::string architecture = "sm_90";
    char const* const missing = cuda.start(architecture);

    std::clock_t const start = std::clock();
    compiled const code = compile(architecture);
    double const seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    std::printf("%s\n%s for %s: %zu bytes in %.2f s of processor time (budget 0.30 s)\n", code.name.c_str(), instance,
                architecture.c_str(), code.cubin.size(), seconds);
    if (missing != nullptr) {
        std::printf("no GPU: %s; compiled, not run\n", missing);
        return 0;
    }

    int const queries = 333, keys = 500;
    std::vector<smx::half> y;
    std::vector<float> scores, probabilities;
    for (float const number : example::numbers(std::size_t{queries} * keys, 20.0f)) {
        y.push_back(smx::dtype<smx::half>::narrow(number));
        scores.push_back(smx::dtype<smx::half>::widen(y.back()));
    }
    run(cuda, code, y, {queries, keys}, 0.125f);
    for (smx::half const p : y) probabilities.push_back(smx::dtype<smx::half>::widen(p));
    auto const expected = example::plain_softmax(queries, keys, [&](long long row, int col) {
        double const score = static_cast<double>(scores[static_cast<std::size_t>(row * keys + col)]);
        return col <= row + keys - queries ? score / 8 : example::hidden_score;
    });
    return example::agrees("probabilities", probabilities, expected, 1e-3) ? 0 : 1;
}
