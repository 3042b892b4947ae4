// A libFuzzer target: bytes as a .npy file. Either a sentence says what is wrong with them, or the array holds what its
// header says; and written again it reads the same.
#include <cstdint>
#include <cstdlib>

#include "../../examples/softmax_npy/npy.hpp"

namespace {

void require(bool is_true) {
    if (!is_true) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t count) {
    npy::array read;
    try {
        read = npy::parse_array({bytes, bytes + count});
    } catch (npy::error const& error) {
        for (char const* c = error.what(); *c != '\0'; ++c) require(*c >= ' ' && *c <= '~');
        return 0;
    }
    long long product = 1;
    for (long long const dimension : read.dims) product *= dimension;
    require(product == read.count);
    require(read.bytes.size() == static_cast<std::size_t>(read.count) * static_cast<std::size_t>(read.type.bytes));

    std::string const head = npy::header_of(read.type, read.dims);
    std::vector<unsigned char> file(head.begin(), head.end());
    file.insert(file.end(), read.bytes.begin(), read.bytes.end());
    npy::array const again = npy::parse_array(file);
    require(again.type == read.type && again.dims == read.dims && again.bytes == read.bytes);
    return 0;
}
