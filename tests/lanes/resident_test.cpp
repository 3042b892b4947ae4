// row/resident.hpp on 1 to 256 emulated lanes: every mask, every edge of a row's length.
#include "lanes/row_sweep.hpp"

namespace lanes {

INSTANTIATE_TEST_SUITE_P(resident, every_mask, on_every_width<resident_body>(), name_of_width);

}  // namespace lanes
