// The host's memory and the current GPU's.
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "device/space.hpp"
#include "device/support.cuh"
#include "smx/launch.cuh"

namespace device {

namespace {

// On the host nothing is asked for before it is done: the call is made anew.
class repeated_call final : public recording {
public:
    explicit repeated_call(std::function<void()> call) : call_(std::move(call)) {}
    void replay() override { call_(); }

private:
    std::function<void()> call_;
};

class host_memory final : public space {
public:
    bool is_gpu() const override { return false; }
    void* allocate(std::size_t bytes) override { return std::aligned_alloc(256, (bytes + 255) / 256 * 256); }
    void release(void* memory) override { std::free(memory); }
    void upload(void* to, void const* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
    void download(void* to, void const* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
    smx::device_limits limits() override {
        smx::device_limits any;  // the host path has none
        any.shared_bytes_per_block = 227 * 1024;
        any.bulk_copies = true;
        any.cluster_blocks = 16;
        return any;
    }
    void* stream() override { return nullptr; }
    std::unique_ptr<recording> record(std::function<void()> const& launch) override {
        return std::make_unique<repeated_call>(launch);
    }
    int pending_error() override { return 0; }
    std::string finish() override { return {}; }
};

class gpu_memory : public space {
public:
    bool is_gpu() const override { return true; }
    // Released memory waits here for the next tensor of just its size: most of a small problem's time would be the
    // driver's, for memory that it maps and unmaps while other processes wait to do the same.
    void* allocate(std::size_t bytes) override {
        {
            std::lock_guard<std::mutex> const lock(mutex_);
            auto const found = waiting_.find(bytes);
            if (found != waiting_.end()) {
                void* const memory = found->second;
                waiting_.erase(found);
                waiting_bytes_ -= bytes;
                in_use_.emplace(memory, bytes);
                return memory;
            }
        }
        void* memory = nullptr;
        note(cudaMalloc(&memory, bytes), "cudaMalloc");
        std::lock_guard<std::mutex> const lock(mutex_);
        in_use_.emplace(memory, bytes);
        return memory;
    }
    void release(void* memory) override {
        note(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // as cudaFree does
        std::lock_guard<std::mutex> const lock(mutex_);
        auto const found = in_use_.find(memory);
        if (waiting_bytes_ + found->second > most_waiting_bytes) {
            for (auto const& block : waiting_) give_back(block.second);
            waiting_.clear();
            waiting_bytes_ = 0;
        }
        if (found->second > most_waiting_bytes) {
            give_back(memory);
        } else {
            waiting_.emplace(found->second, memory);
            waiting_bytes_ += found->second;
        }
        in_use_.erase(found);
    }
    // Synchronous for the host does not mean that a stream of its own may read it already: finish() does.
    void upload(void* to, void const* from, std::size_t bytes) override {
        note(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy to the GPU");
    }
    void download(void* to, void const* from, std::size_t bytes) override {
        note(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy from the GPU");
    }
    smx::device_limits limits() override {
        smx::device_limits found;
        smx::status const s = smx::find_limits(found);
        note(static_cast<cudaError_t>(s.cuda_error), s.argument);
        return found;
    }
    // One a thread, which does not wait for the default stream.
    void* stream() override {
        thread_local cudaStream_t const mine = [this] {
            cudaStream_t created = nullptr;
            note(cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
            return created;
        }();
        return mine;
    }
    std::unique_ptr<recording> record(std::function<void()> const& launch) override {
        auto const on = static_cast<cudaStream_t>(stream());
        cudaGraph_t graph = nullptr;
        note(cudaStreamBeginCapture(on, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
        launch();
        note(cudaStreamEndCapture(on, &graph), "cudaStreamEndCapture");
        return std::make_unique<recorded_graph>(*this, graph);
    }
    int pending_error() override { return static_cast<int>(cudaPeekAtLastError()); }
    std::string finish() override {
        note(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        std::lock_guard<std::mutex> const lock(mutex_);
        std::string const sentence = first_;
        first_.clear();
        return sentence;
    }

protected:
    void note(cudaError_t error, char const* call) {
        std::lock_guard<std::mutex> const lock(mutex_);
        note_locked(error, call);
    }

private:
    class recorded_graph final : public recording {
    public:
        recorded_graph(gpu_memory& where, cudaGraph_t graph) : where_(where), graph_(graph) {
            if (graph != nullptr) where_.note(cudaGraphInstantiate(&executable_, graph, 0), "cudaGraphInstantiate");
        }
        ~recorded_graph() override {
            if (executable_ != nullptr) where_.note(cudaGraphExecDestroy(executable_), "cudaGraphExecDestroy");
            if (graph_ != nullptr) where_.note(cudaGraphDestroy(graph_), "cudaGraphDestroy");
        }
        void replay() override {
            if (executable_ == nullptr) return;  // why not is noted
            where_.note(cudaGraphLaunch(executable_, static_cast<cudaStream_t>(where_.stream())), "cudaGraphLaunch");
        }

    private:
        gpu_memory& where_;
        cudaGraph_t graph_;
        cudaGraphExec_t executable_ = nullptr;
    };

    void give_back(void* memory) { note_locked(cudaFree(memory), "cudaFree"); }
    void note_locked(cudaError_t error, char const* call) {
        if (error != cudaSuccess && first_.empty()) first_ = std::string(call) + ": " + cudaGetErrorString(error);
    }

    static constexpr std::size_t most_waiting_bytes = std::size_t{256} << 20;

    std::mutex mutex_;
    std::string first_;
    std::map<void*, std::size_t> in_use_;
    std::multimap<std::size_t, void*> waiting_;
    std::size_t waiting_bytes_ = 0;
};

// What of the driver places memory, asked for by name: nothing else here is linked with it.
struct driver_calls {
    decltype(&cuMemGetAllocationGranularity) granularity = nullptr;
    decltype(&cuMemAddressReserve) reserve = nullptr;
    decltype(&cuMemCreate) create = nullptr;
    decltype(&cuMemMap) map = nullptr;
    decltype(&cuMemSetAccess) set_access = nullptr;
    bool complete = true;

    driver_calls() {
        void* const library = dlopen("libcuda.so.1", RTLD_NOW);
        auto const find = [&](auto& call, char const* name) {
            void* const symbol = library == nullptr ? nullptr : dlsym(library, name);
            std::memcpy(&call, &symbol, sizeof symbol);
            complete = complete && symbol != nullptr;
        };
        find(granularity, "cuMemGetAllocationGranularity");
        find(reserve, "cuMemAddressReserve");
        find(create, "cuMemCreate");
        find(map, "cuMemMap");
        find(set_access, "cuMemSetAccess");
    }
};

// Blocks lie in regions of whole pages between pages that are not mapped. Regions are kept for other blocks: mapping
// one takes longer than a small problem.
class fenced_memory final : public gpu_memory {
public:
    explicit fenced_memory(fence side) : side_(side) {}

    // Whether a region can be had. To be asked before all else.
    bool works() {
        (void)cudaFree(nullptr);  // the driver's calls need a context, which the runtime makes at its first
        CUmemAllocationProp const asked = properties();
        if (!driver_.complete || !succeeded(driver_.granularity(&page_, &asked, CU_MEM_ALLOC_GRANULARITY_MINIMUM)))
            return false;
        void* const memory = allocate(1);
        if (memory != nullptr) release(memory);
        return finish().empty() && memory != nullptr;
    }

    void* allocate(std::size_t bytes) override {
        std::size_t const room = (bytes + page_ - 1) / page_ * page_;
        region const found = take(room);
        if (found.begin == nullptr) return nullptr;
        note(cudaMemset(found.begin, 0xff, room), "cudaMemset");
        unsigned char* const memory = side_ == fence::before ? found.begin : found.begin + room - bytes;
        std::lock_guard<std::mutex> const lock(regions_mutex_);
        in_use_.emplace(memory, found);
        return memory;
    }
    void release(void* memory) override {
        note(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        std::lock_guard<std::mutex> const lock(regions_mutex_);
        auto const found = in_use_.find(memory);
        waiting_.emplace(found->second.room, found->second);
        in_use_.erase(found);
    }

private:
    struct region {
        unsigned char* begin = nullptr;
        std::size_t room = 0;
    };

    static CUmemAllocationProp properties() {
        int device = 0;
        (void)cudaGetDevice(&device);
        CUmemAllocationProp asked = {};
        asked.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        asked.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        asked.location.id = device;
        return asked;
    }
    bool succeeded(CUresult result) {
        if (result != CUDA_SUCCESS) note(cudaErrorMemoryAllocation, "memory between fences");
        return result == CUDA_SUCCESS;
    }
    region take(std::size_t room) {
        {
            std::lock_guard<std::mutex> const lock(regions_mutex_);
            auto const found = waiting_.find(room);
            if (found != waiting_.end()) {
                region const kept = found->second;
                waiting_.erase(found);
                return kept;
            }
        }
        CUmemAllocationProp const asked = properties();
        CUmemGenericAllocationHandle memory = 0;
        CUdeviceptr reserved = 0;
        CUmemAccessDesc access = {};
        access.location = asked.location;
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        bool const mapped = succeeded(driver_.reserve(&reserved, room + 2 * page_, 0, 0, 0)) &&
                            succeeded(driver_.create(&memory, room, &asked, 0)) &&
                            succeeded(driver_.map(reserved + page_, room, 0, memory, 0)) &&
                            succeeded(driver_.set_access(reserved + page_, room, &access, 1));
        if (!mapped) return {};
        return {reinterpret_cast<unsigned char*>(reserved + page_), room};
    }

    fence side_;
    driver_calls driver_;
    std::size_t page_ = 0;
    std::mutex regions_mutex_;
    std::map<void*, region> in_use_;
    std::multimap<std::size_t, region> waiting_;
};

}  // namespace

space& host_space() {
    static host_memory memory;
    return memory;
}

space* gpu_space(std::string* why) {
    static std::string const reason = why_no_gpu();
    if (why != nullptr) *why = reason;
    static gpu_memory memory;
    return reason.empty() ? &memory : nullptr;
}

space* fenced_gpu_space(fence side, std::string* why) {
    if (gpu_space(why) == nullptr) return nullptr;
    static fenced_memory before(fence::before), behind(fence::behind);
    static bool const works = before.works() && behind.works();
    if (why != nullptr && !works) *why = "this GPU's driver does not place memory";
    return !works ? nullptr : side == fence::before ? &before : &behind;
}

}  // namespace device
