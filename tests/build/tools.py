"""The headers and the compilers of this build, and how they are run, for the scripts beside this file."""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
CXX = os.environ.get("SMX_CXX", shutil.which("c++"))
NVCC = os.environ.get("SMX_NVCC", shutil.which("nvcc"))  # ctest says "" for a build without CUDA
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
NVCC_WARNINGS = ["-Xcompiler=" + ",".join(WARNINGS), "-Werror=all-warnings"]
NO_HALF = ["-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__",
           "-D__CUDA_NO_BFLOAT16_CONVERSIONS__", "-D__CUDA_NO_HALF2_OPERATORS__"]

# These headers name CUDA types and say so; every other .hpp compiles without the toolkit.
CUDA_TYPES = {"smx/dtype_half.hpp", "smx/dtype_fp8.hpp"}
# These are for the host: launching, threads, sentences. NVRTC compiles the rest.
HOST_ONLY = {"smx/status.hpp", "smx/problem.hpp", "smx/panels.hpp", "smx/placement.hpp", "smx/check.hpp", "smx/backward.hpp", "smx/backward_sums.hpp", "smx/plan.hpp",
             "smx/host.hpp", "smx/device.cuh", "smx/launch.cuh", "smx/launch_backward.cuh", "smx/smx.hpp", "smx/smx.cuh"}


def headers(*suffixes):
    """Every public header as one would include it, those with the given suffixes only."""
    found = sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.[hc]*"))
    return [name for name in found if not suffixes or name.endswith(suffixes)]


def skip(why):
    """Leaves the test out, visibly (ctest reads the exit code)."""
    print("left out:", why)
    sys.exit(77)


def need_nvcc():
    if not NVCC:
        skip("no CUDA toolkit")


def cuda_home():
    return pathlib.Path(NVCC).resolve().parents[1]


def run(*command):
    """Runs a command and gives its exit code and everything it said."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def start_of(said, lines=30):
    """The first lines of what a compiler said; the rest seldom adds anything."""
    return "\n".join(said.split("\n")[:lines])


def must(*command):
    """Runs a command that has to succeed and gives what it said."""
    code, said = run(*command)
    if code != 0:
        sys.exit("failed (%d): %s\n%s" % (code, " ".join(str(word) for word in command), start_of(said)))
    return said


def report(checked, failures):
    """Prints every failure and ends the test."""
    for failure in failures:
        print(failure)
    print("%d checked, %d failed" % (checked, len(failures)))
    sys.exit(1 if failures or not checked else 0)
