// smx_demo: the tool's own code on the attention scores of a real model, every mask kind, compared with the model's
// probabilities.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "heat_map.hpp"
#include "inputs.hpp"
#include "run.hpp"

namespace {

constexpr double head_dim = 32;
constexpr float neg_inf = -std::numeric_limits<float>::infinity();

struct mask_kind {
    char const* name;
    bool causal, lengths, flags, bias;
    bool is_models;  // hides just the padding, as the model does
};

constexpr mask_kind kinds[] = {
    {"none", false, false, false, false, false},
    {"causal top-left", true, false, false, false, false},
    {"lengths", false, true, false, false, true},
    {"mask tensor", false, false, true, false, true},
    {"bias of 0 and -inf", false, false, false, true, true},
    {"all four", true, true, true, true, false},
};

// What the model gave, loaded from the files of examples/data.
struct model_data {
    explicit model_data(std::string const& folder)
        : scores(folder + "/scores.npy"),
          probabilities(folder + "/probabilities.npy"),
          mask(folder + "/mask.npy"),
          lengths_file(folder + "/lengths.npy"),
          shape(scores_extents(scores)),
          lengths(key_lengths(lengths_file, shape)),
          flags(mask_flags(mask)) {
        if (probabilities.array.dims != scores.array.dims || probabilities.array.type != scores.array.type) {
            probabilities.refuse("is not like scores.npy");
        }
        std::ifstream file(folder + "/tokens.txt");
        for (std::string line; std::getline(file, line);) {
            std::istringstream words(line);
            tokens.emplace_back();
            for (std::string word; words >> word;) tokens.back().push_back(word);
        }

        // As the model hides padding: by adding to the scores. As ALiBi favours near keys: a slope for each head.
        for (unsigned char const flag : flags) padding_bias.push_back(flag ? 0.0f : neg_inf);
        for (int head = 0; head < shape.heads; ++head) {
            for (int query = 0; query < shape.queries; ++query) {
                for (int key = 0; key < shape.keys; ++key) {
                    distance_bias.push_back(-std::exp2(-8.0f * static_cast<float>(head + 1) / 12) *
                                            static_cast<float>(std::abs(query - key)));
                }
            }
        }
    }

    input_file scores, probabilities, mask, lengths_file;
    smx::extents shape;
    std::vector<int> lengths;
    std::vector<unsigned char> flags;
    std::vector<float> padding_bias, distance_bias;
    std::vector<std::vector<std::string>> tokens;
};

// Softmax in double precision of the scores as stored, written out from the definition.
std::vector<double> reference(model_data const& model, mask_kind const& kind, std::vector<double> const& scores) {
    std::vector<double> expected(scores.size());
    smx::extents const shape = model.shape;
    std::size_t at = 0;
    for (int batch = 0; batch < shape.batch; ++batch) {
        for (int head = 0; head < shape.heads; ++head) {
            for (int query = 0; query < shape.queries; ++query, at += static_cast<std::size_t>(shape.keys)) {
                double const* const row = &scores[at];
                std::vector<double> weight(static_cast<std::size_t>(shape.keys));
                double max = -std::numeric_limits<double>::infinity(), sum = 0;
                for (int key = 0; key < shape.keys; ++key) {
                    auto const k = static_cast<std::size_t>(key);
                    std::size_t const padding = static_cast<std::size_t>(batch * shape.keys + key);
                    bool const visible = (!kind.causal || key <= query) &&
                                         (!kind.lengths || key < model.lengths[static_cast<std::size_t>(batch)]) &&
                                         (!kind.flags || model.flags[padding]);
                    double added = 0;
                    if (kind.bias && kind.is_models) added = static_cast<double>(model.padding_bias[padding]);
                    if (kind.bias && !kind.is_models) {
                        added = static_cast<double>(model.distance_bias[static_cast<std::size_t>(
                            (head * shape.queries + query) * shape.keys + key)]);
                    }
                    weight[k] =
                        visible ? row[key] / std::sqrt(head_dim) + added : -std::numeric_limits<double>::infinity();
                    max = std::max(max, weight[k]);
                }
                for (double& w : weight) sum += w = std::exp(w - max);
                for (std::size_t k = 0; k < weight.size(); ++k) expected[at + k] = weight[k] / sum;
            }
        }
    }
    return expected;
}

std::vector<double> as_doubles(std::vector<unsigned char> const& bytes, dtype type) {
    npy::array const array{
        {'f', static_cast<int>(bytes_of(type))}, {}, static_cast<long long>(bytes.size() / bytes_of(type)), bytes};
    std::vector<double> values(static_cast<std::size_t>(array.count));
    std::vector<unsigned char> const wide = detail::converted_to<double>(array);
    std::memcpy(values.data(), wide.data(), wide.size());
    return values;
}

// A NaN is the largest error of all.
double largest_error(std::vector<double> const& values, std::vector<double> const& expected) {
    double largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        double const error = std::fabs(values[i] - expected[i]);
        if (!(error <= largest)) largest = error;
        if (std::isnan(largest)) break;
    }
    return largest;
}

