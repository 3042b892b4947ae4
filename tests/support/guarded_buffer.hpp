// Host memory that notices what should not touch it: canaries round a buffer at any element offset, and buffers that
// end where memory ends.
#pragma once

#include <sys/mman.h>
#include <unistd.h>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
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

namespace detail {

// Pages with a page on either side that cannot be touched. Kept for the next buffer: a mapping costs more than a row of
// softmax.
class fenced_pages {
public:
    explicit fenced_pages(std::size_t room) : room_(room), mapped_(room + 2 * page()) {
        void* const memory = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) std::abort();
        memory_ = static_cast<unsigned char*>(memory);
        if (room != 0 && mprotect(memory_ + page(), room, PROT_READ | PROT_WRITE) != 0) std::abort();
    }
    ~fenced_pages() { munmap(memory_, mapped_); }
    fenced_pages(fenced_pages const&) = delete;
    fenced_pages& operator=(fenced_pages const&) = delete;

    static std::size_t page() {
        static std::size_t const bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        return bytes;
    }
    static std::size_t rounded(std::size_t bytes) { return (bytes + page() - 1) / page() * page(); }

    std::size_t room() const { return room_; }
    unsigned char* begin() const { return memory_ + page(); }
    unsigned char* end() const { return begin() + room_; }

    static std::unique_ptr<fenced_pages> take(std::size_t bytes) {
        auto& spare = kept();
        for (auto& one : spare) {
            if (one->room() != rounded(bytes)) continue;
            std::swap(one, spare.back());
            auto found = std::move(spare.back());
            spare.pop_back();
            return found;
        }
        return std::make_unique<fenced_pages>(rounded(bytes));
    }
    static void give_back(std::unique_ptr<fenced_pages> pages) {
        if (kept().size() < 64) kept().push_back(std::move(pages));
    }

private:
    static std::vector<std::unique_ptr<fenced_pages>>& kept() {
        static thread_local std::vector<std::unique_ptr<fenced_pages>> spare;
        return spare;
    }

    std::size_t room_;
    std::size_t mapped_;
    unsigned char* memory_ = nullptr;
};

}  // namespace detail

// `count` elements whose last byte (or first, for fence::before) borders on memory that cannot be read: a read outside
// is a fault.
template <class T>
class fenced_buffer {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    explicit fenced_buffer(std::size_t count, fence side = fence::behind)
        : count_(count), pages_(detail::fenced_pages::take(count * sizeof(T))) {
        data_ = reinterpret_cast<T*>(side == fence::before ? pages_->begin() : pages_->end() - count * sizeof(T));
        if (count != 0) std::memset(static_cast<void*>(data_), 0xff, count * sizeof(T));
    }

    explicit fenced_buffer(std::vector<T> const& values, fence side = fence::behind)
        : fenced_buffer(values.size(), side) {
        if (!values.empty()) std::memcpy(data_, values.data(), values.size() * sizeof(T));
    }

    ~fenced_buffer() { detail::fenced_pages::give_back(std::move(pages_)); }
    fenced_buffer(fenced_buffer const&) = delete;
    fenced_buffer& operator=(fenced_buffer const&) = delete;

    T* data() { return data_; }
    T const* data() const { return data_; }
    std::size_t size() const { return count_; }
    T& operator[](std::size_t at) { return data_[at]; }
    T const& operator[](std::size_t at) const { return data_[at]; }

private:
    std::size_t count_;
    std::unique_ptr<detail::fenced_pages> pages_;
    T* data_ = nullptr;
};

}  // namespace support
