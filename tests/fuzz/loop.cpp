// Processes, clocks and arguments behind loop.hpp.
#include "fuzz/loop.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/sanitized.hpp"

namespace fuzz {

struct report::shared {
    unsigned long long seed, cases;
    bool skipped, failed;
    char sentence[1024];
};

namespace {

// A case takes milliseconds, the longest 3 s, and under a sanitizer two minutes; one that does not end is a finding.
constexpr unsigned most_seconds_a_case = support::is_sanitized ? 600 : 60;

template <std::size_t Size>
void copy(char (&to)[Size], std::string const& from) {
    std::strncpy(to, from.c_str(), Size - 1);
}

}  // namespace

void report::begin(unsigned long long seed) {
    shared_.seed = seed;
    alarm(most_seconds_a_case);
}
void report::done() { ++shared_.cases; }
void report::skip(std::string const& why) {
    shared_.skipped = true;
    copy(shared_.sentence, why);
}
void report::fail(std::string const& sentence) {
    shared_.failed = true;
    copy(shared_.sentence, sentence);
}

outcome in_process(std::function<void(report&)> const& work) {
    void* const memory =
        mmap(nullptr, sizeof(report::shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    auto& shared = *static_cast<report::shared*>(memory);
    std::fflush(nullptr);
    pid_t const child = fork();
    if (child < 0) std::abort();
    if (child == 0) {
        report to(shared);
        work(to);
        std::fflush(nullptr);
        _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
    }
    outcome result;
    result.skipped = shared.skipped;
    result.failed = shared.failed;
    result.seed = shared.seed;
    result.cases = shared.cases;
    result.sentence = shared.sentence;
    munmap(memory, sizeof(report::shared));
    if (WIFSIGNALED(status)) {
        result.failed = true;
        result.sentence = WTERMSIG(status) == SIGALRM
                              ? "did not end within " + std::to_string(most_seconds_a_case) + " s"
                              : std::string("ended the process: ") + strsignal(WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        result.failed = true;
        result.sentence = "ended the process with status " + std::to_string(WEXITSTATUS(status));
    }
    return result;
}

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void say(std::string const& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

options options_of(int count, char** arguments) {
    options o;
    bool has_seed = false, has_seconds = false;
    for (int i = 1; i < count; ++i) {
        char* end = nullptr;
        if (std::strcmp(arguments[i], "--seed") == 0 && i + 1 < count) {
            o.seed = std::strtoull(arguments[++i], &end, 10);
            has_seed = true;
        } else if (std::strcmp(arguments[i], "--seconds") == 0 && i + 1 < count) {
            o.seconds = std::strtod(arguments[++i], &end);
            has_seconds = true;
        }
        if (end == nullptr || *end != '\0') {
            std::fprintf(stderr,
                         "usage: %s [--seconds S] [--seed N]\n"
                         "  runs random cases for S seconds (10), from seed N (1) on; --seed alone runs that case\n",
                         arguments[0]);
            std::exit(2);
        }
    }
    o.one_case = has_seed && !has_seconds;
    return o;
}

}  // namespace fuzz
