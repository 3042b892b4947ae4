// oneDNN's softmax with the scale and the mask it does not have itself as separate primitives, where the library is
// installed.
#pragma once
#include <functional>
#include <string>

namespace bench {

struct onednn_call {
    enum class type { float32, bfloat16, half } element;
    long long heads, queries, keys;
    void const* x;
    void* y;
    float factor;
    void const* bias = nullptr;  // queries x keys, elements as x, one for all heads
};

// Empty where oneDNN does not do this; `why` then says so. A release without a softmax of halves on the CPU (2.6 is one)
// gets the halves as floats: a loop of ours before, one after, and the mask made of floats once for all calls.
std::function<void()> make_onednn(onednn_call const& call, int threads, std::string& why);

}  // namespace bench
