// Random calls on the host path and on emulated lanes, compared with the reference: host_fuzz --seconds 1800.
#include "fuzz/call.hpp"
#include "fuzz/loop.hpp"

int main(int count, char** arguments) {
    fuzz::fuzzer<fuzz::description> f;
    f.draw = [](unsigned long long seed) {
        fuzz::choices from(seed);
        return fuzz::draw(from, fuzz::all_signatures());
    };
    f.check = [](fuzz::description const& d) { return fuzz::check(d); };
    f.simpler = fuzz::simpler;
    f.in_words = [](fuzz::description const& d) { return fuzz::in_words(d); };
    return fuzz::run(f, fuzz::options_of(count, arguments));
}
