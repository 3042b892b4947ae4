// Draws one attention head: a cell for every (query, key), labelled with the tokens.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "png.hpp"

namespace heat_map {

struct matrix {
    int rows = 0, cols = 0;
    std::vector<float> values;  // probabilities, row by row; exactly 0 is drawn as hidden
};

namespace detail {

constexpr int cell = 18, zoom = 2, glyph_width = 5, glyph_height = 8, gap = 10;
constexpr int advance = (glyph_width + 1) * zoom, line = glyph_height * zoom;

constexpr unsigned char paper = 0, ink = 1, hidden = 2, first_level = 3;  // in the palette
constexpr int levels = 256 - first_level;

// Dark blue to yellow, evenly spaced to the eye. Source    the viridis colour map of Smith and van der Walt (CC0), nine
// of its points
inline png::colour shade(double share) {
    static constexpr unsigned char points[9][3] = {{68, 1, 84},    {71, 44, 122},  {59, 81, 139},
                                                   {44, 113, 142}, {33, 144, 141}, {39, 173, 129},
                                                   {92, 200, 99},  {170, 220, 50}, {253, 231, 37}};
    double const place = std::clamp(share, 0.0, 1.0) * 8;
    int const low = std::min(static_cast<int>(place), 7);
    png::colour mixed{};
    for (std::size_t i = 0; i < 3; ++i) {
        double const a = points[low][i], b = points[low + 1][i];
        mixed[i] = static_cast<unsigned char>(std::lround(a + (b - a) * (place - low)));
    }
    return mixed;
}

// 40 bits, row by row from the top left; a box for what is not in the table.
inline std::uint64_t glyph(char wanted) {
    static constexpr std::pair<char, std::uint64_t> glyphs[] = {
        {' ', 0x0000000000}, {'#', 0x52beafa940}, {',', 0x0000003088}, {'-', 0x0000e00000}, {'.', 0x0000003180},
        {'0', 0x74675cc5c0}, {'1', 0x23084211c0}, {'2', 0x74422223e0}, {'3', 0x744260c5c0}, {'4', 0x11952f8840},
        {'5', 0xfc3c10c5c0}, {'6', 0x7421e8c5c0}, {'7', 0xf844421080}, {'8', 0x7462e8c5c0}, {'9', 0x7462f085c0},
        {':', 0x0318063000}, {'?', 0x7442220080}, {'C', 0x74610845c0}, {'E', 0xfc21e843e0}, {'L', 0x84210843e0},
        {'P', 0xf463e84200}, {'S', 0x7c20e087c0}, {'[', 0x721084210e}, {']', 0x708421084e}, {'a', 0x001c17c5e0},
        {'b', 0x843d18c7c0}, {'c', 0x001d0845c0}, {'d', 0x085f18c5e0}, {'e', 0x001d1fc1c0}, {'f', 0x3251c42100},
        {'g', 0x001f18bc2e}, {'h', 0x843d18c620}, {'i', 0x20184211c0}, {'j', 0x100c210a4c}, {'k', 0x84254c5240},
        {'l', 0x61084211c0}, {'m', 0x00355ad6a0}, {'n', 0x003d18c620}, {'o', 0x001d18c5c0}, {'p', 0x003d18fa10},
        {'q', 0x001f18bc21}, {'r', 0x002d984200}, {'s', 0x001f0707c0}, {'t', 0x42388424c0}, {'u', 0x002318cda0},
        {'v', 0x002318a880}, {'w', 0x00235ad540}, {'x', 0x0022a22a20}, {'y', 0x002318bc2e}, {'z', 0x003e2223e0}};
    for (auto const& [letter, bits] : glyphs) {
        if (letter == wanted) return bits;
    }
    return 0xfc6318c7e0ull;
}

class canvas {
public:
    canvas(int width, int height) {
        picture.width = width;
        picture.height = height;
        picture.palette = {{255, 255, 255}, {30, 30, 30}, {225, 225, 225}};
        for (int level = 0; level < levels; ++level) picture.palette.push_back(shade(level / (levels - 1.0)));
        picture.pixels.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), paper);
    }

    void fill(int left, int top, int width, int height, unsigned char colour) {
        for (int y = top; y < top + height; ++y) {
            for (int x = left; x < left + width; ++x) picture.at(x, y) = colour;
        }
    }

    // Left to right from (left, top).
    void write(int left, int top, std::string const& text) {
        each_dot(text, [&](int along, int down) { fill(left + along, top + down, zoom, zoom, ink); });
    }

    // Bottom to top from (left, bottom).
    void write_upwards(int left, int bottom, std::string const& text) {
        each_dot(text, [&](int along, int down) { fill(left + down, bottom - along - zoom, zoom, zoom, ink); });
    }

    png::image picture;

private:
    template <class Dot>
    static void each_dot(std::string const& text, Dot dot) {
        int start = 0;
        for (char const letter : text) {
            std::uint64_t const bits = glyph(letter);
            for (int place = 0; place < glyph_width * glyph_height; ++place) {
                if (bits >> (glyph_width * glyph_height - 1 - place) & 1u) {
                    dot(start + place % glyph_width * zoom, place / glyph_width * zoom);
                }
            }
            start += advance;
        }
    }
};

inline int width_of(std::vector<std::string> const& labels) {
    std::size_t longest = 0;
    for (std::string const& label : labels) longest = std::max(longest, label.size());
    return static_cast<int>(longest) * advance;
}

}  // namespace detail

// A cell's colour goes with the square root of its probability, so that small shares stay visible.
// Queries go down, keys to the right; labels may be fewer than rows or columns.
inline png::image draw(matrix const& shares, std::vector<std::string> const& labels, std::string const& title) {
    using namespace detail;
    int const side = width_of(labels) + 2 * gap;
    int const left = side, top = gap + line + side;
    int const bottom = top + shares.rows * cell + gap;
    int const width = std::max(left + shares.cols * cell, gap + static_cast<int>(title.size()) * advance) + gap;
    canvas sheet(width, bottom + cell + gap);
    sheet.write(gap, gap, title);

    float const largest = *std::max_element(shares.values.begin(), shares.values.end());
    auto const colour_of = [&](double value) {
        return static_cast<unsigned char>(first_level + std::lround(std::sqrt(value / largest) * (levels - 1)));
    };
    for (int row = 0; row < shares.rows; ++row) {
        for (int col = 0; col < shares.cols; ++col) {
            float const value = shares.values[static_cast<std::size_t>(row) * static_cast<std::size_t>(shares.cols) +
                                              static_cast<std::size_t>(col)];
            sheet.fill(left + col * cell, top + row * cell, cell - 1, cell - 1, value > 0 ? colour_of(value) : hidden);
        }
    }

    int const middle = (cell - line) / 2;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        int const place = static_cast<int>(i) * cell + middle;
        int const length = static_cast<int>(labels[i].size()) * advance;
        if (static_cast<int>(i) < shares.rows) sheet.write(left - gap - length, top + place, labels[i]);
        if (static_cast<int>(i) < shares.cols) sheet.write_upwards(left + place, top - gap, labels[i]);
    }

    // The key to the colours: from 0 to the largest probability, on the same square-root scale.
    int const bar = std::min(200, shares.cols * cell);
    for (int x = 0; x < bar; ++x) {
        double const share = x / (bar - 1.0);
        sheet.fill(left + x, bottom, 1, cell, colour_of(share * share * largest));
    }
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", static_cast<double>(largest));
    sheet.write(left - gap - advance, bottom + middle, "0");
    sheet.write(left + bar + gap, bottom + middle, text);
    return std::move(sheet.picture);
}

}  // namespace heat_map
