"""Two CUDA translation units and a plain one, all public headers in both orders after hostile macros, make one program.

However the kernels' host functions are linked: each to its own device code, all to one, or by name.
"""
import pathlib
import re
import tempfile

from tools import CUDA_TYPES, CXX, INCLUDE, NVCC, WARNINGS, NVCC_WARNINGS, headers, must, need_nvcc, report

SOURCES = pathlib.Path(__file__).with_name("link")


def write_lists(folder, names):
    """system.h: what the headers include from outside; forward.h and backward.h: the headers."""
    folder.mkdir()
    outside = set(re.findall(r"^#include (<.*>)", "".join((INCLUDE / name).read_text() for name in names), re.M))
    lines = ['#include "%s"\n' % name for name in names if name != "smx/group/cub.cuh"]
    (folder / "system.h").write_text("".join("#include %s\n" % name for name in sorted(outside)))
    (folder / "forward.h").write_text("".join(lines))
    (folder / "backward.h").write_text("".join(reversed(lines)))


need_nvcc()
linked = []
with tempfile.TemporaryDirectory() as place:
    scratch = pathlib.Path(place)
    write_lists(scratch / "cuda", headers())
    write_lists(scratch / "plain", [name for name in headers(".hpp") if name not in CUDA_TYPES])
    common = ["-std=c++17", "-O2", "-I", SOURCES, "-I", INCLUDE, "-c", "-o"]
    must(CXX, *common, scratch / "third.o", *WARNINGS, "-I", scratch / "plain", SOURCES / "third.cpp")
    ways = [["-rdc=false"], ["-rdc=true"]]
    if "-static-global-template-stub" in must(NVCC, "--help"):  # 12.8 and later, where it is on unless told
        ways.append(["-rdc=false", "-static-global-template-stub=false"])
    for way in ways:
        for name in ("first", "second"):
            must(NVCC, "-arch=sm_80", *way, *common, scratch / (name + ".o"), *NVCC_WARNINGS, "-I", scratch / "cuda",
                 SOURCES / (name + ".cu"))
        program = scratch / "program"
        must(NVCC, "-arch=sm_80", *way, "-o", program, *(scratch / (name + ".o") for name in ("first", "second", "third")))
        must(program)
        linked.append(way)
report(len(linked), [])
