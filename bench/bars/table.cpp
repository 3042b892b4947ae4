// Printing the table of bars, and writing it as JSON.
#include "table.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace bench {
namespace {

__attribute__((format(printf, 1, 2))) std::string text(char const* format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    return line;
}

// Pads to a width in characters: the bytes of a UTF-8 character that continue it take no place.
std::string padded(std::string const& words, int width, bool right = false) {
    int length = 0;
    for (char c : words) length += (static_cast<unsigned char>(c) & 0xc0u) != 0x80u ? 1 : 0;
    std::string const fill(static_cast<std::size_t>(width > length ? width - length : 0), ' ');
    return right ? fill + words : words + fill;
}

std::string number(double value, quantity what) {
    if (std::isnan(value)) return "-";
    switch (what) {
        case quantity::share_of_copy:
        case quantity::share_of_stream:
            return text("%.3f", value);
        case quantity::microseconds:
            return text("%.2f µs", value);
        case quantity::ratio:
            return text("× %.3f", value);
        case quantity::bytes:
            return text("%.0f B", value);
    }
    return "";
}

std::string bar_of(outcome const& o, int stage) {
    if (stage > 2 && !o.of->has_bar(stage)) return "";
    if (!o.of->has_bar(stage)) return stage == 2 ? bar_of(o, 3) : "";
    double const bar = o.of->bars[stage - 1];
    bool const at_least = o.of->what == quantity::share_of_copy || o.of->what == quantity::share_of_stream;
    return text("%s%.*f %s", at_least ? "≥" : "≤", o.of->what == quantity::bytes ? 0 : 2, bar,
                o.held(stage) ? "held" : "MISSED");
}

std::string time_of(outcome const& o) {
    if (o.result.time.median <= 0) return "-";
    double const microseconds = o.result.time.median * 1e6;
    return text("%.*f ±%.1f%%", microseconds < 10 ? 2 : 1, microseconds, 50 * o.result.time.spread);
}

std::string peer_of(outcome const& o, peers const& known) {
    auto const found = known.find(o.of->name);
    if (found == known.end()) return "";
    peer const& p = found->second;
    if (p.share <= 0) return text("%s %.2f µs", p.name.c_str(), p.microseconds);
    return p.microseconds > 0
               ? text("%s %.2f (%.*f µs)", p.name.c_str(), p.share, p.microseconds < 100 ? 2 : 0, p.microseconds)
               : text("%s %.2f", p.name.c_str(), p.share);
}

std::string quoted(std::string const& words) {
    std::string result = "\"";
    for (char c : words) {
        if (c == '"' || c == '\\') result += '\\';
        if (static_cast<unsigned char>(c) >= 0x20) result += c;
    }
    return result + "\"";
}

std::string json_number(double value, int digits) {
    return std::isfinite(value) ? text("%.*g", digits, value) : "null";
}

char const* name_of(quantity what) {
    switch (what) {
        case quantity::share_of_copy:
            return "share of copy";
        case quantity::share_of_stream:
            return "share of stream";
        case quantity::microseconds:
            return "microseconds";
        case quantity::ratio:
            return "ratio";
        case quantity::bytes:
            return "bytes";
    }
    return "";
}

std::string json_case(outcome const& o, peers const& known) {
    bench_case const& c = *o.of;
    std::string line =
        "\"name\": " + quoted(c.name) + ", \"work\": " + quoted(c.work) + ", \"dtype\": " + quoted(name_of(c.type)) +
        text(", \"rows\": %lld, \"cols\": %lld, \"quantity\": \"%s\"", o.result.rows, c.cols, name_of(c.what)) +
        ", \"value\": " + json_number(o.value, 5) +
        ", \"microseconds\": " + json_number(o.result.time.median * 1e6, 6) +
        ", \"spread\": " + json_number(o.result.time.spread, 3) +
        ", \"floor_bytes\": " + json_number(o.result.floor_bytes, 15) +
        ", \"mhz\": " + json_number(o.result.time.mhz, 5) + ", \"kernel\": " + quoted(o.result.kernel);
    if (!o.result.note.empty()) line += ", \"note\": " + quoted(o.result.note);
    if (!o.error.empty()) line += ", \"error\": " + quoted(o.error);
    if (auto const found = known.find(c.name); found != known.end()) {
        peer const& p = found->second;
        line += ", \"peer\": {\"name\": " + quoted(p.name) +
                ", \"share\": " + (p.share > 0 ? json_number(p.share, 4) : "null") +
                ", \"microseconds\": " + (p.microseconds > 0 ? json_number(p.microseconds, 6) : "null") +
                ", \"gpu\": " + quoted(p.gpu) + ", \"date\": " + quoted(p.date) + "}";
    }
    return line;
}

}  // namespace

