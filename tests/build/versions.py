"""Two engines with two versions of smx in one process: each gives the answers of its own, however they are linked and loaded.

The other is a copy of the headers whose probabilities add up to 2: a version whose last number is one more, or the same one under a tag. No name that
a linker sees is in both: neither functions, nor what they remember. Where there is a GPU, both launch their kernels there.
"""
import pathlib
import re
import shutil
import tempfile

from tools import CXX, INCLUDE, NVCC, must, report, run, start_of

SOURCES = pathlib.Path(__file__).with_name("versions")
DOUBLED = ("reduce.hpp", "reciprocal_of(stats.sum)", "2 * reciprocal_of(stats.sum)")
PATCH = re.compile(r"(#define SMX_VERSION_PATCH )(\d+)")
checked, failures = 0, []


def write_doubled(folder, with_version):
    """The headers with another answer, and perhaps another version."""
    shutil.copytree(INCLUDE, folder)
    if with_version:
        config = folder / "smx" / "config.hpp"
        config.write_text(PATCH.sub(lambda found: found.group(1) + str(int(found.group(2)) + 1), config.read_text()))
    name, before, after = DOUBLED
    changed = folder / "smx" / name
    text = changed.read_text()
    if before not in text:
        failures.append("%s has no %s any more: another line must make the versions differ" % (name, before))
    changed.write_text(text.replace(before, after))


def names_of(*which):
    """The names of smx that a linker, or the loader, sees in a file."""
    return {line.split()[-1] for line in must("nm", "--defined-only", *which).split("\n") if re.search(r" [A-Zuvw] \S*3smx", line)}


def expect(what, holds):
    global checked
    checked += 1
    if not holds:
        failures.append(what)


def expect_answers(what, *command):
    code, said = run(*command)
    print("%s: %s" % (what, start_of(said.strip(), 3)))
    expect("%s: one engine got the other's answers\n%s" % (what, start_of(said)), code == 0)


def try_all(scratch, kind, compiler, link, second):
    """The engines, the second with flags of its own: a library each, and both in one program."""
    made = {}
    for engine, flags in (("first", ["-I", INCLUDE]), ("second", second)):
        made[engine] = scratch / ("%s_%s.o" % (kind.replace(", ", "_").replace(" ", "_"), engine))
        must(*compiler, "-O2", "-std=c++17", "-DENGINE=" + engine, *flags, "-c", "-o", made[engine], SOURCES / "plugin.cpp")
        must(*link, "-shared", "-o", made[engine].with_suffix(".so"), made[engine])
    first, second = (made[engine].with_suffix(".so") for engine in ("first", "second"))
    expect("%s: no names of smx to compare" % kind, names_of(made["first"]))
    shared = sorted(names_of(made["first"]) & names_of(made["second"]))
    expect("%s: names of both versions: %s" % (kind, start_of("\n".join(shared), 5)), not shared)
    kernels = [name for name in names_of("-D", first) if "softmax_kernel" in name or "launching" in name]
    expect("%s: a library shows its kernels: %s" % (kind, kernels[:3]), not kernels)
    loader = scratch / (kind + "_loader")
    must(CXX, "-std=c++17", "-o", loader, SOURCES / "program.cpp", "-ldl")
    for how in ("local", "global"):
        for order in ((first, second), (second, first)):
            expect_answers("%s, %s, %s loaded first" % (kind, how, order[0].name), loader, *order, how)
    linked = scratch / (kind + "_linked.o")
    must(CXX, "-std=c++17", "-DLINKED", "-c", "-o", linked, SOURCES / "program.cpp")
    for order in (("first", "second"), ("second", "first")):
        must(*link, "-o", scratch / "linked", linked, *(made[engine] for engine in order), "-ldl")
        expect_answers("%s, %s linked first" % (kind, order[0]), scratch / "linked")


with tempfile.TemporaryDirectory() as place:
    scratch = pathlib.Path(place)
    other, changed = ["-I", scratch / "other"], ["-I", scratch / "changed", "-DSMX_TAG=second"]
    write_doubled(scratch / "other", with_version=True)
    write_doubled(scratch / "changed", with_version=False)
    on_host = [[CXX, "-fPIC", "-fvisibility=default"], [CXX, "-pthread"]]
    try_all(scratch, "CPU", *on_host, other)
    try_all(scratch, "CPU, a tag", *on_host, changed)
    if NVCC:
        try_all(scratch, "CUDA", [NVCC, "-arch=sm_80", "-Xcompiler=-fPIC,-fvisibility=default", "-x", "cu"], [NVCC, "-arch=sm_80"], other)
    else:
        print("left out: engines with kernels need the CUDA toolkit")
report(checked, failures)
