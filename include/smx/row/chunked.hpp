// Body: the row passes through the tile a chunk at a time, twice; between the passes a keeper holds what the tile did.
#pragma once
#include "resident.hpp"

SMX_BEGIN

// A keeper is any value with
//   static constexpr kept keeps;                                          what a tile holds when it is put
//   template <class Tile> void put(int chunk, Tile const&);               after the first pass over a chunk
//   template <class Tile, class Make> void get(int chunk, Tile&, Make);   before the second; make() computes the scores again

// Weights wait in memory, on a GPU in shared memory. Every lane reads back what it wrote itself, so no barrier is needed.
// Requires  memory for staged<Compute>::bytes<Tile>(cols), aligned to 16 bytes
template <class Compute>
class staged {
public:
    static constexpr kept keeps = kept::weights;

    SMX_HD explicit staged(void* memory) : memory_(static_cast<Compute*>(memory)) {}

    template <class Tile>
    static SMX_HD constexpr int64 bytes(int64 cols) {
        return (cols + Tile::capacity - 1) / Tile::capacity * slots<Tile>() * Tile::lanes * int64{sizeof(Compute)};
    }

    template <class Tile>
    SMX_HD void put(int chunk, Tile const& t) const {
        Compute* const mine = chunk_memory<Tile>(chunk);
        t.for_live_registers([&](int p) {
            SMX_UNROLL
            for (int w = 0; w < words<Tile>; ++w) {
                word<Tile> one;
                SMX_UNROLL
                for (int i = 0; i < unit<Tile>; ++i) one.data[i] = t.middle[p][w * unit<Tile> + i];
                word_at<Tile>(mine, p * words<Tile> + w, t.map.rank) = one;
            }
        });
        if (t.has_edges()) {
            int const edges = t.edges_to_visit();
            SMX_UNROLL
            for (int i = 0; i < edges; ++i) edge_at<Tile>(mine, i, t.map.rank) = t.edge[i];
        }
        edge_at<Tile>(mine, Tile::edges, t.map.rank) = t.max;
    }

    template <class Tile, class Make>
    SMX_HD void get(int chunk, Tile& t, Make) const {
        Compute* const mine = chunk_memory<Tile>(chunk);
        t.for_live_registers([&](int p) {
            SMX_UNROLL
            for (int w = 0; w < words<Tile>; ++w) {
                word<Tile> const one = word_at<Tile>(mine, p * words<Tile> + w, t.map.rank);
                SMX_UNROLL
                for (int i = 0; i < unit<Tile>; ++i) t.middle[p][w * unit<Tile> + i] = one.data[i];
            }
        });
        if (t.has_edges()) {
            int const edges = t.edges_to_visit();
            SMX_UNROLL
            for (int i = 0; i < edges; ++i) t.edge[i] = edge_at<Tile>(mine, i, t.map.rank);
        }
        t.max = edge_at<Tile>(mine, Tile::edges, t.map.rank);
    }

private:
    // Moved 16 bytes at a time where a pack is that long, and laid out so that neighbouring lanes use neighbouring words: no bank conflicts.
    template <class Tile>
    static constexpr int unit = Tile::lanes == 1 || Tile::vec < 16 / int{sizeof(Compute)} ? Tile::vec : 16 / int{sizeof(Compute)};
    template <class Tile>
    static constexpr int words = Tile::vec / unit<Tile>;
    template <class Tile>
    struct alignas(detail::widest_access(int{sizeof(Compute)} * unit<Tile>)) word {
        Compute data[unit<Tile>];
    };

    template <class Tile>
    static SMX_HD constexpr int slots() {
        return (Tile::packs * Tile::vec + Tile::edges + 1 + unit<Tile> - 1) / unit<Tile> * unit<Tile>;  // one for the maximum
    }
    template <class Tile>
    SMX_HD Compute* chunk_memory(int chunk) const {
        return memory_ + static_cast<int64>(chunk) * slots<Tile>() * Tile::lanes;
    }
    template <class Tile>
    static SMX_HD word<Tile>& word_at(Compute* chunk, int index, int rank) {
        return reinterpret_cast<word<Tile>*>(chunk)[index * Tile::lanes + rank];
    }
    template <class Tile>
    static SMX_HD Compute& edge_at(Compute* chunk, int index, int rank) {
        return chunk[(Tile::packs * Tile::vec + index) * Tile::lanes + rank];
    }

