// The loop of a fuzzer: cases by seed until time is up; the first that fails is made simpler and said in words.
//
// Cases run in a process of their own, so that one that ends it, or an accelerator's context, is a finding like any
// other, and can be made simpler too. The process that waits never touches what is tested.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fuzz {

// The exit status for "cannot run here", which ctest is told to count as skipped.
inline constexpr int exit_skipped = 77;

struct options {
    unsigned long long seed = 1;
    bool one_case = false;  // --seed without --seconds: just that one
    double seconds = 10;
};

// --seed N, --seconds S; prints what is understood and exits on anything else.
options options_of(int count, char** arguments);

template <class Case>
struct fuzzer {
    std::function<std::string()> reason_to_skip;  // asked where cases run
    std::function<Case(unsigned long long seed)> draw;
    std::function<std::string(Case const&)> check;  // a sentence about what is wrong, or nothing
    std::function<std::vector<Case>(Case const&)> simpler;
    std::function<std::string(Case const&)> in_words;
};

// What became of some work in a process of its own.
struct outcome {
    bool skipped = false;
    bool failed = false;
    unsigned long long seed = 0;   // of the last case that was begun
    unsigned long long cases = 0;  // that were done
    std::string sentence;
};

// work(report) reports what it does as it goes: the seed it begins, a sentence at the end.
class report {
public:
    void begin(unsigned long long seed);
    void done();
    void skip(std::string const& why);
    void fail(std::string const& sentence);

private:
    friend outcome in_process(std::function<void(report&)> const& work);
    struct shared;
    explicit report(shared& to) : shared_(to) {}
    shared& shared_;
};
outcome in_process(std::function<void(report&)> const& work);

double seconds_now();
void say(std::string const& line);

template <class Case>
std::string failure_of(fuzzer<Case> const& f, Case const& c) {
    outcome const o = in_process([&](report& r) {
        if (f.reason_to_skip && !f.reason_to_skip().empty()) return;
        r.begin(0);
        std::string const sentence = f.check(c);
        if (!sentence.empty()) r.fail(sentence);
    });
    return o.failed ? o.sentence : std::string();
}

// Takes the first simpler case that fails too, until none does.
template <class Case>
Case shrunk(fuzzer<Case> const& f, Case smallest, std::string& sentence) {
    double const end = seconds_now() + 120;
    int tried = 0;
    for (bool found = true; found && seconds_now() < end;) {
        found = false;
        for (Case const& candidate : f.simpler(smallest)) {
            if (seconds_now() >= end) break;
            ++tried;
            std::string const failure = failure_of(f, candidate);
            if (failure.empty()) continue;
            smallest = candidate;
            sentence = failure;
            found = true;
            break;
        }
    }
    say("made simpler in " + std::to_string(tried) + " runs:");
    return smallest;
}

template <class Case>
int run(fuzzer<Case> const& f, options const& by) {
    double const start = seconds_now();
    outcome const o = in_process([&](report& r) {
        std::string const why = f.reason_to_skip ? f.reason_to_skip() : std::string();
        if (!why.empty()) return r.skip(why);
        for (unsigned long long seed = by.seed; seed == by.seed || seconds_now() - start < by.seconds; ++seed) {
            r.begin(seed);
            std::string const sentence = f.check(f.draw(seed));
            if (!sentence.empty()) return r.fail(sentence);
            r.done();
            if (by.one_case) return;
        }
    });
    if (o.skipped) {
        say("skipped: " + o.sentence);
        return exit_skipped;
    }
    if (!o.failed) {
        say(std::to_string(o.cases) + " cases from seed " + std::to_string(by.seed) + " on, " +
            std::to_string(static_cast<int>(seconds_now() - start)) + " s: all right");
        return 0;
    }
    Case const found = f.draw(o.seed);
    say("FAILED: --seed " + std::to_string(o.seed) + "\n  " + f.in_words(found) + "\n  " + o.sentence);
    std::string sentence = o.sentence;
    Case const smallest = shrunk(f, found, sentence);
    say("  " + f.in_words(smallest) + "\n  " + sentence);
    return 1;
}

}  // namespace fuzz
