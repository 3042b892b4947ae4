// The operator on the CPU: the same rows, run by the calling thread over a range, or by all cores.
#pragma once
#include <pthread.h>
#include <unistd.h>

#include "check.hpp"

SMX_BEGIN

// Rows [first, last) of a call, in the order of their index.
struct rows {
    int64 first, last;
};

namespace detail {

// Packs of 32 floats, two AVX-512 registers or four of AVX2: a sum waits less for the one before (of 16: 0.98 ns an element became 1.15). Rows of
// up to 1024 wait in the tile itself.
template <class Keeper, class Compute>
using host_tile = tile<1, 128 / int{sizeof(Compute)}, 32, Compute, Keeper::keeps>;
inline constexpr int host_stack_bytes = 32 * 1024;  // most first-level caches hold it

template <class Operands>
void run_rows(Operands const& o, rows range) {
    using compute = typename Operands::compute;
    using staged_tile = host_tile<staged<compute>, compute>;
    using online_tile = host_tile<online, compute>;
    thread_group g;
    if (o.shape.keys <= staged_tile::capacity) {
        for (int64 index = range.first; index < range.last; ++index) run_resident<staged_tile>(g, o, index);
    } else if (staged<compute>::template bytes<staged_tile>(o.shape.keys) <= host_stack_bytes) {
        alignas(64) unsigned char memory[host_stack_bytes];
        for (int64 index = range.first; index < range.last; ++index) run_chunked<staged_tile>(g, staged<compute>(memory), o, index);
    } else {
        for (int64 index = range.first; index < range.last; ++index) run_chunked<online_tile>(g, online(), o, index);
    }
}

template <class Work>
struct share {
    Work const* work;
    int64 first, last;
    pthread_t thread;
    bool started;

    static void* run(void* self) {
        share const& s = *static_cast<share*>(self);
        (*s.work)(s.first, s.last);
        return nullptr;
    }
};

}  // namespace detail

// Calls work(first, last) on parts of [0, count), on up to `threads` threads, the caller's among them. Parts whose thread cannot be started
// are done by the caller.
template <class Work>
void parallel_for(int64 count, int threads, Work const& work) {
    constexpr int most = 256;
    int const parts = static_cast<int>(count < threads ? count : threads < most ? threads : most);
    if (parts <= 1) {
        if (count > 0) work(0, count);
        return;
    }
    detail::share<Work> shares[most];
    int64 const size = count / parts, longer = count % parts;
    int64 first = 0;
    for (int i = 0; i < parts; ++i) {
        int64 const last = first + size + (i < longer ? 1 : 0);
        shares[i] = {&work, first, last, {}, false};
        if (i > 0) shares[i].started = pthread_create(&shares[i].thread, nullptr, detail::share<Work>::run, &shares[i]) == 0;
        first = last;
    }
    for (int i = 0; i < parts; ++i) {
        if (!shares[i].started) work(shares[i].first, shares[i].last);
    }
    for (int i = 0; i < parts; ++i) {
        if (shares[i].started) pthread_join(shares[i].thread, nullptr);
    }
}

// Scaled mask softmax of some rows, on the calling thread: for a thread pool of your own.
// Shape     as launch_auto; every pointer in host memory
// Requires  0 <= range.first <= range.last <= rows
// Errors    as check(); bad_value for the range; nothing is written then
template <class Input, class Factor, class Mask, class Output, class... Extras>
status softmax_on_host(rows range, shaped_input<Input> const& x, Factor const& factor, Mask const& masks, Output const& output,
                       Extras const&... extras) {
    auto const o = smx::make_operands(x, factor, masks, output, extras...);
    if (status const s = smx::check(o); !s) return s;
    if (range.first < 0 || range.first > range.last) return detail::wrong(errc::bad_value, "rows.first", "0 to rows.last", range.first);
    if (range.last > o.rows.count()) return detail::wrong(errc::bad_value, "rows.last", "at most the number of rows", range.last);
    if (!detail::is_done(o)) detail::run_rows(o, range);
    return {};
}

// Scaled mask softmax on all cores; small calls stay on the calling thread.
template <class Input, class Factor, class Mask, class Output, class... Extras>
status softmax_on_host(shaped_input<Input> const& x, Factor const& factor, Mask const& masks, Output const& output,
                       Extras const&... extras) {
    auto const o = smx::make_operands(x, factor, masks, output, extras...);
    if (status const s = smx::check(o); !s) return s;
    if (detail::is_done(o)) return {};
    constexpr int64 elements_worth_a_thread = 64 * 1024;  // some 20 microseconds of work, twice what a thread costs to start
    int64 const wanted = o.shape.keys > 0 ? 1 + (o.rows.count() * o.shape.keys) / elements_worth_a_thread : 1;
    int64 const cores = sysconf(_SC_NPROCESSORS_ONLN);
    parallel_for(o.rows.count(), static_cast<int>(wanted < cores ? wanted : cores), [&](int64 first, int64 last) {
        detail::run_rows(o, {first, last});
    });
    return {};
}

SMX_END
