"""Compiles every public header alone, twice included: headers.py g++|clang++|nvcc|nvrtc."""
import pathlib
import shutil
import sys
import tempfile

from nvrtc import Nvrtc
from tools import (CUDA_TYPES, CXX, HOST_ONLY, INCLUDE, NO_HALF, NVCC, NVCC_WARNINGS, WARNINGS, cuda_home, headers,
                   must, need_nvcc, report, run, skip, start_of)

ARCHITECTURES = [75, 80, 86, 89, 90, 100, 120]


def alone(header):
    return '#include "%s"\n#include "%s"\n' % (header, header)


def plain(compiler, scratch):
    """g++ and clang++: what needs no CUDA compiler, with and without exceptions and RTTI."""
    source = scratch / "alone.cpp"
    command = [compiler, "-std=c++17", "-fsyntax-only", *WARNINGS, "-I", INCLUDE]
    for header in headers(".hpp"):
        variants = [[], ["-fno-exceptions", "-fno-rtti"]]
        if header in CUDA_TYPES:
            if not NVCC:
                print("left out:", header, "needs the CUDA toolkit")
                continue
            toolkit = ["-isystem", cuda_home() / "include"]
            variants = [toolkit, toolkit + NO_HALF]
        source.write_text(alone(header))
        for variant in variants:
            yield header, variant, run(*command, *variant, source)


def nvcc(scratch):
    """nvcc: everything for every architecture, each header for an old and a new one; none emits a kernel.

    PyTorch's macros reach only what includes the toolkit's half headers (layers.py sees to it): those, and everything.
    """
    source, made = scratch / "alone.cu", scratch / "alone.o"
    known = must(NVCC, "--list-gpu-arch").split()

    def compile_for(architectures):
        return ["-gencode=arch=compute_%d,code=sm_%d" % (arch, arch) for arch in architectures if "compute_%d" % arch in known]

    every, ends = compile_for(ARCHITECTURES), compile_for([min(ARCHITECTURES), max(ARCHITECTURES)])
    print(len(every), "architectures")
    bare = ["-arch=sm_90", "-Xcompiler=-fno-exceptions,-fno-rtti", *NO_HALF]
    command = [NVCC, "-std=c++17", "-c", "-o", made, *NVCC_WARNINGS, "-I", INCLUDE]
    for header in headers():
        source.write_text(alone(header))
        whole = header in CUDA_TYPES | {"smx/smx.cuh"}
        for variant in [every, bare] if whole else [ends]:
            code, said = run(*command, *variant, source)
            if code == 0 and b"__device_stub__" in made.read_bytes():
                code, said = 1, "it emits a kernel"
            yield header, variant, (code, said)


def nvrtc(scratch):
    """NVRTC: what runs on the device, with and without PyTorch's macros."""
    compiler = Nvrtc()
    for header in headers():
        if header in HOST_ONLY:
            continue
        options = ["--std=c++17", "--gpu-architecture=compute_90", "-I%s" % INCLUDE]
        if header in CUDA_TYPES:
            options.append("-I%s" % (cuda_home() / "include"))
        for variant in ([], NO_HALF):
            code, said, _ = compiler.compile(alone(header), options + variant)
            yield header, variant, (code, said)


def main(which):
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        if which == "nvrtc":
            results = nvrtc(scratch)
        elif which == "nvcc":
            need_nvcc()
            results = nvcc(scratch)
        else:
            compiler = CXX if which == "g++" else shutil.which(which)
            if not compiler:
                skip("no " + which)
            results = plain(compiler, scratch)
        checked, failures = 0, []
        for header, variant, (code, said) in results:
            checked += 1
            if code != 0:
                failures.append("%s %s\n%s" % (header, " ".join(map(str, variant)), start_of(said)))
    report(checked, failures)


main(sys.argv[1])
