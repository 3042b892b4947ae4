// A group whose lanes are fibers on one thread: any width runs on any machine, and a divergent collective is a
// sentence.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/fiber.hpp"

namespace support {

// Thrown by run_lanes and run_threads when not every lane meets at the same collective.
struct divergent_collective : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The order in which lanes run between two collectives. A result that depends on it lacks a sync.
enum class lane_order { ascending, descending };

namespace detail {

// One lane's side of a collective: which one it is, and where its value lies.
struct meeting {
    using fold_function = void (*)(meeting* const* lanes, int count);
    char const* name = nullptr;
    fold_function fold = nullptr;
    void* value = nullptr;
    void* op = nullptr;
};

inline void fold_nothing(meeting* const*, int) {}

// Lane 0 first, then upwards: the order never depends on which lane ran when.
template <class Value, class Op>
void fold_values(meeting* const* lanes, int count) {
    Op& op = *static_cast<Op*>(lanes[0]->op);
    Value result = *static_cast<Value*>(lanes[0]->value);
    for (int lane = 1; lane < count; ++lane) result = op(result, *static_cast<Value*>(lanes[lane]->value));
    for (int lane = 0; lane < count; ++lane) *static_cast<Value*>(lanes[lane]->value) = result;
}

inline std::string describe(meeting const* at) {
    return at == nullptr ? std::string("has returned") : std::string("waits in ") + at->name;
}

// The sentence for the first lane that is not where lane 0 is; empty when all are at the same collective.
inline std::string divergence(meeting* const* lanes, int count, int number) {
    for (int lane = 1; lane < count; ++lane) {
        meeting const* const first = lanes[0];
        meeting const* const other = lanes[lane];
        bool const same = (first == nullptr) == (other == nullptr) && (first == nullptr || first->fold == other->fold);
        if (same) continue;
        std::string const types = first != nullptr && other != nullptr && std::string(first->name) == other->name
                                      ? " of another type or operation"
                                      : "";
        return "divergent collective: at meeting " + std::to_string(number) + " lane 0 " + describe(first) +
               " and lane " + std::to_string(lane) + " " + describe(other) + types;
    }
    return {};
}

inline std::vector<std::unique_ptr<fiber>>& fiber_pool() {
    static thread_local std::vector<std::unique_ptr<fiber>> pool;
    return pool;
}

// What the lanes of one group share.
struct fiber_group {
    std::vector<meeting*> at;
    std::vector<fiber*> lanes;
};

// One lane from its first step to its last: function, its group and that group's number, its rank.
using lane_entry = void (*)(void* function, fiber_group& shared, int group, int rank);

// run_groups without its types: the tests use it with hundreds of functions.
inline void run_fibers(int width, int groups, lane_entry entry, void* function, lane_order order) {
    struct lane_state {
        lane_entry entry;
        void* function;
        fiber_group* shared;
        int group;
        int rank;
        std::exception_ptr thrown;
    };

    auto const lanes = static_cast<std::size_t>(groups * width);
    auto& pool = fiber_pool();
    while (pool.size() < lanes) pool.push_back(std::make_unique<fiber>());

    std::vector<fiber_group> shared(static_cast<std::size_t>(groups));
    std::vector<bool> running(static_cast<std::size_t>(groups), true);
    std::vector<lane_state> states(lanes);
    for (std::size_t at = 0; at < lanes; ++at) {
        int const group = static_cast<int>(at) / width;
        int const rank = static_cast<int>(at) % width;
        auto& mine = shared[static_cast<std::size_t>(group)];
        states[at] = lane_state{entry, function, &mine, group, rank, nullptr};
        mine.at.push_back(nullptr);
        mine.lanes.push_back(pool[at].get());
        pool[at]->start(
            [](void* argument) {
                lane_state& state = *static_cast<lane_state*>(argument);
                try {
                    state.entry(state.function, *state.shared, state.group, state.rank);
                } catch (...) {
                    state.thrown = std::current_exception();
                }
            },
            &states[at]);
    }

    int left = groups;
    for (int number = 1; left > 0; ++number) {
        for (int turn = 0; turn < groups; ++turn) {
            int const group = order == lane_order::ascending ? turn : groups - 1 - turn;
            if (!running[static_cast<std::size_t>(group)]) continue;
            auto& mine = shared[static_cast<std::size_t>(group)];
            for (int step = 0; step < width; ++step) {
                int const rank = order == lane_order::ascending ? step : width - 1 - step;
                mine.at[static_cast<std::size_t>(rank)] = nullptr;
                mine.lanes[static_cast<std::size_t>(rank)]->resume();
                auto const& thrown = states[static_cast<std::size_t>(group * width + rank)].thrown;
                if (thrown) std::rethrow_exception(thrown);
            }
            std::string const sentence = divergence(mine.at.data(), width, number);
            if (!sentence.empty()) throw divergent_collective(sentence);
            if (mine.at[0] == nullptr) {
                running[static_cast<std::size_t>(group)] = false;
                --left;
            } else {
                mine.at[0]->fold(mine.at.data(), width);
            }
        }
    }
}

}  // namespace detail

template <int Lanes>
class emulated_group {
public:
    static constexpr int size = Lanes;

    emulated_group(detail::fiber_group& shared, int rank) : shared_(shared), rank_(rank) {}
    emulated_group(emulated_group const&) = delete;
    emulated_group& operator=(emulated_group const&) = delete;

    int rank() const { return rank_; }

    void sync() {
        detail::meeting mine{"sync", &detail::fold_nothing, nullptr, nullptr};
        meet(mine);
    }

    template <class Value, class Op>
    Value all_reduce(Value value, Op op) {
        detail::meeting mine{"all_reduce", &detail::fold_values<Value, Op>, &value, &op};
        meet(mine);
        return value;
    }

private:
    void meet(detail::meeting& mine) {
        auto const rank = static_cast<std::size_t>(rank_);
        shared_.at[rank] = &mine;
        shared_.lanes[rank]->suspend();
    }

    detail::fiber_group& shared_;
    int rank_;
};

// Calls f(emulated_group<Lanes>&, int group) once for every lane of `groups` groups, as the warps of a block: a lane
// runs until its next collective; when all lanes of its group wait, values are folded and they go on. Groups take turns
// and do not wait for each other. Throws what a lane threw, or divergent_collective.
template <int Lanes, class Function>
void run_groups(int groups, Function const& function, lane_order order = lane_order::ascending) {
    auto const entry = [](void* f, detail::fiber_group& shared, int group, int rank) {
        emulated_group<Lanes> g(shared, rank);
        (*static_cast<Function const*>(f))(g, group);
    };
    detail::run_fibers(Lanes, groups, entry, const_cast<Function*>(&function), order);
}

// The same for one group: f(emulated_group<Lanes>&).
template <int Lanes, class Function>
void run_lanes(Function const& function, lane_order order = lane_order::ascending) {
    run_groups<Lanes>(
        1, [&](emulated_group<Lanes>& g, int) { function(g); }, order);
}

}  // namespace support
