// Every mask and every length on each body and width that the other files here name.
#include "lanes/row_sweep.hpp"

namespace lanes {

TEST_P(every_mask, every_length) {
    for (any_mask const& mask : all_masks()) sweep(GetParam(), mask);
}

}  // namespace lanes
