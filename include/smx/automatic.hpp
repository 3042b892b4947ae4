// Which kernel of the lists runs a call.
#pragma once
#include "kernel_lists.hpp"

SMX_BEGIN

namespace detail {

// The kernels of a list that a Choice leaves: rows of up to Below columns never reach those that follow, nor few rows or packed ones of up to two
// others. Packed kernels for even rows alone neither keep others away nor are kept away.
template <class Choice, class List, class Kept = kernel_list<>, int64 Below = -1, int64 BelowFew = -1, int64 BelowPacked = -1>
struct chosen_from {
    using type = Kept;
};
template <class Choice, class Kernel, class... Rest, class... Kept, int64 Below, int64 BelowFew, int64 BelowPacked>
struct chosen_from<Choice, kernel_list<Kernel, Rest...>, kernel_list<Kept...>, Below, BelowFew, BelowPacked> {
    static constexpr bool is_few = Kernel::is_for_few, is_packed = Kernel::value.body == body_kind::packed && !is_even<Kernel>;
    static constexpr int64 longest = Kernel::longest_row;
    static constexpr int64 below = is_few && BelowFew > Below ? BelowFew : is_packed && BelowPacked > Below ? BelowPacked : Below;
    static constexpr bool is_reached = longest > below && longest >= Choice::from && below < Choice::to && (Choice::looks_at_rows || !is_few);
    static constexpr int64 next = Kernel::runs_anywhere && longest > below ? longest : below;
    using kept = chosen_type<is_reached, kernel_list<Kept..., Kernel>, kernel_list<Kept...>>;
    using type = typename chosen_from<Choice, kernel_list<Rest...>, kept, is_few || Kernel::value.body == body_kind::packed ? Below : next, is_few ? next : BelowFew, is_packed ? longest : BelowPacked>::type;
};

}  // namespace detail

// Whether a call of few rows may take a kernel with more lanes a row.
enum class row_count { decides, ignored };

// What launch_auto may choose from, at compile time: kernels for rows of From to To columns.
template <int64 From, int64 To, row_count Rows>
struct kernel_choice {
    static_assert(From >= 0 && From <= To, "a range of columns: write for_columns<1, 4096>");
    static constexpr int64 from = From, to = To;
    static constexpr bool looks_at_rows = Rows == row_count::decides;
};
using every_kernel = kernel_choice<0, most_columns, row_count::decides>;
// Fewer kernels to compile, where the engine knows its rows.
template <int64 From, int64 To>
using for_columns = kernel_choice<From, To, row_count::decides>;
// The same row gives the same bits in any batch whose rows lie alike (rows_touch).
template <int64 From = 0, int64 To = most_columns>
using batch_invariant = kernel_choice<From, To, row_count::ignored>;

namespace detail {

// Scores of which logarithms are wanted, or that a dropout draws from, wait as numbers, as those do that a mask adds to.
template <class Seen, class Output>
constexpr rows_seen rows_as = wants_logarithms<Output> || (is_dropped<Output> && seen_as<Seen> != rows_seen::whole) ? rows_seen::asked
                              : is_dropped<Output> ? rows_seen::drawn : seen_as<Seen>;

// What launch_auto chooses from. No more than 8 columns a pack: 8 packs of more do not fit the registers.
template <class Input, class Seen, class Choice = every_kernel, class Output = void>
using automatic_kernels = typename chosen_from<Choice, typename automatic_list<(pack_columns_of<Input> > 8 ? 8 : pack_columns_of<Input>), rows_as<Seen, Output>>::type>::type;

#if SMX_HAS_HOST
// Calls visit(kernel) with the first kernel of the list that can run such rows; gives what it gives.
template <class Visit, class Kernel, class... Rest>
constexpr auto with_first(kernel_list<Kernel, Rest...>, row_shape shape, device_limits limits, Visit const& visit) {
    if constexpr (sizeof...(Rest) > 0) {
        if (!Kernel::can_run(shape, limits)) return with_first(kernel_list<Rest...>(), shape, limits, visit);
    }
    return visit(Kernel());
}

template <class Kernels>
constexpr policy policy_of_first(Kernels kernels, row_shape shape, device_limits limits) {
    return with_first(kernels, shape, limits, [&](auto kernel) { return decltype(kernel)::value.with_blocks(decltype(kernel)::blocks_for(shape)); });
}

template <class Input, class Seen, class Choice, class Output = void>
constexpr policy chosen_policy(row_shape shape, device_limits limits) {
    return policy_of_first(automatic_kernels<Input, Seen, Choice, Output>(), shape, limits);
}
#endif

}  // namespace detail

#if SMX_HAS_HOST
// The kernel that launch_auto runs for such rows of Element under such a mask. Without a number of rows in `shape` it is that of many rows.
template <class Element, class Mask = no_mask, class Choice = every_kernel>
constexpr policy choose_policy(row_shape shape, device_limits limits = {}) {
    using seen = decltype(some<Mask>().bind(some<row_id>(), some<extents>()));
    shape.element_bytes = int{sizeof(Element)};
    shape.compute_bytes = int{sizeof(compute_of<Element>)};
    shape.held_bytes = int{sizeof(detail::held_of<dense_input<Element>, seen>)};
    return detail::chosen_policy<dense_input<Element>, seen, Choice>(shape, limits);
}
#endif

SMX_END
