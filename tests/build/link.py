"""Two CUDA translation units and a plain one, all public headers in both orders after hostile macros, make one program."""
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
    for relocatable in ("-rdc=false", "-rdc=true"):
        for name in ("first", "second"):
            must(NVCC, "-arch=sm_80", relocatable, *common, scratch / (name + ".o"), *NVCC_WARNINGS, "-I", scratch / "cuda",
                 SOURCES / (name + ".cu"))
        program = scratch / ("program" + relocatable)
        must(NVCC, "-arch=sm_80", relocatable, "-o", program, *(scratch / (name + ".o") for name in ("first", "second", "third")))
        must(program)
        linked.append(relocatable)
report(len(linked), [])
