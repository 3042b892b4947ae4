// The emulated group once more with a real thread for every lane, so that ThreadSanitizer sees what lanes share.
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/emulated_group.hpp"

namespace support {

template <int Lanes>
class threaded_group {
public:
    static constexpr int size = Lanes;

    // What the lanes share; run_threads owns it.
    struct storage {
        std::mutex guard;
        std::condition_variable changed;
        detail::meeting* at[Lanes] = {};
        int arrived = 0;
        int meetings = 0;
        std::string sentence;
    };

    threaded_group(storage& shared, int rank) : shared_(&shared), rank_(rank) {}
    threaded_group(threaded_group const&) = delete;
    threaded_group& operator=(threaded_group const&) = delete;

    int rank() const { return rank_; }

    void sync() {
        detail::meeting mine{"sync", &detail::fold_nothing, nullptr, nullptr};
        meet(&mine);
    }

    template <class Value, class Op>
    Value all_reduce(Value value, Op op) {
        detail::meeting mine{"all_reduce", &detail::fold_values<Value, Op>, &value, &op};
        meet(&mine);
        return value;
    }

    // The end of a lane's function is a meeting too: a lane that is there while others wait has diverged.
    void finish() { meet(nullptr); }

private:
    void meet(detail::meeting* mine) {
        std::unique_lock<std::mutex> lock(shared_->guard);
        shared_->at[rank_] = mine;
        if (++shared_->arrived == Lanes) {
            shared_->arrived = 0;
            ++shared_->meetings;
            shared_->sentence = detail::divergence(shared_->at, Lanes, shared_->meetings);
            if (shared_->sentence.empty() && mine != nullptr) mine->fold(shared_->at, Lanes);
            shared_->changed.notify_all();
        } else {
            int const before = shared_->meetings;
            shared_->changed.wait(lock, [&] { return shared_->meetings != before; });
        }
        if (!shared_->sentence.empty()) throw divergent_collective(shared_->sentence);
    }

    storage* shared_;
    int rank_;
};

// Calls f(threaded_group<Lanes>&) on Lanes threads. Throws divergent_collective, or what one lane threw if every lane
// threw or none waits for it.
template <int Lanes, class Function>
void run_threads(Function&& function) {
    auto const shared = std::make_unique<typename threaded_group<Lanes>::storage>();
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(Lanes));
    std::vector<std::thread> threads;
    for (int lane = 0; lane < Lanes; ++lane) {
        threads.emplace_back([&, lane] {
            threaded_group<Lanes> g(*shared, lane);
            try {
                try {
                    function(g);
                } catch (divergent_collective const&) {
                    throw;
                } catch (...) {
                    thrown[static_cast<std::size_t>(lane)] = std::current_exception();
                }
                g.finish();
            } catch (...) {
                if (!thrown[static_cast<std::size_t>(lane)])
                    thrown[static_cast<std::size_t>(lane)] = std::current_exception();
            }
        });
    }
    for (auto& thread : threads) thread.join();
    for (auto const& one : thrown) {
        if (one) std::rethrow_exception(one);
    }
}

}  // namespace support
