// The .npy reader of the command-line tool: what NumPy writes is read, and no bytes make it misbehave.
#include "../../examples/softmax_npy/npy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

using bytes = std::vector<unsigned char>;

// A file as NumPy writes it, the dictionary given as text.
bytes npy_file(std::string const& dictionary, std::size_t payload, int version = 1) {
    std::string text = dictionary + "\n";
    std::string file = "\x93NUMPY";
    file += static_cast<char>(version);
    file += '\0';
    for (int i = 0; i < (version == 1 ? 2 : 4); ++i) file += static_cast<char>((text.size() >> (8 * i)) & 0xff);
    file += text + std::string(payload, '\x01');
    return bytes(file.begin(), file.end());
}

std::string dictionary(std::string const& descr, std::string const& shape, char const* fortran = "False") {
    return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

npy::header parse(bytes const& file) { return npy::parse(file.data(), file.size()); }

std::string error_of(bytes const& file) {
    try {
        parse(file);
    } catch (npy::error const& error) {
        return error.what();
    }
    return "";
}

TEST(npy, reads_every_version) {
    for (int const version : {1, 2, 3}) {
        npy::header const head = parse(npy_file(dictionary("<f4", "(2, 3)"), 24, version));
        EXPECT_EQ(head.type, (npy::dtype{'f', 4}));
        EXPECT_EQ(head.dims, (npy::shape{2, 3}));
        EXPECT_EQ(head.count, 6);
    }
}

TEST(npy, reads_every_dtype) {
    for (char const* const name : {"f2", "f4", "f8", "b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"}) {
        auto const width = static_cast<std::size_t>(name[1] - '0');
        std::string const descr = (width == 1 ? "|" : "<") + std::string(name);
        EXPECT_EQ(parse(npy_file(dictionary(descr, "(5,)"), 5 * width)).type.name(), name);
    }
}

TEST(npy, reads_every_form_of_shape) {
    EXPECT_EQ(parse(npy_file(dictionary("<f4", "()"), 4)).count, 1);
    EXPECT_EQ(parse(npy_file(dictionary("<f4", "(7,)"), 28)).dims, (npy::shape{7}));
    EXPECT_EQ(parse(npy_file(dictionary("<f4", "( 1,2 , 3 )"), 24)).dims, (npy::shape{1, 2, 3}));
    EXPECT_EQ(parse(npy_file(dictionary("<f4", "(2, 0, 3)"), 0)).count, 0);
}

TEST(npy, takes_keys_in_any_order_and_quotes_of_both_kinds) {
    EXPECT_EQ(parse(npy_file("{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"<f8\"}", 16)).count, 2);
}

TEST(npy, keeps_the_elements_of_an_unaligned_file) {
    npy::array const array = npy::parse_array(npy_file(dictionary("<u2", "(3,)"), 6));
    ASSERT_EQ(array.bytes.size(), 6u);
    EXPECT_EQ(array.data<unsigned short>()[2], 0x0101);
}

TEST(npy, writes_what_it_reads) {
    for (npy::shape const& dims : {npy::shape{}, npy::shape{4}, npy::shape{2, 3}, npy::shape{1, 2, 3, 4}}) {
        std::string const head = npy::header_of({'f', 2}, dims);
        EXPECT_EQ(head.size() % 64, 0u);
        bytes file(head.begin(), head.end());
        file.resize(file.size() + static_cast<std::size_t>(npy::detail::count_of(dims)) * 2);
        EXPECT_EQ(parse(file).dims, dims);
        EXPECT_EQ(parse(file).type, (npy::dtype{'f', 2}));
        EXPECT_EQ(parse(file).offset, head.size());
    }
}

TEST(npy, says_what_is_wrong) {
    auto const f4 = [](std::string const& shape, std::size_t payload) {
        return error_of(npy_file(dictionary("<f4", shape), payload));
    };
    EXPECT_EQ(error_of({}), "this is not a .npy file");
    EXPECT_EQ(error_of({'P', 'K', 3, 4, 0, 0, 0, 0, 0, 0}), "this is not a .npy file");
    EXPECT_EQ(error_of(npy_file("{}", 0, 4)), ".npy version 4 is not known");
    EXPECT_EQ(error_of(npy_file("{}", 0)), "the header lacks descr, fortran_order or shape");
    EXPECT_EQ(f4("(2, 3)", 23), "the shape [2,3] needs 24 bytes of data and the file has 23");
    EXPECT_EQ(f4("(2, 3)", 25), "the shape [2,3] needs 24 bytes of data and the file has 25");
    EXPECT_EQ(f4("(2, -3)", 24), "the shape has a negative dimension");
    EXPECT_EQ(f4("(99999999999999999999,)", 4), "the shape has a dimension that is too large");
    EXPECT_EQ(f4("(4294967296, 4294967296)", 0), "the shape [4294967296,4294967296] has too many elements");
    EXPECT_EQ(f4("(0, 4294967296, 4294967296)", 0), "the shape [0,4294967296,4294967296] has too many elements");
    EXPECT_EQ(f4("(6)", 24), "the shape is not a tuple of integers");
    EXPECT_EQ(f4("(2, 3.5)", 24), "the header is malformed: ')' is missing");
    EXPECT_EQ(f4("('a',)", 24), "the shape is not a tuple of integers");
    EXPECT_EQ(error_of(npy_file(dictionary(">f4", "(1,)"), 4)),
              "dtype '>f4' is big-endian; save it with .astype('<f4')");
    EXPECT_EQ(error_of(npy_file(dictionary("<c8", "(1,)"), 8)),
              "dtype '<c8' is not supported; f2, f4, f8, b1, i1, i2, i4, i8, u1, u2, u4 and u8 are");
    EXPECT_EQ(error_of(npy_file(dictionary("<f4", "(2, 2)", "True"), 16)),
              "the array is in Fortran order; save it with numpy.ascontiguousarray");
    EXPECT_EQ(error_of(npy_file(dictionary("<f4", "(2, 2)", "Maybe"), 16)),
              "the header's fortran_order is neither True nor False");
    EXPECT_EQ(error_of(npy_file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4)),
              "structured dtypes are not supported");
    EXPECT_EQ(error_of(npy_file("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 4)),
              "the header has the key 'descr' twice");
    EXPECT_EQ(error_of(npy_file("{'size': 3}", 4)), "the header has the unknown key 'size'");
    EXPECT_EQ(error_of(npy_file(dictionary("<f4", "(1,)") + " x", 4)),
              "the header is malformed: text follows the dictionary");
}

TEST(npy, refuses_a_header_longer_than_the_file) {
    bytes file = npy_file(dictionary("<f4", "(1,)"), 4, 2);
    for (std::size_t i = 8; i < 12; ++i) file[i] = 0xff;
    EXPECT_EQ(error_of(file), "the file ends inside the header");
}

TEST(npy, does_not_print_what_a_terminal_would_obey) {
    std::string const message = error_of(npy_file(dictionary("\x1b[2J" + std::string(500, 'x'), "(1,)"), 4));
    EXPECT_EQ(message.find('\x1b'), std::string::npos);
    EXPECT_LT(message.size(), 150u);
}

TEST(npy, survives_every_truncation_and_every_changed_byte) {
    bytes const good = npy_file(dictionary("<f4", "(2, 3)"), 24);
    for (std::size_t size = 0; size < good.size(); ++size) {
        EXPECT_NE(error_of(bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))), "") << size;
    }
    for (std::size_t i = 0; i < good.size() - 24; ++i) {
        for (int value = 0; value < 256; ++value) {
            bytes changed = good;
            changed[i] = static_cast<unsigned char>(value);
            try {
                npy::header const head = parse(changed);
                EXPECT_EQ(head.offset + static_cast<std::size_t>(head.count * head.type.bytes), changed.size());
            } catch (npy::error const&) {
                // A sentence is as good as an answer.
            }
        }
    }
}

}  // namespace
