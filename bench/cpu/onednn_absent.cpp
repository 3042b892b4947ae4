// In place of onednn.cpp where oneDNN is not installed.
#include "onednn.hpp"

namespace bench {

std::function<void()> make_onednn(onednn_call const&, int, std::string& why) {
    why = "built without oneDNN";
    return {};
}

}  // namespace bench
