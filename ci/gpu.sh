#!/usr/bin/env bash
# On a machine with a GPU: builds for that GPU, runs the device tests, compute-sanitizer's four tools, the bench table, and tests and bench of the PyTorch
# package.
#
#   ci/gpu.sh [LOGS]                      every stage's output is kept in LOGS (build/gpu-logs)
#   STAGES="build test sanitize bench torch torch-bench"    the stages to run
#   TARGETS="all"                         what the build stage builds
#   TESTS="*"                             the device tests to run, a GoogleTest filter
#   JOBS=16                               so many at once (the number of cores)
#   SANITIZE="*sanitize*:*Sanitize*"      the tests that compute-sanitizer runs, a GoogleTest filter
#   BENCH_ARGS=""                         more arguments for the bench table (bench/bars.cpp)
#   QUICK=1                               the bench table on smaller tensors, bars of the present step only
#   CMAKE_ARGS=""                         more arguments for the configure step
#
# Nothing is fetched where GoogleTest and Google Benchmark are installed; CMAKE_PREFIX_PATH in the environment says where.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
logs=${1:-build/gpu-logs}
stages=${STAGES:-build test sanitize bench torch torch-bench}
build=build/gpu
program=$build/tests/device/device_tests
test_logs=$logs/tests
TESTS=${TESTS:-*}
JOBS=${JOBS:-$(nproc)}
mkdir -p "$logs"
results=()
status=0

# stage NAME COMMAND...: runs it, keeps what it says, and remembers how it went.
stage() {
    local name=$1 start=$SECONDS code=0
    shift
    echo "== $name"
    "$@" 2>&1 | tee "$logs/$name.log" || code=$?
    if ((code == 0)); then
        results+=("passed    $name, $((SECONDS - start)) s")
    elif grep -q "Device not supported" "$logs/$name.log"; then
        results+=("left out  $name: compute-sanitizer does not support this GPU as this machine shows it")
    else
        results+=("FAILED    $name, $((SECONDS - start)) s, see $logs/$name.log")
        status=1
    fi
}

wanted() { [[ " $stages " == *" $1 "* ]]; }

configure_and_build() {
    # shellcheck disable=SC2086
    cmake --preset gpu -G Ninja ${CMAKE_ARGS:-} && cmake --build --preset gpu -j "$(nproc)" --target ${TARGETS:-all}
}

# Every test that $TESTS names, those that take longest (minutes) first.
list_tests() {
    "$program" --gtest_list_tests --gtest_filter="$TESTS" | awk '
        /^[^ ]/ { suite = $1; next }
        {
            name = suite $1
            weight = name ~ /_on_host\./ ? 1 : 2
            if (name ~ /^correctness\.|^rule\.(factors|nan_and)|hidden_by|^same_bits|^cluster\.hundreds/) weight = 4
            else if (name ~ /^(layout|rule)\.|^correctness_/) weight = 3
            print weight, name
        }' | sort -k1,1nr -s | cut -d' ' -f2
}

# One test in a process of its own; what it says is in a file of its own.
run_test() {
    local log=$test_logs/${1//\//-} code=0
    "$program" --gtest_filter="$1" >"$log.running" 2>&1 || code=$?
    if ((code == 0)); then
        mv "$log.running" "$log.log"
    else
        mv "$log.running" "$log.failed"
        printf 'FAILED    %s (exit status %d)\n' "$1" "$code"
    fi
}

# Tests of one line each on stdin, so many at once.
run_each() {
    # shellcheck disable=SC2016
    xargs -r -P "$1" -I{} bash -c 'run_test "$1"' run_test {}
}

# As many tests at once as there are cores: most of their time is the CPU's, for what must come out. The large ones, which take a good part of
# a GPU's memory, one at a time.
run_tests() {
    local tests wanted passed skipped failed code=0 log
    tests=$(list_tests)
    if [ -z "$tests" ]; then
        echo "no device test matches $TESTS"
        return 1
    fi
    rm -rf "$test_logs"
    mkdir -p "$test_logs"
    export program test_logs
    export -f run_test
    grep -v '^large\.' <<<"$tests" | run_each "$JOBS"
    grep '^large\.' <<<"$tests" | run_each 1
    for log in "$test_logs"/*.failed; do
        [ -e "$log" ] && echo "== $(basename "$log" .failed)" && cat "$log"
    done
    wanted=$(wc -l <<<"$tests")
    passed=$(find "$test_logs" -name '*.log' | wc -l)
    skipped=$(find "$test_logs" -name '*.log' -exec grep -l '  SKIPPED' {} + | wc -l)
    failed=$((wanted - passed))
    echo "device tests: $((passed - skipped)) passed, $failed failed, $skipped skipped; what each said is in $test_logs"
    ((failed == 0)) || code=1
    ctest --preset gpu -R '^example\.|^fuzz\.gpu' || code=1
    return "$code"
}

# synccheck (CUDA 13.0) ends any kernel with an illegal memory access that waits for an mbarrier in a grid of several clusters of more than 8
# blocks: one with nothing but its own arrival and the wait, too, and nothing is reported. The other three tools run those clusters.
sanitize() {
    local tests filter=$filter
    if [ "$1" = synccheck ] && [ -z "${SANITIZE:-}" ]; then
        filter="$filter:-*large_clusters*"
        echo "left out: *large_clusters*, which synccheck cannot run"
    fi
    tests=$("$program" --gtest_list_tests --gtest_filter="$filter" | grep -c '^  ')
    if ((tests == 0)); then
        echo "no test matches $filter"
        return 1
    fi
    echo "$tests tests"
    compute-sanitizer --tool "$1" --error-exitcode 1 "$program" --gtest_filter="$filter"
}

bench() {
    # shellcheck disable=SC2086
    "$build/bench/bars" --json="$logs/bars.json" ${QUICK:+--quick} ${BENCH_ARGS:-}
}

# The PyTorch package, compiled for this GPU by whoever needs it first: 15 files, 5 minutes on 4 cores and 2 on 16.
test_torch() { (cd examples/pytorch && python3 -m pytest -q -rs -p no:cacheprovider tests); }
bench_torch() { python3 examples/pytorch/bench.py --out="$logs/torch"; }

if ! nvidia-smi -L; then
    echo "ci/gpu.sh: no GPU here (nvidia-smi finds none): nothing to do"
    exit 1
fi
filter=${SANITIZE:-*sanitize*:*Sanitize*}
wanted build && stage build configure_and_build
wanted test && stage test run_tests
if wanted sanitize; then
    if command -v compute-sanitizer >/dev/null; then
        for tool in memcheck racecheck synccheck initcheck; do
            stage "$tool" sanitize "$tool"
        done
    else
        results+=("left out  sanitize: compute-sanitizer is not installed (it comes with the CUDA toolkit)")
    fi
fi
wanted bench && stage bench bench
if wanted torch || wanted torch-bench; then
    if python3 -c 'import pytest, torch.utils.cpp_extension as cpp; cpp.verify_ninja_availability(); assert cpp.torch.cuda.is_available()' 2>/dev/null; then
        export TORCH_EXTENSIONS_DIR=$PWD/$build/torch MAX_JOBS=$JOBS
        wanted torch && stage torch test_torch
        wanted torch-bench && stage torch-bench bench_torch
    else
        results+=("left out  torch: python3 has not torch with CUDA, pytest and ninja")
    fi
fi

echo "== summary"
printf '%s\n' "${results[@]}" | tee "$logs/summary.log"
exit $status
