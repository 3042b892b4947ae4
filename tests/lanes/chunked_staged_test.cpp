// row/chunked.hpp with scores kept in memory, on 1 to 256 emulated lanes: every mask, lengths round every chunk.
#include "lanes/row_sweep.hpp"

namespace lanes {

INSTANTIATE_TEST_SUITE_P(chunked_staged, every_mask, on_every_width<staged_body>(), name_of_width);

}  // namespace lanes
