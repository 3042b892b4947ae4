// Which kernel a call would run, and why, without running it.
#pragma once
#include <stdio.h>

#include "automatic.hpp"
#include "backward_sums.hpp"

SMX_BEGIN

namespace detail {

template <class Input, class Output>
bool rows_touch(Input const&, Output const&, extents) {
    return false;
}
// To the stride of axes of length 1 too: whether rows touch must not depend on how many there are.
inline bool is_packed(strides step, extents shape) {
    strides const packed = packed_strides(shape);
    return step.batch == packed.batch && step.head == packed.head && step.query == packed.query;
}
template <class Source, class Target>
bool rows_touch(dense_input<Source> const& x, dense_output<Target, hidden::zeros> const& y, extents shape) {
    return can_touch<dense_input<Source>, dense_output<Target, hidden::zeros>> && (reinterpret_cast<uint64>(x.data) - reinterpret_cast<uint64>(y.data)) % 16 == 0 &&
           is_packed(x.step, shape) && is_packed(y.step, shape);
}

// What of a call decides between kernels.
template <class Operands>
row_shape shape_of(Operands const& o) {
    return {o.shape.keys, Operands::element_bytes, int{sizeof(typename Operands::compute)}, rows_touch(o.input, o.output, o.shape), o.rows.count(),
            int{sizeof(typename Operands::stored_type)}};
}

// check(), and the columns that the kernels were chosen for at compile time.
template <class Choice, class Operands>
status check_choice(Operands const& o) {
    status const s = smx::check(o);
    if (!s || is_done(o)) return s;
    if (o.shape.keys < Choice::from) return wrong(errc::bad_shape, "keys", "at least the columns that launch_auto was compiled for", o.shape.keys);
    if (o.shape.keys > Choice::to) return wrong(errc::too_large, "keys", "at most the columns that launch_auto was compiled for", o.shape.keys);
    return s;
}

}  // namespace detail

// What launch_auto would do with a call.
struct planned {
    status result;  // of check()
    policy kernel;  // where that is ok
};

// Shape, errors  as check(); nothing is read but the arguments themselves
template <class Choice = every_kernel, class Input, class Factor, class Mask, class Output, class... Extras>
planned plan(device_limits limits, shaped_input<Input> const& x, Factor const& factor, Mask const& masks, Output const& output,
             Extras const&... extras) {
    auto const o = smx::make_operands(x, factor, masks, output, extras...);
    planned all{detail::check_choice<Choice>(o), {}};
    if (all.result) all.kernel = detail::chosen_policy<Input, typename decltype(o)::seen_type, Choice, Output>(detail::shape_of(o), limits);
    return all;
}

// The kernel type that has the body.
inline char const* name_of(body_kind body) {
    return body == body_kind::resident  ? "resident"
           : body == body_kind::compact ? "compact"
           : body == body_kind::deep    ? "deep"
           : body == body_kind::packed  ? "packed"
           : body == body_kind::staged  ? "chunked_staged"
                                        : "chunked_online";
}

// Writes one line about a policy, at most `size` bytes with its end; gives the length it would have needed, as snprintf does.
inline int explain(policy const& p, char* buffer, int size) {
    char const* const waits = p.body == body_kind::resident ? "the row waits in registers"
                              : p.body == body_kind::compact ? "the row waits in registers as it is stored"
                              : p.body == body_kind::deep ? "the row waits in registers and behind them in shared memory"
                              : p.body == body_kind::packed ? "rows move through shared memory as one piece"
                              : p.body == body_kind::staged ? "the row's weights wait in shared memory"
                                                            : "the row is read twice";
    unsigned long const room = size > 0 ? static_cast<unsigned long>(size) : 0;
    if (p.blocks > 1) {
        return snprintf(buffer, room,
                        "%d lanes a row, a cluster of %d blocks of %d threads, packs of %d columns, %d a lane (%d columns at a time); %s",
                        p.lanes, p.blocks, p.threads, p.vec, p.packs + p.behind, p.columns(), waits);
    }
    if (p.rows_each > 1) {
        return snprintf(buffer, room,
                        "%d lanes a row, %d rows one after the other, %d threads a block, packs of %d columns, %d a lane (%d columns at a time); %s",
                        p.lanes, p.rows_each, p.threads, p.vec, p.packs, p.columns(), waits);
    }
    return snprintf(buffer, room, "%d lanes a row, %d threads a block, packs of %d columns, %d a lane (%d columns at a time); %s", p.lanes,
                    p.threads, p.vec, p.packs + p.behind, p.columns(), waits);
}

SMX_END
