"""The table "Compilers and toolkits" of README.md, row by row, by compilers made of the packages that it names.

SMX_TOOLKITS says which rows: names with commas between them, "all", or "0" for none; by itself those whose packages are small. They stay in
.venv/toolkits. Every header alone for the newest architecture, and kernels for the oldest and the newest; where there is a GPU, programs run.
"""
import os
import pathlib
import re
import shutil
import tempfile

from nvrtc import Nvrtc
from toolchains import Missing, fetch
from tools import HOST_ONLY, INCLUDE, NVCC_WARNINGS, ROOT, WARNINGS, headers, report, run, skip, start_of

PLACE = ROOT / ".venv" / "toolkits"
SOURCES = pathlib.Path(__file__).with_name("toolkits")
USUAL = "NVRTC 11.8,NVRTC 12.0,NVRTC 12.4"
ARCHITECTURES = [75, 80, 86, 89, 90, 100, 120]
ROW = re.compile(r"^\| ((?:NVRTC|nvcc|clang) [\d.]+)[^|]* \| ([^|]+) \| ([\d.]+) to ([\d.]+) \| (yes|no) \|([^|]*)\|$", re.M)
CLUSTERS = '#include "smx/config.hpp"\nstatic_assert(SMX_HAS_CLUSTERS, "");\n'
EXAMPLE = re.compile(r'R"\((.*?)\)";\nchar const\* const instance = "(\w+)<([^>]+)>', re.S)


def by_nvrtc(home, _):
    """A function that compiles a source, or the text of one, for an architecture, and the architectures that it knows."""
    compiler = Nvrtc(home / "lib")

    def compile_for(architecture, source, _=None):
        text = source.read_text() if isinstance(source, pathlib.Path) else source
        options = ["--std=c++17", "--gpu-architecture=sm_%d" % architecture, "-I%s" % INCLUDE, "-I%s" % (home / "include")]
        code, said, _ = compiler.compile(text, options)
        return code != 0 or said.strip("\0\n ") != "", said  # a warning is a failure

    return compile_for, compiler.architectures()


def by_command(scratch, command, architecture_flag):
    def compile_for(architecture, source, made=None):
        if not isinstance(source, pathlib.Path):
            (scratch / "source.cu").write_text(source)
            source = scratch / "source.cu"
        return run(*command, architecture_flag % architecture, "-std=c++17", "-I", INCLUDE, "-c", "-o", made or scratch / "made.o", source)

    return compile_for


def by_nvcc(home, scratch):
    nvcc = home / "bin" / "nvcc"
    known = [int(number) for number in re.findall(r"compute_(\d+)", run(nvcc, "--list-gpu-arch")[1])]
    # It refuses host compilers that are younger than it is.
    return by_command(scratch, [nvcc, "-allow-unsupported-compiler", *NVCC_WARNINGS], "-arch=sm_%d"), known


def by_clang(name):
    def make(home, scratch):
        program = shutil.which("clang++-" + name.split(" ")[1])
        if not program:
            raise Missing("no clang++-" + name.split(" ")[1])
        # The toolkit's headers before those of another that lies in the system's folders.
        command = [program, "-x", "cuda", "--cuda-path=%s" % home, "-isystem", home / "include", "-O1", *WARNINGS, "-Wno-unknown-cuda-version"]
        return by_command(scratch, command, "--cuda-gpu-arch=sm_%d"), None
    return make


def sources_of(name):
    """What is compiled for an old and a new architecture."""
    if not name.startswith("NVRTC"):
        return [SOURCES / "calls.cu"]
    text, kernel, arguments = EXAMPLE.search((ROOT / "examples" / "nvrtc.cpp").read_text()).groups()
    element = arguments.split(",")[0]
    instance = "template __global__ void %s<%s>(%s const*, %s*, smx::row_range, smx::extents, float);\n" % (kernel, arguments, element, element)
    return [SOURCES / "rows.cu", text + instance]


def version(architecture):
    return "%d.%d" % divmod(architecture, 10)


def faults(name, home, oldest, newest, clusters, ran, scratch):
    make = by_nvrtc if name.startswith("NVRTC") else by_nvcc if name.startswith("nvcc") else by_clang(name)
    compile_for, known = make(home, scratch)
    ends = [arch for arch in ARCHITECTURES if version(arch) in (oldest, newest)]
    if known is not None:
        both_know = [arch for arch in ARCHITECTURES if arch in known]
        if ends != [both_know[0], both_know[-1]]:
            yield "compute capability: %s to %s" % (version(both_know[0]), version(both_know[-1]))
    for header in headers():
        if not (name.startswith("NVRTC") and header in HOST_ONLY):
            code, said = compile_for(ends[-1], '#include "%s"\n#include "%s"\n' % (header, header))
            if code:
                yield "%s alone\n%s" % (header, start_of(said))
                return
    code, said = compile_for(ends[-1], CLUSTERS)
    if (not code) != (clusters == "yes"):
        yield "clusters and bulk copies: not " + clusters
    for architecture in reversed(ends):  # what is left is for the oldest, which a driver compiles for any later one
        for source in sources_of(name):
            code, said = compile_for(architecture, source, scratch / "kernels.o")
            if code:
                yield "kernels for %s\n%s" % (version(architecture), start_of(said))
                return
    runtimes = sorted(home.glob("lib/libcudart.so.*"))
    if ran.strip() and not name.startswith("NVRTC") and runtimes:
        code, said = run("g++", "-o", scratch / "program", scratch / "kernels.o", runtimes[0], "-Wl,-rpath,%s" % runtimes[0].parent, "-pthread")
        code, said = run(scratch / "program") if code == 0 else (code, said)
        print(name + ":", start_of(said.strip(), 3))
        if code:
            yield "the program fails\n" + start_of(said)


wanted = os.environ.get("SMX_TOOLKITS") or USUAL
if wanted == "0":
    skip("other toolkits (SMX_TOOLKITS=0)")
text = (ROOT / "README.md").read_text()
rows = ROW.findall(text)
homes = {packages: PLACE / name.replace(" ", "-") for name, packages, *_ in reversed(rows)}  # rows of the same packages share the first one's folder
checked, failures, missing = 0, [], 0
if len(rows) != len(re.findall(r"^\| (?:NVRTC|nvcc|clang) ", text, re.M)):
    failures.append("README.md has a row that is not read")
if wanted != "all":
    rows = [row for row in rows if row[0] in wanted.split(",")]
    failures.extend("README.md has no row of %s" % name for name in wanted.split(",") if name not in [row[0] for row in rows])
for name, packages, oldest, newest, clusters, ran in rows:
    home = homes[packages]
    with tempfile.TemporaryDirectory() as scratch:
        try:
            fetch(home, re.findall(r"`([^`]+)`", packages))
            found = list(faults(name, home, oldest, newest, clusters, ran, pathlib.Path(scratch)))
        except Missing as why:
            print("left out: %s: %s" % (name, why))
            missing += 1
            continue
    checked += 1
    print("%s: %s" % (name, "%d faults" % len(found) if found else "as README.md says"), flush=True)
    failures.extend("%s: %s" % (name, fault) for fault in found)
if missing and not checked and not failures:
    skip("every row")
report(checked, failures)
