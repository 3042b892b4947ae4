// A libFuzzer target: bytes decide a case of host_fuzz.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/call.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t count) {
    fuzz::choices from(bytes, count);
    fuzz::description const d = fuzz::draw(from, fuzz::all_signatures());
    std::string const sentence = fuzz::check(d);
    if (sentence.empty()) return 0;
    std::fprintf(stderr, "%s\n%s\n", fuzz::in_words(d).c_str(), sentence.c_str());
    std::abort();
}
