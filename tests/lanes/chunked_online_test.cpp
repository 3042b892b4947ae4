// row/chunked.hpp with every row read twice, on 1 to 256 emulated lanes: every mask, lengths round every chunk.
#include "lanes/row_sweep.hpp"

namespace lanes {

INSTANTIATE_TEST_SUITE_P(chunked_online, every_mask, on_every_width<online_body>(), name_of_width);

}  // namespace lanes
