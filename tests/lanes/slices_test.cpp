// Rows shared out in slices, as the blocks of a cluster have them, on emulated lanes.
#include <set>

#include "lanes/backward_runner.hpp"
#include "lanes/row_sweep.hpp"
#include "lanes/slice_group.hpp"

namespace lanes {

namespace {

// Lengths round the ends of every slice that lanes fill, and rows that leave slices empty.
std::vector<int> slice_lengths(int count, int vec, int capacity, bool has_capacity) {
    std::set<int> lengths;
    for (int cols = 0; cols <= 20; ++cols) lengths.insert(cols);
    for (int part = 1; part <= count; ++part) {
        for (int more : {-vec, -1, 0, 1}) lengths.insert(part * capacity + more);
    }
    int const most = count * capacity;
    if (has_capacity) {
        lengths.erase(lengths.upper_bound(most), lengths.end());
    } else {
        for (int more : {vec, most - 1, most + 3}) lengths.insert(most + more);
    }
    return std::vector<int>(lengths.begin(), lengths.end());
}

template <int Slices, class Body>
void sweep_slices() {
    auto const row = runner<slices<Slices>, Body, smx::tile<4, 4, 2>, float, float, kinds::two>();
    for (any_mask const& mask : all_masks())
        sweep(row, mask, slice_lengths(Slices, row.vec, row.capacity, row.has_capacity));
}

TEST(slices, resident_in_two) { sweep_slices<2, resident_weights_body>(); }
TEST(slices, resident_in_five) { sweep_slices<5, resident_weights_body>(); }
TEST(slices, online_in_three) { sweep_slices<3, online_body>(); }

template <int Slices, class Body>
void sweep_backward_slices() {
    auto const row = backward<slices<Slices>, Body, smx::tile<4, 4, 2>>();
    for (any_mask const& mask : all_masks())
        sweep_backward(row, mask, slice_lengths(Slices, row.vec, row.capacity, row.has_capacity));
}

TEST(slices, resident_backward_in_two) { sweep_backward_slices<2, resident_backward>(); }
TEST(slices, resident_backward_in_five) { sweep_backward_slices<5, resident_backward>(); }
TEST(slices, chunked_backward_in_three) { sweep_backward_slices<3, chunked_backward>(); }

}  // namespace

}  // namespace lanes
