// Which columns the slots of a tile are.
#pragma once
#include "row_id.hpp"

SMX_BEGIN

// Columns [begin, end) of a row, split where x's address allows: single elements up to `first`, packs up to `last`, single elements to the
// end. Pack p of lane r starts at first + (p * lanes + r) * vec.
struct column_map {
    int begin = 0, first = 0, last = 0, end = 0;
    int rank = 0;
    int mine = 0;                  // first column of the lane's first pack
    interval seen = {0, 0};        // the columns of packs that can be visible
    interval edges_seen = {0, 0};  // of edge elements: as far as they lie before the first and after the last pack
#if SMX_DEVICE_CODE
    unsigned live = 0;             // bit s: some lane's part of stripe s of packs can be visible
#else
    interval live = {0, 0};        // the stripes of packs of which some lane's part can be visible: a loop goes from the first to the last
#endif
    unsigned whole = 0;            // bit s: every lane's is, to the last column

#if SMX_DEVICE_CODE
    SMX_HD bool is_live(int stripe) const { return (live >> stripe & 1u) != 0; }
#else
    SMX_HD bool is_live(int stripe) const { return stripe >= live.begin && stripe < live.end; }
#endif
    // Of the elements that are in no pack, by number.
    SMX_HD int edge_column(int number) const {
        int const before = first - begin;
        return number < before ? begin + number : last + number - before;
    }
};

SMX_END
