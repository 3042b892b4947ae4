// Reads and writes NumPy's .npy format: versions 1 to 3, plain numbers, little-endian, C order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace npy {

// One sentence about what is wrong with the bytes; the caller knows the file's name.
struct error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// NumPy's own short form: kind 'f', 'i', 'u' or 'b', and the bytes of one element.
struct dtype {
    char kind = 'f';
    int bytes = 4;

    std::string name() const { return kind + std::to_string(bytes); }
    friend bool operator==(dtype a, dtype b) { return a.kind == b.kind && a.bytes == b.bytes; }
    friend bool operator!=(dtype a, dtype b) { return !(a == b); }
};

using shape = std::vector<long long>;

inline std::string text_of(shape const& dims) {
    std::string text = "[";
    for (std::size_t i = 0; i < dims.size(); ++i) text += (i ? "," : "") + std::to_string(dims[i]);
    return text + "]";
}

struct header {
    dtype type;
    shape dims;
    long long count = 0;     // elements
    std::size_t offset = 0;  // of the first element, bytes
};

struct array {
    dtype type;
    shape dims;
    long long count = 0;
    std::vector<unsigned char> bytes;  // aligned for every element type, as operator new is

    template <class Element>
    Element const* data() const {
        return reinterpret_cast<Element const*>(bytes.data());
    }
};

namespace detail {

constexpr int max_dims = 32;  // NumPy 1's limit
constexpr long long max_count = std::numeric_limits<long long>::max() / 16;

// Walks over the header's text, a Python dictionary literal.
class cursor {
public:
    explicit cursor(std::string_view text) : rest_(text) {}

    bool at_end() {
        skip_spaces();
        return rest_.empty();
    }

    bool accept(char wanted) {
        skip_spaces();
        if (rest_.empty() || rest_.front() != wanted) return false;
        rest_.remove_prefix(1);
        return true;
    }

    void expect(char wanted) {
        if (!accept(wanted)) throw error(std::string("the header is malformed: '") + wanted + "' is missing");
    }

    bool accept_word(std::string_view word) {
        skip_spaces();
        if (rest_.substr(0, word.size()) != word) return false;
        rest_.remove_prefix(word.size());
        return true;
    }

    std::string_view quoted() {
        skip_spaces();
        char const quote = rest_.empty() ? '\0' : rest_.front();
        if (quote != '\'' && quote != '"') throw error("the header is malformed: a quoted word is missing");
        std::size_t const end = rest_.find(quote, 1);
        if (end == std::string_view::npos) throw error("the header is malformed: a quote is not closed");
        std::string_view const word = rest_.substr(1, end - 1);
        rest_.remove_prefix(end + 1);
        return word;
    }

    long long dimension() {
        skip_spaces();
        if (!rest_.empty() && rest_.front() == '-') throw error("the shape has a negative dimension");
        long long value = 0;
        std::size_t digits = 0;
        for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
            int const digit = rest_[digits] - '0';
            if (value > (max_count - digit) / 10) throw error("the shape has a dimension that is too large");
            value = value * 10 + digit;
        }
        if (digits == 0) throw error("the shape is not a tuple of integers");
        rest_.remove_prefix(digits);
        return value;
    }

private:
    void skip_spaces() {
        while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n' || rest_.front() == '\t')) {
            rest_.remove_prefix(1);
        }
    }

    std::string_view rest_;
};

// Text from a file, fit to be printed: short and without control characters.
inline std::string printable(std::string_view text) {
    std::string safe;
    for (char const c : text.substr(0, 24)) safe += c >= ' ' && c <= '~' ? c : '?';
    return safe + (text.size() > 24 ? "..." : "");
}

inline dtype parse_descr(std::string_view descr) {
    std::string const name = "dtype '" + printable(descr) + "'";
    std::string_view type = descr;
    char const order = type.empty() ? '\0' : type.front();
    if (order == '<' || order == '>' || order == '|' || order == '=') type.remove_prefix(1);
    static constexpr dtype known[] = {{'f', 2}, {'f', 4}, {'f', 8}, {'b', 1}, {'i', 1}, {'u', 1},
                                      {'i', 2}, {'u', 2}, {'i', 4}, {'u', 4}, {'i', 8}, {'u', 8}};
    for (dtype const candidate : known) {
        if (type != candidate.name()) continue;
        if (order == '>' && candidate.bytes > 1)
            throw error(name + " is big-endian; save it with .astype('<" + std::string(type) + "')");
        return candidate;
    }
    throw error(name + " is not supported; f2, f4, f8, b1, i1, i2, i4, i8, u1, u2, u4 and u8 are");
}

