// Two engines in one process, called in turn: linked into it, or loaded from the libraries named, by themselves or for all to see ("global").
#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <initializer_list>

using function = double (*)();

#if defined(LINKED)
extern "C" double first_on_host();
extern "C" double first_on_gpu();
extern "C" double second_on_host();
extern "C" double second_on_gpu();
#endif

namespace {

// The first engine's probabilities add up to 1, the second's, whose smx is another, to 2.
bool is(double sum, double expected) {
    if (std::fabs(sum - expected) < 1e-3) return true;
    std::printf("%f where %f is expected\n", sum, expected);
    return false;
}

}  // namespace

int main(int count, char** words) {
#if defined(LINKED)
    (void)count, (void)words;
    function const on_host[] = {first_on_host, second_on_host}, on_gpu[] = {first_on_gpu, second_on_gpu};
#else
    function on_host[2], on_gpu[2];
    if (count != 4) return 2;
    for (int i = 0; i < 2; ++i) {
        void* const library = dlopen(words[i + 1], RTLD_NOW | (std::strcmp(words[3], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL));
        if (library == nullptr) {
            std::puts(dlerror());
            return 2;
        }
        bool const is_first = std::strstr(words[i + 1], "first") != nullptr;
        on_host[is_first ? 0 : 1] = reinterpret_cast<function>(dlsym(library, is_first ? "first_on_host" : "second_on_host"));
        on_gpu[is_first ? 0 : 1] = reinterpret_cast<function>(dlsym(library, is_first ? "first_on_gpu" : "second_on_gpu"));
    }
#endif
    for (int turn = 0; turn < 2; ++turn) {
        for (int i : {1, 0, 1}) {
            if (!is(on_host[i](), 1 + i)) return 1;
        }
    }
    if (on_gpu[0]() == 0) {
        std::puts("on the CPU");
        return 0;
    }
    for (int turn = 0; turn < 2; ++turn) {
        for (int i : {1, 0, 1}) {
            if (!is(on_gpu[i](), 1 + i)) return 1;
        }
    }
    std::puts("on the CPU and on a GPU");
    return 0;
}
