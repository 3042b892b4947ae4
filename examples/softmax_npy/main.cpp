// softmax_npy: scaled mask softmax of a .npy file, on the GPU or on the CPU.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "inputs.hpp"
#include "options.hpp"
#include "run.hpp"

namespace {

enum class device { automatic, cpu, gpu };

npy::dtype stored_as(dtype type) {
    return type == dtype::bf16 ? npy::dtype{'u', 2} : npy::dtype{'f', static_cast<int>(bytes_of(type))};
}

double scale_of(options const& given) {
    if (given.has("--scale") && given.has("--head-dim"))
        throw std::runtime_error("--scale and --head-dim exclude each other");
    if (given.has("--scale")) return given.number("--scale");
    if (!given.has("--head-dim")) return 1;
    long long const head_dim = given.integer("--head-dim", "a positive integer");
    if (head_dim <= 0)
        throw std::runtime_error("--head-dim must be a positive integer, not '" + given.text("--head-dim") + "'");
    return smx::inv_sqrt(static_cast<double>(head_dim)).exact;
}

smx::causal_mask causal_of(options const& given) {
    std::string const& where = given.text("--causal");
    if (where == "top-left") return smx::causal_mask::top_left();
    if (where == "bottom-right") return smx::causal_mask::bottom_right();
    return smx::causal_mask::diagonal(given.integer("--causal", "top-left, bottom-right or an integer"));
}

bool same_file(std::string const& a, std::string const& b) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(a, ignored) == std::filesystem::weakly_canonical(b, ignored);
}

npy::shape without_keys(npy::shape dims) {
    dims.pop_back();
    return dims;
}

void write(file::output& to, dtype type, npy::shape const& dims, std::vector<unsigned char> const& elements) {
    std::string const head = npy::header_of(stored_as(type), dims);
    to.write(head.data(), head.size());
    to.write(elements.data(), elements.size());
    to.close();
}

// What the options say by themselves, checked before any file is read.
call call_of(options const& given) {
    call c;
    c.scale = scale_of(given);
    if (given.has("--causal")) c.causal = causal_of(given);
    c.side = given.has("--left") ? smx::padding::left : smx::padding::right;
    if (given.has("--left") && !given.has("--lengths")) throw std::runtime_error("--left needs --lengths");
    c.when_empty = given.choice<smx::empty_row>(
        "--empty",
        {{"zeros", smx::empty_row::zeros}, {"uniform", smx::empty_row::uniform}, {"nan", smx::empty_row::nan}});
    c.out = given.choice<dtype>("--out-dtype",
                                {{"f32", dtype::f32}, {"f16", dtype::f16}, {"bf16", dtype::bf16}, {"f64", dtype::f64}});
    if (given.has("--lse") && same_file(given.text("--out"), given.text("--lse")))
        throw std::runtime_error("--out and --lse name the same file");
    return c;
}

bool uses_gpu(options const& given) {
    auto const where =
        given.choice<device>("--device", {{"auto", device::automatic}, {"cpu", device::cpu}, {"gpu", device::gpu}});
    if (where == device::cpu) return false;
    std::string const absence = gpu_absence();
    if (where == device::gpu && !absence.empty()) throw std::runtime_error("--device gpu: " + absence);
    return absence.empty();
}

void run(options const& given) {
    call c = call_of(given);
    bool const is_bfloat16 = given.has("--scores-dtype") && given.choice<bool>("--scores-dtype", {{"bf16", true}});
    bool const on_gpu = uses_gpu(given);
    std::string const& out_path = given.text("--out");

    input_file const scores(given.text("--scores"));
    npy::shape const& dims = scores.array.dims;
    c.in = scores_dtype(scores, is_bfloat16);
    if (!given.has("--out-dtype")) c.out = c.in;
    c.shape = scores_extents(scores);
    c.scores = view(scores.array.bytes);
    dtype const compute = compute_of(c.in);
    if (compute == dtype::f32 && !std::isfinite(static_cast<float>(c.scale)))
        throw std::runtime_error("--scale '" + given.text("--scale") + "' is too large for float arithmetic");

    // Nothing is computed for a tensor without elements, and nothing the size of its other extents is allocated.
    bool const runs = c.elements() > 0 || (given.has("--lse") && c.rows() > 0);
    std::string masks = given.has("--causal") ? ", causal " + given.text("--causal") : "";

    std::vector<int> lengths(runs ? static_cast<std::size_t>(c.shape.batch) : 0, static_cast<int>(c.shape.keys));
    if (given.has("--lengths")) {
        lengths = key_lengths(input_file(given.text("--lengths")), c.shape);
        masks += given.has("--left") ? ", left lengths" : ", lengths";
    }
    c.lengths = view(lengths);

    c.has_tensors = given.has("--mask") || given.has("--bias");
    std::vector<unsigned char> flags(1, 1), bias(bytes_of(compute), 0);
    if (given.has("--mask")) {
        input_file const mask(given.text("--mask"));
        c.flag_step = broadcast_over(mask, dims);
        flags = mask_flags(mask);
        masks += ", mask " + npy::text_of(mask.array.dims);
    }
    if (given.has("--bias")) {
        input_file const added(given.text("--bias"));
        c.bias_step = broadcast_over(added, dims);
        bias = bias_values(added, compute);
        masks += ", bias " + npy::text_of(added.array.dims);
    }
    c.flags = view(flags);
    c.bias = view(bias);

    std::vector<unsigned char> probabilities(c.elements() * bytes_of(c.out));
    std::vector<unsigned char> log_sum_exp(runs ? c.rows() * bytes_of(compute) : 0);
    c.probabilities = probabilities.data();
    c.log_sum_exp = log_sum_exp.data();
    timing const took = !runs ? timing{"nothing to do"} : on_gpu ? run_on_gpu(c) : run_on_cpu(c);

    file::output out(out_path);
    write(out, c.out, dims, probabilities);
    if (given.has("--lse")) {
        file::output lse(given.text("--lse"));
        write(lse, compute, without_keys(dims), log_sum_exp);
        lse.commit();
    }
    out.commit();
    std::printf("%s %s -> %s%s, %s, %.3f ms, %.2f GB/s\n", npy::text_of(dims).c_str(), name_of(c.in), name_of(c.out),
                masks.c_str(), took.device.c_str(), took.seconds * 1e3, took.gigabytes_per_second(c));
}

}  // namespace

int main(int count, char** words) {
    try {
        options const given(count, words);
        if (given.has("--help") || count == 1) {
            std::fputs(usage, stdout);
            return 0;
        }
        run(given);
        return 0;
    } catch (std::bad_alloc const&) {
        std::fputs("softmax_npy: not enough memory\n", stderr);
    } catch (std::exception const& error) {
        std::fprintf(stderr, "softmax_npy: %s\n", error.what());
    }
    return 1;
}
