// Host memory that notices what should not touch it: canaries round a buffer at any element offset, and buffers that
// end where memory ends.
#pragma once

#include <sys/mman.h>
#include <unistd.h>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

namespace support {

// `count` elements that begin `offset` elements after a 64-byte boundary, filled with poison (all bytes 0xff: a NaN in
// every floating-point type), with canaries before and behind.
template <class T>
class guarded_buffer {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    explicit guarded_buffer(std::size_t count, std::size_t offset = 0)
        : count_(count), bytes_(margin + offset * sizeof(T) + count * sizeof(T) + margin + boundary) {
        memory_ = std::malloc(bytes_);
        if (memory_ == nullptr) std::abort();
        auto const address = reinterpret_cast<std::size_t>(memory_);
        std::size_t const aligned = (address + margin + boundary - 1) / boundary * boundary;
        data_ = reinterpret_cast<T*>(aligned + offset * sizeof(T));
        for (std::size_t at = 0; at < bytes_; ++at) bytes()[at] = canary(at);
        poison();
    }

    guarded_buffer(std::vector<T> const& values, std::size_t offset) : guarded_buffer(values.size(), offset) {
        if (!values.empty()) std::memcpy(data_, values.data(), values.size() * sizeof(T));
    }

    ~guarded_buffer() { std::free(memory_); }
    guarded_buffer(guarded_buffer const&) = delete;
    guarded_buffer& operator=(guarded_buffer const&) = delete;

    T* data() { return data_; }
    T const* data() const { return data_; }
    std::size_t size() const { return count_; }
    T& operator[](std::size_t at) { return data_[at]; }
    T const& operator[](std::size_t at) const { return data_[at]; }

    void poison() {
        if (count_ != 0) std::memset(static_cast<void*>(data_), 0xff, count_ * sizeof(T));
    }

    bool is_poison(std::size_t at) const {
        unsigned char element[sizeof(T)];
        std::memcpy(element, data_ + at, sizeof(T));
        for (unsigned char byte : element) {
            if (byte != 0xff) return false;
        }
        return true;
    }

    // Nothing outside the elements has been written.
    bool intact() const {
        auto const begin = static_cast<std::size_t>(reinterpret_cast<unsigned char const*>(data_) - bytes());
        auto const end = begin + count_ * sizeof(T);
        for (std::size_t at = 0; at < bytes_; ++at) {
            if ((at < begin || at >= end) && bytes()[at] != canary(at)) return false;
        }
        return true;
    }

private:
    static constexpr std::size_t boundary = 64;
    static constexpr std::size_t margin = 256;

    static unsigned char canary(std::size_t at) { return static_cast<unsigned char>(0xa5U ^ (at * 29U)); }
    unsigned char* bytes() { return static_cast<unsigned char*>(memory_); }
    unsigned char const* bytes() const { return static_cast<unsigned char const*>(memory_); }

    std::size_t count_;
    std::size_t bytes_;
    void* memory_ = nullptr;
    T* data_ = nullptr;
};

enum class fence { behind, before };

// `count` elements whose last byte (or first, for fence::before) borders on memory that cannot be read: a read outside
// is a fault.
template <class T>
class fenced_buffer {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    explicit fenced_buffer(std::size_t count, fence side = fence::behind) : count_(count) {
        auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        std::size_t const room = (count * sizeof(T) + page - 1) / page * page;
        mapped_ = room + 2 * page;
        void* const memory = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) std::abort();
        memory_ = static_cast<unsigned char*>(memory);
        if (room != 0 && mprotect(memory_ + page, room, PROT_READ | PROT_WRITE) != 0) std::abort();
        std::size_t const start = side == fence::before ? page : page + room - count * sizeof(T);
        data_ = reinterpret_cast<T*>(memory_ + start);
        if (count != 0) std::memset(static_cast<void*>(data_), 0xff, count * sizeof(T));
    }

    explicit fenced_buffer(std::vector<T> const& values, fence side = fence::behind)
        : fenced_buffer(values.size(), side) {
        if (!values.empty()) std::memcpy(data_, values.data(), values.size() * sizeof(T));
    }

    ~fenced_buffer() { munmap(memory_, mapped_); }
    fenced_buffer(fenced_buffer const&) = delete;
    fenced_buffer& operator=(fenced_buffer const&) = delete;

    T* data() { return data_; }
    T const* data() const { return data_; }
    std::size_t size() const { return count_; }
    T& operator[](std::size_t at) { return data_[at]; }
    T const& operator[](std::size_t at) const { return data_[at]; }

private:
    std::size_t count_;
    std::size_t mapped_ = 0;
    unsigned char* memory_ = nullptr;
    T* data_ = nullptr;
};

}  // namespace support
