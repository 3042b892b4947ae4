// Rows shared out in slices, as the blocks of a cluster have them, on emulated lanes.
#include "lanes/row_sweep.hpp"

namespace {

// Some of the lanes of a group, which hold one slice of its row.
template <int Lanes, class All>
class slice_group {
public:
    static constexpr int size = Lanes;

    explicit slice_group(All& all) : all_(all) {}
    int rank() const { return all_.rank() % Lanes; }
    int slices() const { return All::size / Lanes; }
    int slice() const { return all_.rank() / Lanes; }
    void sync() { all_.sync(); }
    template <class Value, class Op>
    Value all_reduce(Value value, Op op) {
        return all_.all_reduce(value, op);
    }

private:
    All& all_;
};

template <int Slices>
struct slices {
    template <int Lanes, class Function>
    static void run(Function&& function) {
        support::run_lanes<Lanes * Slices>([&](auto& all) {
            slice_group<Lanes, std::remove_reference_t<decltype(all)>> g(all);
            function(g);
        });
    }
};

// Lengths round the ends of every slice that lanes fill, and rows that leave slices empty.
template <class Body, class Tile, class Case, int Slices>
void sweep_slices() {
    std::set<int> lengths;
    for (int cols = 0; cols <= 20; ++cols) lengths.insert(cols);
    for (int part = 1; part <= Slices; ++part) {
        for (int more : {-Tile::vec, -1, 0, 1}) lengths.insert(part * Tile::capacity + more);
    }
    int const most = Slices * Tile::capacity;
    if (Body::has_capacity) {
        lengths.erase(lengths.upper_bound(most), lengths.end());
    } else {
        for (int more : {Tile::vec, Tile::capacity * Slices - 1, Tile::capacity * Slices + 3})
            lengths.insert(most + more);
    }
    using erased = support::erased_case<Case, typename Tile::compute, false>;
    lanes::sweep_lengths<float>(
        std::vector<int>(lengths.begin(), lengths.end()),
        [](auto const& material, auto const& scores, long long b, long long h, long long q, auto const& options) {
            return support::check_row<slices<Slices>, Body, Tile, float, float>(support::answered<erased>(material),
                                                                                material, scores, b, h, q, options);
        },
        Slices);
}

TEST(slices, resident_in_two) {
    sweep_slices<support::resident_weights_body, smx::tile<4, 4, 2>, support::no_mask_case, 2>();
}
TEST(slices, resident_in_five) {
    sweep_slices<support::resident_weights_body, smx::tile<4, 4, 2>, support::no_mask_case, 5>();
    sweep_slices<support::resident_weights_body, smx::tile<4, 4, 2>, support::everything_case, 5>();
}
TEST(slices, online_in_three) {
    sweep_slices<support::online_body, smx::tile<4, 4, 2>, support::left_padding_case, 3>();
    sweep_slices<support::online_body, smx::tile<4, 4, 2>, support::everything_case, 3>();
}

}  // namespace
