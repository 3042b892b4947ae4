// Forcing kernels on the same rows, one after another.
#include "sweep.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "../bars/chosen.hpp"
#include "../bars/verify.hpp"
#include "../support/arguments.hpp"
#include "../support/today.hpp"

namespace bench {
namespace {

constexpr std::size_t slack = 4096;
constexpr int most_batches = 1 << 20;
constexpr int64 most_heads = 32;  // that share a mask, as in bars

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::vector<std::string> parts_of(std::string const& words) {
    std::vector<std::string> parts(1);
    for (char c : words) {
        if (c == ',') {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

// Those of `every` that are named.
template <class Named, std::size_t Count>
std::vector<Named> named(std::string const& words, Named const (&every)[Count], char const* what) {
    std::vector<Named> found;
    for (std::string const& part : parts_of(words)) {
        std::size_t const before = found.size();
        std::string names;
        for (Named one : every) {
            names += std::string(names.empty() ? "" : ", ") + name_of(one);
            if (part == name_of(one)) found.push_back(one);
        }
        if (found.size() == before) throw std::runtime_error(std::string(what) + " is of " + names);
    }
    return found;
}

std::vector<int64> numbers(std::string const& words, char const* what) {
    std::vector<int64> found;
    for (std::string const& part : parts_of(words)) {
        char* end = nullptr;
        long long const number = std::strtoll(part.c_str(), &end, 10);
        if (part.empty() || *end != '\0' || number < 1)
            throw std::runtime_error(std::string(what) + " is a list of numbers, with commas between");
        found.push_back(number);
    }
    return found;
}

int64 rows_of(call const& c) { return c.shape.batch * c.shape.heads * c.shape.queries; }

// Kernels of which most lanes would have nothing to do are not worth a measurement; few rows may want many lanes.
bool is_worth_trying(smx::policy const& p, int64 rows, int64 cols) {
    int const most = rows > 0 ? 64 : 8;
    if (smx::holds_row(p.body)) return cols <= p.columns() && p.columns() <= most * cols + 64;
    return cols >= p.lanes;
}

}  // namespace

bool read_argument(std::string const& argument, sweep_settings& s) {
    std::string value;
    if (value_of(argument, "--dtype=", value)) {
        s.types = named(value, every_dtype, "--dtype");
    } else if (value_of(argument, "--mask=", value)) {
        s.masks = named(value, every_mask, "--mask");
    } else if (value_of(argument, "--rows=", value)) {
        s.rows = numbers(value, "--rows");
    } else if (value_of(argument, "--cols=", value)) {
        s.cols = numbers(value, "--cols");
    } else if (value_of(argument, "--megabytes=", value)) {
        s.megabytes = static_cast<std::size_t>(numbers(value, "--megabytes")[0]);
    } else if (value_of(argument, "--limit=", value)) {
        s.limit = std::atof(value.c_str());
    } else if (value_of(argument, "--pause=", value)) {
        s.pause = std::atof(value.c_str());
    } else {
        return value_of(argument, "--json=", s.json);
    }
    return true;
}

struct sweep::rounds {
    int count;
    std::size_t bytes, step;  // of x and of y, a call; from one call's to the next
    int64 flags_step, bias_step;
    mask_kind masks;
};

sweep::sweep(gpu const& device, sweep_settings const& s)
    : settings_(s),
      device_(device),
      bytes_(s.megabytes << 20),
      x_(bytes_ + slack),
      y_(bytes_ + slack),
      masks_(bytes_ / 2 + slack, bytes_ + slack, most_batches),
      start_(now()) {
    options_.launches = 9;
    options_.warm_ups = 2;
    options_.pause = s.pause;
    options_.repeats = 1;
    copy_ = copy_bandwidth(y_, x_, bytes_);
}

bool sweep::out_of_time() const { return now() - start_ > settings_.limit; }

void sweep::set_scores(dtype type) {
    if (has_scores_ && type == scores_type_) return;
    constexpr double deviation = 1.8;
    fill_normal(x_.at(), type, static_cast<int64>(x_.bytes()) / bytes_of(type), deviation, 0, 1);
    scores_type_ = type;
    has_scores_ = true;
}

// Heads share a mask; under a causal mask each is a square where there is room for one.
call sweep::call_of(dtype type, mask_kind masks, int64 rows, int64 cols) const {
    int64 const count = rows > 0 ? rows : static_cast<int64>(bytes_) / (cols * bytes_of(type));
    if (count < 1 || count * cols * bytes_of(type) > static_cast<int64>(bytes_))
        throw std::runtime_error("such rows do not fit: more --megabytes");
    call c{};
    c.type = type;
    c.x = x_.at();
    c.y = y_.at();
    c.factor = 1.0;
    c.bulk_copies = device_.limits.bulk_copies;
    if (masks == mask_kind::none) {
        c.shape = {count, cols};
    } else if (has_causal(masks)) {
        if (rows > 0 && rows % cols != 0)
            throw std::runtime_error(
                "the first rows of a causal mask see next to nothing: --rows is a multiple of --cols");
        int64 const queries = std::min(cols, count), panels = count / queries;
        int64 const heads = masks == mask_kind::causal ? panels : std::min(most_heads, panels);
        c.shape = {panels / heads, heads, queries, cols};
    } else {
        int64 heads = std::min(most_heads, count);
        while (rows > 0 && rows % heads != 0) --heads;
        c.shape = {1, heads, count / heads, cols};
    }
    return c;
}

// As many as go round four times the L2, and every mask with its rows.
sweep::rounds sweep::rounds_of(call const& c, mask_kind masks) {
    constexpr std::size_t line = 256;
    rounds around{};
    around.masks = masks;
    around.bytes = static_cast<std::size_t>(rows_of(c) * c.shape.keys * bytes_of(c.type));
    around.step = (around.bytes + line - 1) / line * line;
    std::size_t const wanted =
        std::max<std::size_t>(8, 4 * static_cast<std::size_t>(device_.l2_bytes) / (2 * around.bytes) + 1);
    around.count = static_cast<int>(std::max<std::size_t>(1, std::min(wanted, bytes_ / around.step)));
    int64 const panel = c.shape.queries * c.shape.keys;
    if (has_flags(masks)) {
        around.flags_step = c.shape.batch * panel;
        masks_.set_flags(around.count * around.flags_step, 0.5);
    }
    if (has_bias(masks)) {
        around.bias_step = panel * bytes_of(c.type);
        masks_.set_bias(c.type, around.count * panel);
    }
    return around;
}

call sweep::call_at(rounds const& around, call const& c, int place) {
    call here = c;
    std::size_t const step = static_cast<std::size_t>(place) * around.step;
    here.x = static_cast<char const*>(c.x) + step;
    here.y = static_cast<char*>(c.y) + step;
    if (has_flags(around.masks)) here.flags += place * around.flags_step;
    if (has_bias(around.masks)) here.bias = static_cast<char const*>(c.bias) + place * around.bias_step;
    return here;
}

// Seconds of the fastest plain copy of a call's rows.
double sweep::cold_copy(rounds const& around) {
    double fastest = 0;
    for (int threads : {128, 256, 512, 1024}) {
        timing const time = measure_graph(
            around.count,
            [&](cudaStream_t stream, int i) {
                std::size_t const place = static_cast<std::size_t>(i) * around.step;
                bench::copy(stream, y_.at(place), x_.at(place), around.bytes, threads);
            },
            options_);
        if (fastest == 0 || time.median < fastest) fastest = time.median;
    }
    return fastest;
}

std::vector<forced_kernel> sweep::run(std::vector<candidate> const& list, dtype type, mask_kind masks, int64 rows,
                                      int64 cols) {
    set_scores(type);
    call c = call_of(type, masks, rows, cols);
    masks_.set(c, masks);
    double const floor = masks_.floor_bytes(c, masks);
    smx::policy const automatic = policy_of(c, masks, device_.limits);
    smx::row_shape shape;
    shape.cols = cols;
    shape.element_bytes = bytes_of(type);
    shape.rows = rows_of(c);

    bool const is_few = rows > 0;
    rounds const around = is_few ? rounds_of(c, masks) : rounds{};
    double const bandwidth =
        is_few ? 2.0 * static_cast<double>(around.bytes) / cold_copy(around) : copy_ * 1e9;  // bytes a second
    call const checked = is_few ? call_at(around, c, around.count - 1) : c;

    std::vector<forced_kernel> results;
    for (candidate const& k : list) {
        if (out_of_time()) break;
        smx::policy const kernel = k.kernel != nullptr ? k.kernel(shape) : automatic;
        bool const is_known = std::any_of(results.begin(), results.end(),
                                          [&](forced_kernel const& other) { return other.kernel == kernel; });
        if (is_known || (kernel != automatic && !is_worth_trying(kernel, rows, cols))) continue;
        constexpr int all_ones = 0xff;
        fill_bytes(checked.y, all_ones, static_cast<std::size_t>(rows_of(c) * cols * bytes_of(type)));
        if (smx::status const s = k.launch(nullptr, checked); !s) {
            // It is not for such rows, or the device has not what it needs; any other reason is worth a line.
            if (s.code == smx::errc::cuda_failed)
                std::fprintf(stderr, "left out: %s: %s\n", type_of(kernel).c_str(), s.requirement);
            continue;
        }
        try {
            must(cudaDeviceSynchronize(), "kernel");
            verify(checked, {masks, masks_.host_lengths()});
        } catch (std::exception const& problem) {
            throw std::runtime_error(type_of(kernel) + ", " + std::to_string(cols) + " columns: " + problem.what());
        }
        timing const time =
            is_few ? measure_graph(
                         around.count,
                         [&](cudaStream_t stream, int i) { (void)k.launch(stream, call_at(around, c, i)); }, options_)
                   : measure([&](cudaStream_t stream) { (void)k.launch(stream, c); }, options_);
        must(cudaGetLastError(), "launch");
        results.push_back(
            {type, masks, rows, cols, kernel, time, floor / time.median / bandwidth, kernel == automatic});
    }
    std::sort(results.begin(), results.end(),
              [](forced_kernel const& a, forced_kernel const& b) { return a.share > b.share; });
    return results;
}

forced_kernel const* best_of(std::vector<forced_kernel> const& kernels, family f) {
    forced_kernel const* best = nullptr;
    for (forced_kernel const& k : kernels) {
        if (family_of(k.kernel) == f && (best == nullptr || k.share > best->share)) best = &k;
    }
    return best;
}

forced_kernel const* automatic_of(std::vector<forced_kernel> const& kernels) {
    auto const found = std::find_if(kernels.begin(), kernels.end(), [](forced_kernel const& k) { return k.automatic; });
    return found == kernels.end() ? nullptr : &*found;
}

bool write_json(std::string const& path, gpu const& device, double copy, std::vector<forced_kernel> const& kernels) {
    std::ofstream file(path);
    file << "{\n\"gpu\": \"" << device.name << "\",\n\"date\": \"" << today() << "\",\n\"copy_gbs\": " << copy
         << ",\n\"kernels\": [";
    file.precision(5);
    char const* separator = "\n";
    for (forced_kernel const& k : kernels) {
        file << separator << "{\"dtype\": \"" << name_of(k.type) << "\", \"mask\": \"" << name_of(k.masks)
             << "\", \"rows\": " << k.rows << ", \"cols\": " << k.cols << ", \"family\": \""
             << name_of(family_of(k.kernel)) << "\", \"kernel\": \"" << type_of(k.kernel)
             << "\", \"share\": " << k.share << ", \"microseconds\": " << k.time.median * 1e6
             << ", \"spread\": " << k.time.spread << ", \"mhz\": " << k.time.mhz
             << ", \"automatic\": " << (k.automatic ? "true" : "false") << "}";
        separator = ",\n";
    }
    file << "\n]\n}\n";
    return static_cast<bool>(file.flush());
}

}  // namespace bench
