#!/usr/bin/env bash
# On a machine with a GPU: builds for that GPU, runs the device tests, compute-sanitizer's four tools and the bench table.
#
#   ci/gpu.sh [LOGS]                      every stage's output is kept in LOGS (build/gpu-logs)
#   STAGES="build test sanitize bench"    the stages to run
#   TARGETS="all"                         what the build stage builds
#   SANITIZE="*sanitize*:*Sanitize*"      the tests that compute-sanitizer runs, a GoogleTest filter
#   BENCH_ARGS=""                         more arguments for the bench table (bench/bars.cpp)
#   QUICK=1                               the bench table on smaller tensors, bars of the present step only
#   CMAKE_ARGS=""                         more arguments for the configure step
#
# Nothing is fetched where GoogleTest and Google Benchmark are installed; CMAKE_PREFIX_PATH in the environment says where.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
logs=${1:-build/gpu-logs}
stages=${STAGES:-build test sanitize bench}
build=build/gpu
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

run_tests() {
    "$build/tests/device/device_tests" --gtest_brief=1 && ctest --preset gpu -R '^example\.'
}

# synccheck (CUDA 13.0) ends any kernel with an illegal memory access that waits for an mbarrier in a grid of several clusters of more than 8
# blocks: one with nothing but its own arrival and the wait, too, and nothing is reported. The other three tools run those clusters.
sanitize() {
    local tests filter=$filter
    if [ "$1" = synccheck ] && [ -z "${SANITIZE:-}" ]; then
        filter="$filter:-*large_clusters*"
        echo "left out: *large_clusters*, which synccheck cannot run"
    fi
    tests=$("$build/tests/device/device_tests" --gtest_list_tests --gtest_filter="$filter" | grep -c '^  ')
    if ((tests == 0)); then
        echo "no test matches $filter"
        return 1
    fi
    echo "$tests tests"
    compute-sanitizer --tool "$1" --error-exitcode 1 "$build/tests/device/device_tests" --gtest_filter="$filter"
}

bench() {
    # shellcheck disable=SC2086
    "$build/bench/bars" --json="$logs/bars.json" ${QUICK:+--quick} ${BENCH_ARGS:-}
}

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

echo "== summary"
printf '%s\n' "${results[@]}" | tee "$logs/summary.log"
exit $status
