// Dense tensors as what a row is read from and written to.
//
// An input is any value with
//   using compute = float;                                       or double
//   template <int V> pack<compute, V> load(row_id, int col) const;
//   template <int V> int head(row_id) const;                     columns before the first that packs may start at; absent = 0
//   static constexpr int pack_columns;                           columns launch_auto loads at a time; absent = 16 bytes of compute
// and an output any value with
//   template <int V, class Compute> void store(row_id, int col, pack<Compute, V> const&) const;
// Both are called with V = the kernel's pack and with V = 1, for columns within the row.
#pragma once
#include "pack.hpp"
#include "row_id.hpp"

SMX_BEGIN

template <class T>
SMX_HD T* row_pointer(T* data, strides const& step, row_id const& row) {
    return data + (row.batch * step.batch + row.head * step.head + row.query * step.query);
}

// Shape     data: batch x heads x queries x keys, `step` elements apart, key stride 1
// Requires  data aligned to one element, in global memory
template <class T>
struct dense_input {
    T const* data;
    strides step;

    using compute = compute_of<T>;
    static constexpr int pack_columns = sizeof(T) < 16 ? 16 / int{sizeof(T)} : 1;

    // Packs start where x's address is a multiple of a pack (of 16 bytes, if a pack is longer).
    template <int V>
    SMX_HD int head(row_id row) const {
        constexpr unsigned bytes = detail::widest_access(V * int{sizeof(T)});
        unsigned const past = static_cast<unsigned>(reinterpret_cast<uint64>(row_pointer(data, step, row))) % bytes;
        return static_cast<int>((bytes - past) % bytes / sizeof(T));
    }

    template <int V>
    SMX_HD pack<compute, V> load(row_id row, int col) const {
        return widen<compute>(read_aligned<V>(row_pointer(data, step, row) + col));
    }
};

template <class Input, class = void>
inline constexpr int pack_columns_of = 16 / int{sizeof(typename Input::compute)};
template <class Input>
inline constexpr int pack_columns_of<Input, always_void<decltype(Input::pack_columns)>> = Input::pack_columns;

namespace detail {
template <class Input, int V, class = void>
inline constexpr bool has_head = false;
template <class Input, int V>
inline constexpr bool has_head<Input, V, always_void<decltype(Input::template head<V>)*>> = true;
}  // namespace detail

// Columns of a row that come before the first pack.
template <int V, class Input>
SMX_HD int head_of(Input const& input, row_id row) {
    if constexpr (detail::has_head<Input, V>) {
        return input.template head<V>(row);
    } else {
        return 0;
    }
}

// What happens to columns that a mask's structure hides.
enum class hidden {
    zeros,  // written as 0
    keep,   // outside the span of the mask: left as they are; an empty row is left whole
};

// Shape     data: as x, its own strides, key stride 1, rows apart from each other
// Requires  data aligned to one element, in global memory
template <class T, hidden Hidden = hidden::zeros>
struct dense_output {
    T* data;
    strides step;

    static constexpr hidden when_hidden = Hidden;

    template <int V, class Compute>
    SMX_HD void store(row_id row, int col, pack<Compute, V> const& values) const {
        write_pack(row_pointer(data, step, row) + col, narrow<T>(values));
    }
};

// An output says `static constexpr hidden when_hidden`; absent means zeros.
template <class Output, class = void>
inline constexpr hidden hidden_policy = hidden::zeros;
template <class Output>
inline constexpr hidden hidden_policy<Output, always_void<decltype(Output::when_hidden)>> = Output::when_hidden;

SMX_END