    Compute* memory_;
};

// Nothing waits: the second pass reads the row again. Any length.
class online {
public:
    static constexpr kept keeps = kept::scores;

    template <class Tile>
    SMX_HD void put(int, Tile const&) const {}
    template <class Tile, class Make>
    SMX_HD void get(int, Tile&, Make make) const {
        make();
    }
};

// The chunks of a row, or of the group's slice of it.
template <class Tile>
struct row_chunks {
    static_assert(Tile::capacity <= 1 << 16, "a chunk has at most 65536 columns, so that no column wraps an int: take fewer lanes, vec or packs");
    interval slice;
    int before;  // columns before the first pack, which the first chunk takes as well; every other starts where a pack may
    int64 first;
    int count;

    template <class Group>
    SMX_HD row_chunks(Group const& g, int head, row_id row)
        : slice(detail::part_of_row<Tile>(g, head, row)), before(slice.begin == 0 ? head : 0), first(static_cast<int64>(slice.begin) + before),
          count(first >= slice.end ? 1 : static_cast<int>((slice.end - first + Tile::capacity - 1) / Tile::capacity)) {}

    SMX_HD interval part(int chunk) const {
        int64 const begin = first + static_cast<int64>(chunk) * Tile::capacity, end = begin + Tile::capacity;
        return {chunk == 0 ? slice.begin : static_cast<int>(begin), static_cast<int>(end < slice.end ? end : slice.end)};
    }
};

// Softmax of one row of any length.
// Requires  keeper has room for the row
// Callers   all lanes of g, convergent; lanes of one group pass the same row
// Gives     every lane stores its own packs; every lane gets the statistics of the row
// Cost      one read of what can be visible (two when `online`), one write, two reductions
template <class Tile, class Group, class Keeper, class Input, class Mask, class Output>
SMX_HD statistics<typename Tile::compute> chunked_row(Group& g, Keeper keeper, Input const& input, typename Tile::compute factor,
                                                      Mask const& masks, Output const& output, row_id row, extents shape,
                                                      empty_row when_empty = empty_row::zeros) {
    static_assert(Tile::behind_packs == 0 && (Keeper::keeps == kept::scores || Tile::exponents == exponent::of_difference),
                  "a chunk waits as a whole, and as weights with their maximum alone: write a tile without packs behind, exponent::of_difference");
    static_assert(Tile::keeps == Keeper::keeps, "the tile must hold what the keeper keeps: write tile<lanes, vec, packs, compute, Keeper::keeps>");
    auto const bound = masks.bind(row, shape);
    read_ahead<Tile, decltype(masks.bind(row, shape))> seen(bound);
    interval const visible = seen.span();
    row_chunks<Tile> const chunks(g, head_of<Tile::vec>(input, row), row);

    Tile t;
    auto const make_scores = [&](interval part) {
        smx::load(g, t, input, row, seen, part);
        smx::scale(t, factor);
        smx::mask(t, seen);
    };

    statistics<typename Tile::compute> stats;
    for (int chunk = 0; chunk < chunks.count; ++chunk) {
        interval const part = chunks.part(chunk);
        if (part.begin >= visible.end || part.end <= visible.begin) continue;
        make_scores(part);
        stats = smx::merge(stats, lane_statistics(t, g));
        keeper.put(chunk, t);
    }
    stats = smx::all_reduce(g, stats);

    for (int chunk = 0; chunk < chunks.count; ++chunk) {
        interval const part = chunks.part(chunk);
        t.cover(g.rank(), part, chunk == 0 ? chunks.before : 0, visible);
        if (part.begin < visible.end && part.end > visible.begin) {
            keeper.get(chunk, t, [&] { make_scores(part); });
        } else {
            smx::hide_all(t);
        }
        smx::normalize(t, stats, when_empty, row.cols);
        smx::store(g, t, output, row, visible, stats);
    }
    return stats;
}

SMX_END