void write_heat_map(model_data const& model, std::vector<double> const& probabilities, int sentence, int head,
                    std::string const& path) {
    heat_map::matrix shares{static_cast<int>(model.shape.queries), static_cast<int>(model.shape.keys), {}};
    auto const cells = static_cast<std::size_t>(shares.rows) * static_cast<std::size_t>(shares.cols);
    auto const panel = static_cast<std::size_t>(sentence * model.shape.heads + head);
    for (std::size_t i = 0; i < cells; ++i)
        shares.values.push_back(static_cast<float>(probabilities[panel * cells + i]));
    std::string const title =
        "sentence " + std::to_string(sentence) + ", head " + std::to_string(head) + ": queries down, keys across";
    auto const image = png::encode(heat_map::draw(shares, model.tokens.at(static_cast<std::size_t>(sentence)), title));
    file::output out(path);
    out.write(image.data(), image.size());
    out.commit();
}

int demo(std::string const& folder, std::string const& picture) {
    model_data const model(folder);
    std::string const shape = npy::text_of(model.scores.array.dims);
    std::vector<double> const models_answer = as_doubles(model.probabilities.array.bytes, dtype::f32);
    std::printf("Attention scores of all-MiniLM-L6-v2 on six sentences of 5 to 43 tokens, scale 1 / sqrt(%.0f).\n\n",
                head_dim);
    std::printf("%-19s %-5s %-13s %-12s %9s %7s   %-8s %-6s %s\n", "mask", "dtype", "shape", "device", "time", "GB/s",
                "error", "bound", "against");

    std::string const no_gpu = gpu_absence();
    bool all_good = true;
    std::vector<double> drawn;
    for (bool const on_gpu : {false, true}) {
        if (on_gpu && !no_gpu.empty()) continue;
        for (dtype const type : {dtype::f32, dtype::f16}) {
            double const bound = type == dtype::f32 ? 1e-6 : 1e-3;
            std::vector<unsigned char> const stored =
                type == dtype::f32 ? model.scores.array.bytes : detail::converted<float, smx::half>(model.scores.array);
            for (mask_kind const& kind : kinds) {
                std::vector<int> const all_keys(model.lengths.size(), static_cast<int>(model.shape.keys));
                std::vector<unsigned char> const one_flag(1, 1);
                std::vector<float> const no_bias(1, 0.0f);
                auto const& bias = !kind.bias ? no_bias : kind.is_models ? model.padding_bias : model.distance_bias;

                call c;
                c.in = c.out = type;
                c.shape = model.shape;
                c.scale = smx::inv_sqrt(head_dim).exact;
                c.scores = view(stored);
                if (kind.causal) c.causal = smx::causal_mask::top_left();
                c.lengths = view(kind.lengths ? model.lengths : all_keys);
                c.has_tensors = kind.flags || kind.bias;
                c.flags = view(kind.flags ? model.flags : one_flag);
                if (kind.flags) c.flag_step = broadcast_over(model.mask, model.scores.array.dims);
                c.bias = view(bias);
                if (kind.bias) {
                    c.bias_step = kind.is_models
                                      ? broadcast_over(model.mask, model.scores.array.dims)
                                      : smx::broadcast({1, model.shape.heads, model.shape.queries, model.shape.keys});
                }
                std::vector<unsigned char> probabilities(c.elements() * bytes_of(type));
                std::vector<float> log_sum_exp(c.rows());
                c.probabilities = probabilities.data();
                c.log_sum_exp = log_sum_exp.data();

                timing const took = on_gpu ? run_on_gpu(c) : run_on_cpu(c);
                std::vector<double> values = as_doubles(probabilities, type);
                double const error = largest_error(
                    values, kind.is_models ? models_answer : reference(model, kind, as_doubles(stored, type)));
                bool const good = error <= bound;
                all_good = all_good && good;
                std::printf("%-19s %-5s %-13s %-12s %6.3f ms %7.2f   %.2e %.0e  %s%s\n", kind.name, name_of(type),
                            shape.c_str(), took.device.c_str(), took.seconds * 1e3, took.gigabytes_per_second(c), error,
                            bound, kind.is_models ? "the model" : "double", good ? "" : "   TOO LARGE");
                if (type == dtype::f32 && kind.lengths && kind.is_models) drawn = std::move(values);
            }
        }
    }
    if (!no_gpu.empty()) std::printf("\nThe GPU is left out: %s.\n", no_gpu.c_str());
    write_heat_map(model, drawn, 1, 3, picture);
    std::printf("\nOne head, drawn from the row \"lengths\": %s\n", picture.c_str());
    if (!all_good) std::fputs("smx_demo: an error exceeds its bound\n", stderr);
    return all_good ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
    try {
        return demo(count > 1 ? words[1] : SMX_DEMO_DATA, count > 2 ? words[2] : SMX_DEMO_PICTURE);
    } catch (std::exception const& error) {
        std::fprintf(stderr, "smx_demo: %s\n", error.what());
        return 1;
    }
}
