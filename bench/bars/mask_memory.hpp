// The memory that masks lie in, and what a call with masks must move.
#pragma once
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "calls.hpp"
#include "smx/mask/bits.hpp"

namespace bench {

class mask_memory {
public:
    mask_memory(std::size_t flag_bytes, std::size_t bias_bytes, int batches)
        : flags_(flag_bytes), bias_(bias_bytes), lengths_(static_cast<std::size_t>(batches) * sizeof(int)) {}

    // Fills what the masks of a call need, and puts it into the call.
    void set(call& c, mask_kind masks, double set_share = 0.5) {
        int64 const panel = c.shape.queries * c.shape.keys;
        if (has_flags(masks)) {
            set_flags(c.shape.batch * panel, set_share);
            c.flags = flags_.at<unsigned char>();
            c.flags_step = smx::broadcast({c.shape.batch, 1, c.shape.queries, c.shape.keys});
            c.flags_step.batch = panel;
        }
        if (has_bits(masks)) {
            int64 const words = smx::words_for<unsigned>(c.shape.keys), panel_words = c.shape.queries * words;
            if (c.shape.batch * panel_words * int64{sizeof(unsigned)} > static_cast<int64>(flags_.bytes()))
                throw std::logic_error("the mask is larger than its buffer");
            fill_bits(flags_.at<unsigned>(), c.shape.batch * c.shape.queries, c.shape.keys, set_share, 2);
            c.bits = flags_.at<unsigned>();
            c.bits_step = {panel_words, 0, words, 1};
        }
        if (has_bias(masks)) {
            set_bias(c.type, panel);
            c.bias = bias_.at();
            c.bias_step = smx::broadcast({1, 1, c.shape.queries, c.shape.keys});
        }
        if (has_lengths(masks)) {
            set_lengths(c.shape.batch, c.shape.keys);
            c.lengths = lengths_.at<int>();
        }
    }

    void set_flags(int64 count, double set_share) {
        if (count > static_cast<int64>(flags_.bytes())) throw std::logic_error("the mask is larger than its buffer");
        fill_flags(flags_.at<unsigned char>(), count, set_share, 2);
    }
    void set_bias(dtype type, int64 count) {
        if (count * bytes_of(type) > static_cast<int64>(bias_.bytes()))
            throw std::logic_error("the bias is larger than its buffer");
        fill_normal(bias_.at(), type, count, 1.0, 0, 3);
    }

    // What cannot be left out: what the structure of the masks lets a row see, read once, of x, or of y and dy; masks
    // that rows share, once; all that is written.
    double floor_bytes(call const& c, mask_kind masks) const {
        double const reads = c.dy != nullptr ? 2 : 1;
        double const all = static_cast<double>(c.shape.batch * c.shape.heads * c.shape.queries * c.shape.keys);
        if (masks == mask_kind::none) return (reads + 1) * all * bytes_of(c.type);
        double scores = 0, flags = 0, bits = 0, biases = 0;
        for (int64 q = 0; q < c.shape.queries; ++q) {
            int64 longest = 0;
            for (int64 b = 0; b < c.shape.batch; ++b) {
                int64 seen = has_causal(masks) ? std::min(q + 1, c.shape.keys) : c.shape.keys;
                if (has_lengths(masks)) seen = std::min<int64>(seen, host_lengths_[static_cast<std::size_t>(b)]);
                scores += static_cast<double>(seen * c.shape.heads);
                flags += has_flags(masks) ? static_cast<double>(seen) : 0;
                bits += has_bits(masks) ? static_cast<double>(seen) : 0;
                longest = std::max(longest, seen);
            }
            biases += has_bias(masks) ? static_cast<double>(longest) : 0;
        }
        return (reads * scores + biases + all) * bytes_of(c.type) + flags + bits / 8;
    }

    std::vector<int> const& host_lengths() const { return host_lengths_; }

private:
    // From all keys down by a sixteenth a batch, and again from all.
    void set_lengths(int64 batches, int64 keys) {
        host_lengths_.clear();
        for (int64 b = 0; b < batches; ++b) host_lengths_.push_back(static_cast<int>(keys - keys * (b % 16) / 16));
        std::size_t const bytes = host_lengths_.size() * sizeof(int);
        if (bytes > lengths_.bytes()) throw std::logic_error("there are more batches than lengths");
        must(cudaMemcpy(lengths_.at(), host_lengths_.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    }

    buffer flags_, bias_, lengths_;
    std::vector<int> host_lengths_;
};

}  // namespace bench
