// A function that can be left in the middle and entered again: the lanes of an emulated group run on these.
#pragma once

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <cstddef>
#include <cstdlib>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SUPPORT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define SUPPORT_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SUPPORT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define SUPPORT_TSAN 1
#endif

#if defined(SUPPORT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(SUPPORT_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace support {

// The stack has a page behind its end that cannot be touched, and is kept for the next start.
// A fiber that is never finished is simply started again: what stood on its stack is not destroyed.
class fiber {
public:
    using body = void (*)(void*);

    fiber() {
        std::size_t const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        mapped_ = stack_bytes + page;
        void* const memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0) std::abort();
        memory_ = static_cast<char*>(memory);
        stack_ = memory_ + page;
        if (getcontext(&own_) != 0) std::abort();
#if defined(SUPPORT_TSAN)
        tsan_own_ = __tsan_create_fiber(0);
#endif
    }

    ~fiber() {
#if defined(SUPPORT_TSAN)
        __tsan_destroy_fiber(tsan_own_);
#endif
        munmap(memory_, mapped_);
    }

    fiber(fiber const&) = delete;
    fiber& operator=(fiber const&) = delete;

    // Nothing runs before the first resume.
    void start(body function, void* argument) {
        function_ = function;
        argument_ = argument;
        finished_ = false;
#if defined(SUPPORT_ASAN)
        __asan_unpoison_memory_region(stack_, stack_bytes);
        fake_own_ = nullptr;
#endif
        own_.uc_stack.ss_sp = stack_;
        own_.uc_stack.ss_size = stack_bytes;
        own_.uc_link = nullptr;
        // makecontext passes ints, so a pointer travels as two halves.
        auto const self = reinterpret_cast<unsigned long long>(this);
        makecontext(&own_, reinterpret_cast<void (*)()>(&fiber::enter), 2, static_cast<unsigned>(self >> 32),
                    static_cast<unsigned>(self & 0xffffffffU));
        // ASan clears the shadow of the whole stack at every switch if it can see how large it is: forty times slower.
        own_.uc_stack.ss_size = 0;
    }

    // Runs the function until it suspends or returns.
    void resume() {
#if defined(SUPPORT_ASAN)
        __sanitizer_start_switch_fiber(&fake_caller_, stack_, stack_bytes);
#endif
#if defined(SUPPORT_TSAN)
        tsan_caller_ = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(tsan_own_, 0);
#endif
        swapcontext(&caller_, &own_);
#if defined(SUPPORT_ASAN)
        __sanitizer_finish_switch_fiber(fake_caller_, nullptr, nullptr);
#endif
    }

    // Called inside the function: goes back to whoever resumed it.
    void suspend() {
#if defined(SUPPORT_ASAN)
        __sanitizer_start_switch_fiber(&fake_own_, caller_stack_, caller_bytes_);
#endif
#if defined(SUPPORT_TSAN)
        __tsan_switch_to_fiber(tsan_caller_, 0);
#endif
        swapcontext(&own_, &caller_);
#if defined(SUPPORT_ASAN)
        __sanitizer_finish_switch_fiber(fake_own_, &caller_stack_, &caller_bytes_);
#endif
    }

    bool finished() const { return finished_; }

private:
    // Room for one lane that holds a whole row, unoptimised and with the sanitizer's gaps around every variable.
    static constexpr std::size_t stack_bytes = 512 * 1024;

    static void enter(unsigned high, unsigned low) {
        auto const address = (static_cast<unsigned long long>(high) << 32) | low;
        fiber& self = *reinterpret_cast<fiber*>(address);
#if defined(SUPPORT_ASAN)
        __sanitizer_finish_switch_fiber(nullptr, &self.caller_stack_, &self.caller_bytes_);
#endif
        self.function_(self.argument_);
        self.finished_ = true;
#if defined(SUPPORT_ASAN)
        __sanitizer_start_switch_fiber(nullptr, self.caller_stack_, self.caller_bytes_);
#endif
#if defined(SUPPORT_TSAN)
        __tsan_switch_to_fiber(self.tsan_caller_, 0);
#endif
        setcontext(&self.caller_);
        std::abort();
    }

    body function_ = nullptr;
    void* argument_ = nullptr;
    char* memory_ = nullptr;
    char* stack_ = nullptr;
    std::size_t mapped_ = 0;
    bool finished_ = true;
    ucontext_t own_;
    ucontext_t caller_;
#if defined(SUPPORT_ASAN)
    void* fake_own_ = nullptr;
    void* fake_caller_ = nullptr;
    void const* caller_stack_ = nullptr;
    std::size_t caller_bytes_ = 0;
#endif
#if defined(SUPPORT_TSAN)
    void* tsan_own_ = nullptr;
    void* tsan_caller_ = nullptr;
#endif
};

}  // namespace support
