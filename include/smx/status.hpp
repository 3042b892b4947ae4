// What a call says about itself: success, or the argument that was wrong, what it must be and what it was.
#pragma once
#include <stdio.h>

#include "config.hpp"

SMX_BEGIN

enum class errc {
    ok,
    null_pointer,
    bad_shape,
    bad_stride,
    misaligned,
    overlap,
    bad_value,
    too_large,         // a limit of the library, or of the kernel that was named
    device_limit,      // the device has not what the kernel needs
    cuda_failed,       // CUDA refused the call; see cuda_error
};

struct [[nodiscard]] status {
    errc code = errc::ok;
    char const* argument = "";     // static text
    char const* requirement = "";  // what it must be: static text
    int64 actual = 0;              // what it was
    int cuda_error = 0;            // cudaError_t, when code is cuda_failed

    constexpr bool ok() const { return code == errc::ok; }
    constexpr explicit operator bool() const { return ok(); }
};

// Writes one sentence, at most `size` bytes with its end; gives the length it would have needed, as snprintf does.
inline int message(status const& s, char* buffer, int size) {
    unsigned long const room = size > 0 ? static_cast<unsigned long>(size) : 0;
    if (s.ok()) return snprintf(buffer, room, "ok");
    if (s.code == errc::cuda_failed) return snprintf(buffer, room, "%s: %s (CUDA error %d)", s.argument, s.requirement, s.cuda_error);
    return snprintf(buffer, room, "%s: must be %s, was %lld", s.argument, s.requirement, s.actual);
}

// The same sentence as a value: smx::sentence(s).text
struct sentence {
    char text[256];

    explicit sentence(status const& s) { (void)message(s, text, int{sizeof(text)}); }
};

SMX_END
