// The operator on the CPU: the same rows, run by the calling thread over a range, or by all cores.
#pragma once
#include <pthread.h>
#include <unistd.h>

#include "backward_sums.hpp"
#include "row/whole_packs_backward.hpp"

SMX_BEGIN

// Rows [first, last) of a call, in the order of their index.
struct rows {
    int64 first, last;
};

namespace detail {

// Packs of 32 floats, two AVX-512 registers or four of AVX2: a sum waits less for the one before (of 16: 0.98 ns an element became 1.15).
template <class Compute, int Bytes, kept Kept>
using host_tile = tile<1, 128 / int{sizeof(Compute)}, Bytes / 128, Compute, Kept, hidden_packs::skipped, product::until_weighed, Compute, row_ends::in_packs>;
// A row waits in the tile, on the stack, as far as second-level caches hold it: 32768 columns, 1.29 ns an element read twice, 0.78 in the tile. A row
// of one pack has a tile of its own, whose loops are known to go round once: 32 columns, 1.29 ns an element became 1.12.
inline constexpr int host_row_bytes = 128 * 1024;
inline constexpr int host_chunk_bytes = 8 * 1024;

template <class Operands>
void run_rows(Operands const& given, rows range) {
    using compute = typename Operands::compute;
    constexpr int tiles = is_backward<Operands> ? 2 : 1;
    constexpr kept row_keeps = is_backward<Operands> ? kept::terms : wants_logarithms<typename Operands::output_type> ? kept::scores : kept::weights;
    using short_tile = host_tile<compute, 128, row_keeps>;
    using row_tile = host_tile<compute, host_row_bytes / tiles, row_keeps>;
    using chunk_tile = host_tile<compute, host_chunk_bytes, is_backward<Operands> ? kept::terms : online::keeps>;
    host_group g;
    auto const o = in_whole_packs(g, given);
    if (o.shape.keys <= short_tile::capacity) {
        for (int64 index = range.first; index < range.last; ++index) run_resident<short_tile>(g, o, index);
    } else if (o.shape.keys <= row_tile::capacity) {
        for (int64 index = range.first; index < range.last; ++index) run_resident<row_tile>(g, o, index);
    } else {
        for (int64 index = range.first; index < range.last; ++index) run_chunked<chunk_tile>(g, online(), o, index);
    }
}

template <class Work>
struct share {
    Work const& work;
    int64 count, block;
    int64 next = 0;  // the first index that nobody has taken

    void run() {
        for (;;) {
            int64 const first = __atomic_fetch_add(&next, block, __ATOMIC_RELAXED);
            if (first >= count) return;
            work(first, first + block < count ? first + block : count);
        }
    }
    static void* run_by_thread(void* self) {
        static_cast<share*>(self)->run();
        return nullptr;
    }
};

}  // namespace detail

// Calls work(first, last) on parts of [0, count), on up to `threads` threads, the caller's among them. Each takes the next part when it is done
// with one, so that a thread that starts late, or not at all, leaves its share to the others.
template <class Work>
void parallel_for(int64 count, int threads, Work const& work) {
    constexpr int most = 256, parts_a_thread = 8;
    int const used = static_cast<int>(count < threads ? count : threads < most ? threads : most);
    if (used <= 1) {
        if (count > 0) work(0, count);
        return;
    }
    int64 const parts = int64{used} * parts_a_thread;
    detail::share<Work> all{work, count, (count + parts - 1) / parts};
    pthread_t started[most];
    int running = 0;
    for (int i = 1; i < used; ++i) {
        if (pthread_create(&started[running], nullptr, detail::share<Work>::run_by_thread, &all) == 0) ++running;
    }
    all.run();
    for (int i = 0; i < running; ++i) pthread_join(started[i], nullptr);
}

namespace detail {

template <class Operands>
status run_range(Operands const& o, rows range) {
    if (status const s = smx::check(o); !s) return s;
    if (range.first < 0 || range.first > range.last) return wrong(errc::bad_value, "rows.first", "0 to rows.last", range.first);
    if (range.last > o.rows.count()) return wrong(errc::bad_value, "rows.last", "at most the number of rows", range.last);
    if (!is_done(o)) run_rows(o, range);
    return {};
}

template <class Operands>
status run_on_all_cores(Operands const& o) {
    if (status const s = smx::check(o); !s) return s;
    if (is_done(o)) return {};
    constexpr int64 elements_worth_a_thread = 64 * 1024;  // some 20 microseconds of work, twice what a thread costs to start
    int64 const wanted = o.shape.keys > 0 ? 1 + elements_of(o) / elements_worth_a_thread : 1;
    int64 const cores = sysconf(_SC_NPROCESSORS_ONLN);
    parallel_for(o.rows.count(), static_cast<int>(wanted < cores ? wanted : cores), [&](int64 first, int64 last) { run_rows(o, {first, last}); });
    return {};
}

}  // namespace detail

// Scaled mask softmax of some rows, on the calling thread: for a thread pool of your own.
// Shape     as launch_auto; every pointer in host memory
// Requires  0 <= range.first <= range.last <= rows
// Errors    as check(); bad_value for the range; nothing is written then
template <class Input, class Factor, class Mask, class Output, class... Extras>
status softmax_on_host(rows range, shaped_input<Input> const& x, Factor const& factor, Mask const& masks, Output const& output,
                       Extras const&... extras) {
    return detail::run_range(smx::make_operands(x, factor, masks, output, extras...), range);
}

// Scaled mask softmax on all cores; small calls stay on the calling thread.
template <class Input, class Factor, class Mask, class Output, class... Extras>
status softmax_on_host(shaped_input<Input> const& x, Factor const& factor, Mask const& masks, Output const& output,
                       Extras const&... extras) {
    return detail::run_on_all_cores(smx::make_operands(x, factor, masks, output, extras...));
}

// Its gradient: that of the scores from the probabilities and theirs, with the scale and the mask of the forward pass; of some rows, on the calling
// thread, and on all cores.
// Shape, requires, errors  as launch_auto_backward and softmax_on_host; with bias_gradients the range counts rows of db that do not repeat, in the
//           order of their axes, and runs all rows that share them
template <class Input, class Gradient, class Factor, class Mask, class Output, class... Sums>
status softmax_backward_on_host(rows range, shaped_input<Input> const& y, Gradient const& dy, Factor const& factor, Mask const& masks, Output const& dx,
                                Sums const&... sums) {
    return detail::run_range(smx::make_backward_operands(y, dy, factor, masks, dx, sums...), range);
}
template <class Input, class Gradient, class Factor, class Mask, class Output, class... Sums>
status softmax_backward_on_host(shaped_input<Input> const& y, Gradient const& dy, Factor const& factor, Mask const& masks, Output const& dx, Sums const&... sums) {
    return detail::run_on_all_cores(smx::make_backward_operands(y, dy, factor, masks, dx, sums...));
}

SMX_END
