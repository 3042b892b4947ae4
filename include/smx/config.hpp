// The one file that asks which compiler this is: version, namespaces, and the words every function is declared with.
#pragma once

#define SMX_VERSION_MAJOR 0
#define SMX_VERSION_MINOR 1
#define SMX_VERSION_PATCH 0

#if __cplusplus < 201703L
#error "smx is written in C++17: compile with -std=c++17 or later"
#endif
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "smx needs infinities and NaN: compile without -ffast-math and -ffinite-math-only"
#endif

#if defined(__CUDACC__)
#define SMX_HD __host__ __device__ __forceinline__
#define SMX_DEVICE __device__ __forceinline__
#else
#define SMX_HD inline __attribute__((always_inline))
#endif

// 1 where there is a host: NVRTC refuses functions for it.
#if defined(__CUDACC_RTC__)
#define SMX_HAS_HOST 0
#else
#define SMX_HAS_HOST 1
#endif

// 1 where the compiler can read the bits of a value as another type in a constant expression: NVRTC before 12.3 cannot.
#if defined(__has_builtin)
#if __has_builtin(__builtin_bit_cast)
#define SMX_HAS_BIT_CAST 1
#endif
#endif
#if !defined(SMX_HAS_BIT_CAST)
#define SMX_HAS_BIT_CAST 0
#endif

// The first of two expressions where there are __ldcs and __stcs; clang as the CUDA compiler has none.
#if defined(__clang__) && !defined(__NVCC__)
#define SMX_STREAMED(with, without) without
#else
#define SMX_STREAMED(with, without) with
#endif

// A kernel's parameter that may be read where it lies; clang before 20 copies what it does not see through.
#if defined(__clang__) && !defined(__NVCC__) && __clang_major__ < 20
#define SMX_GRID_CONSTANT
#else
#define SMX_GRID_CONSTANT __grid_constant__
#endif

// 1 where the instructions of clusters and bulk copies can be written: CUDA 12.1, for clang as its compiler also LLVM 17. Code for 9.0 and later does
// without them elsewhere, as that for 8.9.
#if defined(__CUDACC_VER_MAJOR__)
#define SMX_HAS_CLUSTERS (__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1201)
#elif defined(__CUDACC__)
#define SMX_HAS_CLUSTERS (__clang_major__ >= 17 && CUDA_VERSION >= 12010)
#else
#define SMX_HAS_CLUSTERS 1
#endif

// 1 while the code being compiled will run on a GPU.
#if defined(__CUDA_ARCH__)
#define SMX_DEVICE_CODE 1
#if SMX_HAS_CLUSTERS || __CUDA_ARCH__ < 900
#define SMX_ARCH __CUDA_ARCH__
#else
#define SMX_ARCH 890
#endif
#define SMX_UNROLL _Pragma("unroll")
#define SMX_KEEP_LOOP _Pragma("unroll 1")
#else
#define SMX_DEVICE_CODE 0
#define SMX_ARCH 0
// Loops stay loops on a CPU: what is unrolled first is not vectorised after. nvcc refuses the pragmas of its host compiler.
#if defined(__CUDACC__)
#define SMX_UNROLL
#elif defined(__clang__)
#define SMX_UNROLL _Pragma("nounroll")
#else
#define SMX_UNROLL _Pragma("GCC unroll 1")
#endif
#define SMX_KEEP_LOOP
#endif

// How many halves the CPU converts by one instruction of its own.
#if !defined(__F16C__) || defined(__CUDACC__)
#define SMX_HALVES_AT_ONCE 0
#elif defined(__AVX512F__)
#define SMX_HALVES_AT_ONCE 16
#else
#define SMX_HALVES_AT_ONCE 8
#endif

// Values that cross from one translation unit to another: one namespace a version, so that two of them in a process share no symbol. Who compiles one
// version changed, or commits between two, gives it a name of its own: -DSMX_TAG=my_engine.
#if !defined(SMX_TAG)
#define SMX_TAG
#endif
#define SMX_VERSION_JOIN(A, B, C, D) v##A##_##B##_##C##D
#define SMX_VERSION_EXPAND(...) SMX_VERSION_JOIN(__VA_ARGS__)
#define SMX_BEGIN \
    namespace smx { \
    inline namespace SMX_VERSION_EXPAND(SMX_VERSION_MAJOR, SMX_VERSION_MINOR, SMX_VERSION_PATCH, SMX_TAG) {
#define SMX_END \
    } \
    }

// Kernels and what launches them: one namespace a version and a list of architectures, so that two shared libraries built for
// different GPUs never share a symbol.
#if defined(__CUDA_ARCH_LIST__)
#define SMX_ARCHS_JOIN(A, B, C, D, E, F, G, H, I, J, ...) sm_##A##x##B##x##C##x##D##x##E##x##F##x##G##x##H##x##I##x##J
#define SMX_ARCHS_EXPAND(...) SMX_ARCHS_JOIN(__VA_ARGS__)
#define SMX_ARCHS SMX_ARCHS_EXPAND(__CUDA_ARCH_LIST__, , , , , , , , , , )
#else
#define SMX_ARCHS sm_any
#endif
#if SMX_HAS_HOST
#define SMX_HIDDEN __attribute__((visibility("hidden")))
#else
#define SMX_HIDDEN  // NVRTC links nothing, and warns of it
#endif
#define SMX_BEGIN_KERNELS SMX_BEGIN inline namespace SMX_ARCHS SMX_HIDDEN {
#define SMX_END_KERNELS \
    } \
    SMX_END

SMX_BEGIN
using int64 = long long;
using uint64 = unsigned long long;
SMX_END