inline shape parse_shape(cursor& text) {
    shape dims;
    text.expect('(');
    while (!text.accept(')')) {
        if (dims.size() == max_dims) throw error("the shape has more than " + std::to_string(max_dims) + " dimensions");
        dims.push_back(text.dimension());
        if (!text.accept(',')) {
            // "(3)" is a number in Python, not a tuple.
            if (dims.size() == 1) throw error("the shape is not a tuple of integers");
            text.expect(')');
            break;
        }
    }
    return dims;
}

// Elements in the shape; a dimension of 0 does not excuse an overflow in the others, which strides are made of.
inline long long count_of(shape const& dims) {
    long long product = 1;
    bool empty = false;
    for (long long const dim : dims) {
        if (dim == 0) {
            empty = true;
        } else if (product > max_count / dim) {
            throw error("the shape " + text_of(dims) + " has too many elements");
        } else {
            product *= dim;
        }
    }
    return empty ? 0 : product;
}

}  // namespace detail

// Reads the header of a whole file and checks it against the file's size. A pure function of the bytes.
// Errors    throws error; reads nothing outside [bytes, bytes + size)
inline header parse(unsigned char const* bytes, std::size_t size) {
    static constexpr char magic[] = "\x93NUMPY";
    constexpr std::size_t prefix = 8;  // magic and version
    if (size < prefix || std::memcmp(bytes, magic, 6) != 0) throw error("this is not a .npy file");
    int const version = bytes[6];
    if (version < 1 || version > 3) throw error(".npy version " + std::to_string(version) + " is not known");

    std::size_t const length_bytes = version == 1 ? 2 : 4;
    if (size < prefix + length_bytes) throw error("the file ends inside the header");
    std::size_t length = 0;
    for (std::size_t i = 0; i < length_bytes; ++i) length |= std::size_t{bytes[prefix + i]} << (8 * i);
    header result;
    if (length > size - prefix - length_bytes) throw error("the file ends inside the header");
    result.offset = prefix + length_bytes + length;

    detail::cursor text({reinterpret_cast<char const*>(bytes) + prefix + length_bytes, length});
    bool has_descr = false, has_order = false, has_shape = false, fortran = false;
    text.expect('{');
    while (!text.accept('}')) {
        std::string_view const key = text.quoted();
        text.expect(':');
        bool* const seen = key == "descr"           ? &has_descr
                           : key == "fortran_order" ? &has_order
                           : key == "shape"         ? &has_shape
                                                    : nullptr;
        if (!seen) throw error("the header has the unknown key '" + detail::printable(key) + "'");
        if (*seen) throw error("the header has the key '" + std::string(key) + "' twice");
        *seen = true;
        if (key == "descr") {
            if (text.accept('[')) throw error("structured dtypes are not supported");
            result.type = detail::parse_descr(text.quoted());
        } else if (key == "shape") {
            result.dims = detail::parse_shape(text);
        } else if (text.accept_word("True")) {
            fortran = true;
        } else if (!text.accept_word("False")) {
            throw error("the header's fortran_order is neither True nor False");
        }
        if (!text.accept(',')) {
            text.expect('}');
            break;
        }
    }
    if (!text.at_end()) throw error("the header is malformed: text follows the dictionary");
    if (!has_descr || !has_order || !has_shape) throw error("the header lacks descr, fortran_order or shape");
    if (fortran && result.dims.size() > 1)
        throw error("the array is in Fortran order; save it with numpy.ascontiguousarray");

    result.count = detail::count_of(result.dims);
    std::size_t const payload = size - result.offset;
    auto const needed = static_cast<unsigned long long>(result.count) * static_cast<unsigned>(result.type.bytes);
    if (payload != needed) {
        throw error("the shape " + text_of(result.dims) + " needs " + std::to_string(needed) +
                    " bytes of data and the file has " + std::to_string(payload));
    }
    return result;
}

// Takes the bytes of a whole file and keeps the elements.
inline array parse_array(std::vector<unsigned char> file) {
    header const head = parse(file.data(), file.size());
    file.erase(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(head.offset));
    return {head.type, head.dims, head.count, std::move(file)};
}

// The bytes that stand before the elements: version 1, padded so that the elements start at a multiple of 64.
inline std::string header_of(dtype type, shape const& dims) {
    std::string text = "{'descr': '";
    text += type.bytes == 1 ? '|' : '<';
    text += type.name() + "', 'fortran_order': False, 'shape': (";
    for (long long const dim : dims) text += std::to_string(dim) + ", ";
    if (dims.size() > 1) text.resize(text.size() - 2);
    if (dims.size() == 1) text.pop_back();
    text += "), }";
    constexpr std::size_t prefix = 10;
    text.append(63 - (prefix + text.size()) % 64, ' ');
    text += '\n';
    std::string head("\x93NUMPY\x01\x00", 8);
    head += static_cast<char>(text.size() & 0xff);
    head += static_cast<char>(text.size() >> 8);
    return head + text;
}

}  // namespace npy
