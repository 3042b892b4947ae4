// Where a problem lives while it runs: host memory, or a GPU's.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "smx/smx.hpp"

namespace device {

// What a stream was asked for, to be done again and again.
class recording {
public:
    recording() = default;
    recording(recording const&) = delete;
    recording& operator=(recording const&) = delete;
    virtual ~recording() = default;
    virtual void replay() = 0;
};

class space {
public:
    space() = default;
    space(space const&) = delete;
    space& operator=(space const&) = delete;
    virtual ~space() = default;

    virtual bool is_gpu() const = 0;
    // At a multiple of 256 bytes; exactly so many, so that compute-sanitizer sees an access one byte past the end.
    virtual void* allocate(std::size_t bytes) = 0;
    virtual void release(void* memory) = 0;
    virtual void upload(void* to, void const* from, std::size_t bytes) = 0;
    virtual void download(void* to, void const* from, std::size_t bytes) = 0;
    // What decides between kernels.
    virtual smx::device_limits limits() = 0;
    // The stream that runners are given.
    virtual void* stream() = 0;
    // Records what launch() asks of stream(), and does nothing of it yet: into a graph on a GPU.
    virtual std::unique_ptr<recording> record(std::function<void()> const& launch) = 0;
    // The error CUDA remembers for this thread.
    virtual int pending_error() = 0;
    // Waits for all that was asked for; a sentence about the first thing that went wrong since the last call, or
    // nothing.
    virtual std::string finish() = 0;
};

space& host_space();

// Null where there is no GPU; `why` then says so in a sentence.
space* gpu_space(std::string* why = nullptr);

// The GPU's memory with fences: a block begins, or ends, where no kernel may read, so that one that does is ended by
// the GPU itself. Blocks are at multiples of what their size is a multiple of, up to 256 bytes, and NaN lies on the
// other side. Null where there is no GPU, or its driver does not let memory be placed.
enum class fence { before, behind };
space* fenced_gpu_space(fence side, std::string* why = nullptr);

// Memory of a space with its contents; no memory for no bytes.
class placed {
public:
    placed(space& where, std::size_t bytes) : where_(where), bytes_(bytes) {
        if (bytes != 0) memory_ = static_cast<unsigned char*>(where.allocate(bytes));
    }
    placed(space& where, std::vector<unsigned char> const& contents) : placed(where, contents.size()) {
        if (bytes_ != 0) where.upload(memory_, contents.data(), bytes_);
    }
    ~placed() {
        if (memory_ != nullptr) where_.release(memory_);
    }
    placed(placed const&) = delete;
    placed& operator=(placed const&) = delete;

    unsigned char* data() const { return memory_; }
    std::size_t size() const { return bytes_; }
    std::vector<unsigned char> contents() const {
        std::vector<unsigned char> bytes(bytes_);
        if (bytes_ != 0) where_.download(bytes.data(), memory_, bytes_);
        return bytes;
    }

private:
    space& where_;
    std::size_t bytes_;
    unsigned char* memory_ = nullptr;
};

}  // namespace device
