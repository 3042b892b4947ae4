# What only smx's own tests, benches and examples need: CUDA, warnings, the test and benchmark libraries, and the
# functions smx_test, smx_bench and smx_example.
enable_testing()
include(CheckLanguage)
include(GoogleTest)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)

# The compute capability of every GPU of this machine, or nothing.
function(smx_find_gpus result)
    set(${result} PARENT_SCOPE)
    find_program(SMX_NVIDIA_SMI nvidia-smi)
    if(SMX_NVIDIA_SMI)
        execute_process(COMMAND ${SMX_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
            OUTPUT_VARIABLE capabilities ERROR_QUIET)
        string(REGEX MATCHALL "[0-9]+\\.[0-9]" capabilities "${capabilities}")
        list(REMOVE_DUPLICATES capabilities)
        string(REPLACE "." "" capabilities "${capabilities}")
        set(${result} ${capabilities} PARENT_SCOPE)
    endif()
endfunction()

set(smx_cuda OFF)
if(NOT SMX_CUDA STREQUAL "OFF")
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        set(smx_old_architecture) # one more for some of the tests
        if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
            smx_find_gpus(CMAKE_CUDA_ARCHITECTURES)
            if(NOT CMAKE_CUDA_ARCHITECTURES)
                # Kernels are only seen to compile, to PTX: for a new GPU, and the tests that need no such thing for an old one.
                set(CMAKE_CUDA_ARCHITECTURES 90-virtual)
                set(smx_old_architecture 75-virtual)
            endif()
        endif()
        enable_language(CUDA)
        find_package(CUDAToolkit REQUIRED)
        set(smx_cuda ON)
        if(smx_old_architecture)
            # Nobody runs them here: a third of the time.
            string(REPLACE -O3 -O0 CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
            if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
                add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:--Ofast-compile=max>)
            endif()
            message(STATUS "smx: no GPU here: kernels compile in less time and are slow; -DCMAKE_CUDA_ARCHITECTURES=... makes fast ones")
        endif()
        message(STATUS "smx: CUDA ${CMAKE_CUDA_COMPILER_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
    elseif(SMX_CUDA STREQUAL "ON")
        message(FATAL_ERROR "smx: SMX_CUDA is ON and no CUDA compiler was found: install the CUDA toolkit, "
            "or name its nvcc with -DCMAKE_CUDA_COMPILER=...")
    endif()
endif()
if(NOT smx_cuda)
    message(STATUS "smx: no CUDA (SMX_CUDA=${SMX_CUDA}): everything in .cu files is left out")
endif()

set(smx_warning_flags -Wall -Wextra -Wconversion -Wshadow -Werror)
string(REPLACE ";" "," smx_warning_flags_nvcc "${smx_warning_flags}")
add_library(smx_warnings INTERFACE)
target_compile_options(smx_warnings INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:${smx_warning_flags}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${smx_warning_flags_nvcc}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")

# Adds an executable unless a source of it needs CUDA and there is none; `added` says which.
function(smx_executable added name)
    set(${added} OFF PARENT_SCOPE)
    if(NOT smx_cuda AND "${ARGN}" MATCHES "\\.cu(;|$)")
        message(STATUS "smx: ${name} is left out: it needs the CUDA toolkit")
        return()
    endif()
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE smx::smx smx_warnings)
    set(${added} ON PARENT_SCOPE)
endfunction()

# smx_test(NAME LABEL host|threads|device SOURCES ...)      one GoogleTest runner; its tests are ctest tests. Those that skip themselves where there
#                                                           is no GPU are one, NAME.without_a_gpu.
function(smx_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "SOURCES")
    smx_executable(added ${name} ${arg_SOURCES})
    if(NOT added)
        return()
    endif()
    target_link_libraries(${name} PRIVATE smx_test_options GTest::gtest_main)
    if(arg_LABEL STREQUAL "device" AND smx_old_architecture)
        gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 TEST_FILTER *_on_host.* PROPERTIES LABELS ${arg_LABEL})
        add_test(NAME ${name}.without_a_gpu COMMAND ${name} --gtest_filter=-*_on_host.*)
        set_tests_properties(${name}.without_a_gpu PROPERTIES LABELS ${arg_LABEL})
    else()
        gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 PROPERTIES LABELS ${arg_LABEL})
    endif()
endfunction()

# smx_bench(NAME SOURCES ...)      one Google Benchmark program; the target `benches` builds them all
add_custom_target(benches)
function(smx_bench name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
    smx_executable(added ${name} ${arg_SOURCES})
    if(added)
        target_link_libraries(${name} PRIVATE benchmark::benchmark)
        add_dependencies(benches ${name})
    endif()
endfunction()

# smx_example(NAME LABEL host|device SOURCES ...)      one program, run by ctest; it exits 77 where it has no GPU
function(smx_example name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "SOURCES")
    smx_executable(added ${name} ${arg_SOURCES})
    if(added AND SMX_BUILD_TESTS)
        add_test(NAME example.${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
        set_tests_properties(example.${name} PROPERTIES LABELS ${arg_LABEL} SKIP_RETURN_CODE 77)
    endif()
endfunction()

# A library from the system, or else its sources from the network (-DFETCHCONTENT_SOURCE_DIR_<NAME>=… names a copy).
macro(smx_find package target repository tag)
    find_package(${package} CONFIG QUIET)
    if(NOT TARGET ${target})
        message(STATUS "smx: ${package} is not installed: fetching ${repository} ${tag}")
        include(FetchContent)
        FetchContent_Declare(${package} GIT_REPOSITORY ${repository} GIT_TAG ${tag} GIT_SHALLOW ON)
        FetchContent_MakeAvailable(${package})
    endif()
endmacro()

set(INSTALL_GTEST OFF)
set(BENCHMARK_ENABLE_TESTING OFF)
set(BENCHMARK_ENABLE_INSTALL OFF)
if(SMX_BUILD_TESTS)
    smx_find(GTest GTest::gtest_main https://github.com/google/googletest.git v1.14.0)
    add_library(smx_test_options INTERFACE)
    target_include_directories(smx_test_options INTERFACE ${PROJECT_SOURCE_DIR}/tests) # "support/reference.hpp"
    target_link_libraries(smx_test_options INTERFACE smx::smx smx_warnings GTest::gtest)
    # -O3 takes the compiler twice as long or more, and functions copied into each caller half as long again (-Dalways_inline= calls them, and GCC
    # no longer sees what they initialise); examples, benches and tests that ask for -O3 have all of it.
    set(smx_quick -O1 -Dalways_inline= $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_compile_options(smx_test_options INTERFACE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:${smx_quick}>)
endif()
if(SMX_BUILD_BENCH)
    smx_find(benchmark benchmark::benchmark https://github.com/google/benchmark.git v1.8.3)
endif()
