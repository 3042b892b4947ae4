// Writes palette images as PNG, stored without compression, so that nothing but this file is needed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace png {

using colour = std::array<unsigned char, 3>;

struct image {
    int width = 0, height = 0;
    std::vector<colour> palette;        // at most 256
    std::vector<unsigned char> pixels;  // indices into the palette, row by row

    unsigned char& at(int x, int y) {
        return pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)];
    }
};

namespace detail {

using bytes = std::vector<unsigned char>;

inline void append_big_endian(bytes& out, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<unsigned char>(value >> shift));
}

inline std::uint32_t crc32(unsigned char const* data, std::size_t size) {
    std::uint32_t crc = 0xffffffffu;
    for (std::size_t i = 0; i < size; ++i) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1u ? 0xedb88320u : 0u);
    }
    return ~crc;
}

inline std::uint32_t adler32(bytes const& data) {
    std::uint32_t low = 1, high = 0;
    for (unsigned char const byte : data) {
        low = (low + byte) % 65521u;
        high = (high + low) % 65521u;
    }
    return high << 16 | low;
}

// A zlib stream of stored blocks.
inline bytes stored(bytes const& data) {
    constexpr std::size_t block = 65535;
    bytes out = {0x78, 0x01};
    std::size_t at = 0;
    do {
        std::size_t const size = data.size() - at < block ? data.size() - at : block;
        bool const last = at + size == data.size();
        auto const low = static_cast<unsigned char>(size & 0xff), high = static_cast<unsigned char>(size >> 8);
        out.insert(out.end(), {static_cast<unsigned char>(last), low, high, static_cast<unsigned char>(~low),
                               static_cast<unsigned char>(~high)});
        auto const first = data.begin() + static_cast<std::ptrdiff_t>(at);
        out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(size));
        at += size;
    } while (at < data.size());
    append_big_endian(out, adler32(data));
    return out;
}

inline void append_chunk(bytes& out, std::string_view type, bytes const& data) {
    append_big_endian(out, static_cast<std::uint32_t>(data.size()));
    std::size_t const covered = out.size();  // by the checksum, from the type on
    out.insert(out.end(), type.begin(), type.end());
    out.insert(out.end(), data.begin(), data.end());
    append_big_endian(out, crc32(out.data() + covered, out.size() - covered));
}

}  // namespace detail

// The bytes of the file.
// Source    PNG (Portable Network Graphics) Specification, second edition; RFC 1950; RFC 1951
inline std::vector<unsigned char> encode(image const& picture) {
    detail::bytes out = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

    detail::bytes head;
    detail::append_big_endian(head, static_cast<std::uint32_t>(picture.width));
    detail::append_big_endian(head, static_cast<std::uint32_t>(picture.height));
    head.insert(head.end(), {8, 3, 0, 0, 0});  // 8 bits a pixel, palette, no interlace
    detail::append_chunk(out, "IHDR", head);

    detail::bytes palette;
    for (colour const& entry : picture.palette) palette.insert(palette.end(), entry.begin(), entry.end());
    detail::append_chunk(out, "PLTE", palette);

    detail::bytes lines;
    auto row = picture.pixels.begin();
    for (int y = 0; y < picture.height; ++y, row += picture.width) {
        lines.push_back(0);  // no filter
        lines.insert(lines.end(), row, row + picture.width);
    }
    detail::append_chunk(out, "IDAT", detail::stored(lines));
    detail::append_chunk(out, "IEND", {});
    return out;
}

}  // namespace png
