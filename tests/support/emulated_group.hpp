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

}  // namespace detail

template <int Lanes>
class emulated_group {
public:
    static constexpr int size = Lanes;

    // What the lanes share; run_lanes owns it.
    struct storage {
        detail::meeting* at[Lanes] = {};
        fiber* lanes[Lanes] = {};
    };

    emulated_group(storage& shared, int rank) : shared_(&shared), rank_(rank) {}
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
        shared_->at[rank_] = &mine;
        shared_->lanes[rank_]->suspend();
    }

    storage* shared_;
    int rank_;
};

// Calls f(emulated_group<Lanes>&) once for every lane. A lane runs until its next collective; when all wait, values are
// folded and the lanes go on. Throws what a lane threw, or divergent_collective.
template <int Lanes, class Function>
void run_lanes(Function&& function, lane_order order = lane_order::ascending) {
    using group = emulated_group<Lanes>;
    using callable = std::remove_reference_t<Function>;
    struct lane_state {
        typename group::storage* shared;
        callable* function;
        int rank;
        std::exception_ptr thrown;
    };

    auto& pool = detail::fiber_pool();
    while (pool.size() < static_cast<std::size_t>(Lanes)) pool.push_back(std::make_unique<fiber>());

    auto const shared = std::make_unique<typename group::storage>();
    std::vector<lane_state> states(static_cast<std::size_t>(Lanes));
    for (int lane = 0; lane < Lanes; ++lane) {
        auto const at = static_cast<std::size_t>(lane);
        states[at] = lane_state{shared.get(), &function, lane, nullptr};
        shared->lanes[lane] = pool[at].get();
        pool[at]->start(
            [](void* argument) {
                lane_state& state = *static_cast<lane_state*>(argument);
                try {
                    group g(*state.shared, state.rank);
                    (*state.function)(g);
                } catch (...) {
                    state.thrown = std::current_exception();
                }
            },
            &states[at]);
    }

    for (int number = 1;; ++number) {
        for (int step = 0; step < Lanes; ++step) {
            int const lane = order == lane_order::ascending ? step : Lanes - 1 - step;
            shared->at[lane] = nullptr;
            shared->lanes[lane]->resume();
            if (states[static_cast<std::size_t>(lane)].thrown)
                std::rethrow_exception(states[static_cast<std::size_t>(lane)].thrown);
        }
        std::string const sentence = detail::divergence(shared->at, Lanes, number);
        if (!sentence.empty()) throw divergent_collective(sentence);
        if (shared->at[0] == nullptr) return;
        shared->at[0]->fold(shared->at, Lanes);
    }
}

}  // namespace support
