// The command line of the tool.
#pragma once

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

constexpr char const* usage =
    "usage: softmax_npy --scores S.npy --out P.npy [options]\n"
    "\n"
    "Scaled mask softmax over the last axis of S, [batch,heads,queries,keys] or [rows,cols].\n"
    "\n"
    "  --scores S.npy         attention scores: f2, f4 or f8\n"
    "  --scores-dtype bf16    the scores are bfloat16 bits stored as u2\n"
    "  --out P.npy            the probabilities, in the shape of S\n"
    "  --out-dtype TYPE       f16, bf16 (stored as u2), f32 or f64; default: as the scores\n"
    "  --lse E.npy            also write the log-sum-exp of every row\n"
    "  --scale X              multiply the scores by X; default 1\n"
    "  --head-dim D           multiply the scores by 1 / sqrt(D)\n"
    "  --causal WHERE         key k is visible to query q if k <= q + N: WHERE is top-left (N = 0),\n"
    "                         bottom-right (N = keys - queries) or the number N\n"
    "  --lengths L.npy        visible keys of each batch, integers: the first ones\n"
    "  --left                 ... or, padded on the left, the last ones\n"
    "  --mask M.npy           bool or integer, nonzero = visible, broadcast to S by NumPy's rules\n"
    "  --bias B.npy           f2, f4 or f8, added after the scale, -inf hides, broadcast likewise\n"
    "  --empty WHAT           a row with nothing visible gives zeros (default), uniform or nan\n"
    "  --device WHERE         auto (default: the GPU if there is one), cpu or gpu\n"
    "  --help                 print this\n";

class options {
public:
    options(int count, char const* const* words) {
        for (int i = 1; i < count; ++i) {
            std::string const word = words[i];
            bool const is_switch = word == "--left" || word == "--help";
            if (!is_switch && !takes_value(word))
                throw std::runtime_error("unknown option '" + word + "'; --help lists them");
            if (!is_switch && i + 1 == count) throw std::runtime_error(word + " needs a value");
            if (!given_.emplace(word, is_switch ? "" : words[++i]).second)
                throw std::runtime_error(word + " is given twice");
        }
    }

    bool has(std::string const& name) const { return given_.count(name) != 0; }

    std::string const& text(std::string const& name) const {
        auto const found = given_.find(name);
        if (found == given_.end()) throw std::runtime_error(name + " is missing; --help lists the options");
        return found->second;
    }

    double number(std::string const& name) const {
        std::string const& value = text(name);
        char* end = nullptr;
        double const parsed = std::strtod(value.c_str(), &end);
        if (value.empty() || *end != '\0' || !std::isfinite(parsed)) {
            throw std::runtime_error(name + " must be a finite number, not '" + value + "'");
        }
        return parsed;
    }

    // Says `wanted` where the value is no integer.
    long long integer(std::string const& name, char const* wanted) const {
        std::string const& value = text(name);
        char* end = nullptr;
        errno = 0;
        long long const parsed = std::strtoll(value.c_str(), &end, 10);
        if (value.empty() || *end != '\0' || errno == ERANGE) {
            throw std::runtime_error(name + " must be " + wanted + ", not '" + value + "'");
        }
        return parsed;
    }

    // One of the named values; the first where the option is absent.
    template <class Value>
    Value choice(std::string const& name, std::initializer_list<std::pair<char const*, Value>> choices) const {
        if (!has(name)) return choices.begin()->second;
        std::string list;
        std::size_t left = choices.size();
        for (auto const& [word, value] : choices) {
            if (text(name) == word) return value;
            list += word + std::string(--left == 0 ? "" : left == 1 ? " or " : ", ");
        }
        throw std::runtime_error(name + " must be " + list + ", not '" + text(name) + "'");
    }

private:
    static bool takes_value(std::string const& word) {
        for (char const* const name :
             {"--scores", "--scores-dtype", "--out", "--out-dtype", "--lse", "--scale", "--head-dim", "--causal",
              "--lengths", "--mask", "--bias", "--empty", "--device"}) {
            if (word == name) return true;
        }
        return false;
    }

    std::map<std::string, std::string> given_;
};
