// More memory than a machine has, for tensors of which a test touches a few rows.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace support {

// Memory that is only reserved: pages that are touched exist.
class reserved_memory {
public:
    explicit reserved_memory(std::size_t bytes) : bytes_(bytes) {
        memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    ~reserved_memory() {
        if (memory_ != MAP_FAILED) munmap(memory_, bytes_);
    }
    reserved_memory(reserved_memory const&) = delete;
    reserved_memory& operator=(reserved_memory const&) = delete;
    void* get() const { return memory_ == MAP_FAILED ? nullptr : memory_; }

private:
    std::size_t bytes_;
    void* memory_;
};

}  // namespace support