peers read_peers(std::string const& path) {
    peers known;
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
        if (line.empty() || line[0] == '#' || line.rfind("case,", 0) == 0) continue;
        std::vector<std::string> fields(1);
        for (char c : line) {
            if (c == ',') {
                fields.emplace_back();
            } else {
                fields.back() += c;
            }
        }
        if (fields.size() < 6) continue;
        known[fields[0]] = {fields[1], std::strtod(fields[2].c_str(), nullptr), std::strtod(fields[3].c_str(), nullptr),
                            fields[4], fields[5]};
    }
    return known;
}

void print_table(std::vector<outcome> const& outcomes, peers const& known, run_facts const& facts) {
    int name_width = 4, peer_width = 15;
    for (outcome const& o : outcomes) {
        name_width = std::max(name_width, static_cast<int>(o.of->name.size()));
        peer_width = std::max(peer_width, static_cast<int>(peer_of(o, known).size()));
    }
    std::printf(
        "\n%s · %s%s · copy %.0f GB/s before, %.0f after; shares are of the larger. Stream of two reads and a write "
        "%.0f GB/s.\n",
        facts.gpu.c_str(), facts.date.c_str(), facts.quick ? " · small tensors" : "", facts.copy_before,
        facts.copy_after, facts.stream);
    auto const line = [&](std::string const& name, std::string const& best, std::string const& time,
                          std::string const& value, std::string const& bar1, std::string const& bar2,
                          std::string const& mhz, std::string const& kernel) {
        std::printf("%s  %s  %s  %s  %s  %s  %s  %s\n", padded(name, name_width).c_str(),
                    padded(best, peer_width).c_str(), padded(time, 15, true).c_str(), padded(value, 9, true).c_str(),
                    padded(bar1, 12).c_str(), padded(bar2, 12).c_str(), padded(mhz, 5, true).c_str(), kernel.c_str());
    };
    line("work", "best known peer", "time µs", "share", "bar, step 1", "bar", "MHz", "kernel");
    for (outcome const& o : outcomes) {
        std::string remark = o.result.kernel;
        if (!o.result.note.empty()) remark += (remark.empty() ? "" : " · ") + o.result.note;
        if (!o.error.empty()) remark = o.error;
        line(o.of->name, peer_of(o, known), time_of(o), number(o.value, o.of->what), bar_of(o, 1), bar_of(o, 2),
             o.result.time.mhz > 0 ? text("%.0f", o.result.time.mhz) : "", remark);
    }
    std::string gpu, date;
    for (auto const& [name, p] : known) {
        gpu = p.gpu;
        date = p.date;
    }
    if (!known.empty())
        std::printf("Peers: measured on one %s, %s; shares of the copy of their own process.\n", gpu.c_str(),
                    date.c_str());
}

bool write_json(std::string const& path, std::vector<outcome> const& outcomes, peers const& known,
                run_facts const& facts) {
    std::ofstream file(path);
    file << "{\n\"gpu\": " << quoted(facts.gpu) << ",\n\"date\": " << quoted(facts.date)
         << ",\n\"quick\": " << (facts.quick ? "true" : "false") << ",\n\"stage\": " << facts.stage
         << ",\n\"copy_gbs\": {\"before\": " << json_number(facts.copy_before, 6)
         << ", \"after\": " << json_number(facts.copy_after, 6)
         << "},\n\"stream_gbs\": " << json_number(facts.stream, 6) << ",\n\"bars\": [";
    char const* separator = "\n";
    for (outcome const& o : outcomes) {
        for (int stage = 1; stage <= stages; ++stage) {
            if (!o.of->has_bar(stage)) continue;
            file << separator << "{\"stage\": " << stage << ", \"bar\": " << json_number(o.of->bars[stage - 1], 5)
                 << ", \"held\": " << (o.held(stage) ? "true" : "false") << ", " << json_case(o, known) << "}";
            separator = ",\n";
        }
    }
    file << "\n],\n\"without_bar\": [";
    separator = "\n";
    for (outcome const& o : outcomes) {
        if (o.of->has_bar(1) || o.of->has_bar(2) || o.of->has_bar(3)) continue;
        file << separator << "{" << json_case(o, known) << "}";
        separator = ",\n";
    }
    file << "\n]\n}\n";
    return static_cast<bool>(file.flush());
}

}  // namespace bench
