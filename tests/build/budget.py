"""What the headers cost, for one architecture: budget.py time (of the compiler's processor) or code (number and size of kernels, spills).

The budgets in seconds are for a machine on which nvcc takes 0.8 s for an empty file; a slower one gets more in proportion.
"""
import pathlib
import re
import resource
import sys
import tempfile

from nvrtc import Nvrtc
from tools import INCLUDE, NVCC, must, need_nvcc, report

SOURCES = pathlib.Path(__file__).with_name("budget")
EMPTY_SECONDS = 0.8
FLAGS = [NVCC, "-std=c++17", "-arch=sm_90", "-I", INCLUDE]


def seconds(*command, tries=3):
    """The least processor time of a few runs."""
    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    times = []
    for _ in range(tries):
        before = spent()
        must(*command)
        times.append(spent() - before)
    return min(times)


def kernels_of(source, cubin, *flags):
    """Name, elements a lane, bytes of machine code and what ptxas said, of every kernel of a source."""
    said = must(*FLAGS, "-cubin", "-Xptxas", "-v", *flags, "-o", cubin, source)
    sizes = dict(re.findall(r" \.text\.(\S+)\s+PROGBITS\s+\S+\s+\S+\s+(\S+)", must("readelf", "-SW", cubin)))
    for mangled, rest in re.findall(r"entry function '(\S+)'.*?\n(.*?Used \d+ registers[^\n]*)", said, re.S):
        name = re.sub(r"smx::v\d+_\d+_\d+::", "", must("c++filt", mangled))
        kernel, vec, packs = re.search(r"(\w+<(?:thread_group|\w+<\d+(?:, \d+)?>), (\d+), (\d+))", name).groups()
        frame, stores, loads = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", rest).groups()
        registers = re.search(r"Used (\d+) registers", rest).group(1)
        yield {"name": kernel + ">", "elements": int(vec) * int(packs), "bytes": int(sizes[mangled], 16), "frame": int(frame),
               "spills": int(stores) + int(loads), "registers": int(registers)}


checked, failures = 0, []


def hold(what, actual, budget, unit="", show_if_zero=True):
    """Prints one line of the table and remembers what is over its budget."""
    global checked
    checked += 1
    line = "%-64s %8.2f of %6.2f%s" % (what, actual, budget, unit)  # a budget of inf is none
    if actual or show_if_zero:
        print(line)
    if actual > budget:
        failures.append("over budget: " + line)


need_nvcc()
with tempfile.TemporaryDirectory() as folder:
    scratch = pathlib.Path(folder)
    (scratch / "empty.cu").write_text("")
    (scratch / "headers.cu").write_text("#include <smx/smx.cuh>\n")
    to_object = [*FLAGS, "-c", "-o", scratch / "object.o"]

    def hold_seconds(what, budget, measure):
        """Time comes and goes on a shared machine: over budget is what is over it three times, each time beside an empty file of its own."""
        for _ in range(3):
            empty = seconds(*to_object, scratch / "empty.cu")
            allowed = budget * max(1.0, empty / EMPTY_SECONDS)
            spent = measure(empty)
            if spent <= allowed:
                break
        hold(what + " (an empty file: %.2f s)" % empty, spent, allowed, " s")

    def one_more_kernel(_):
        few = seconds(*to_object, "-DKERNELS=1", SOURCES / "kernels.cu")
        return (seconds(*to_object, "-DKERNELS=5", SOURCES / "kernels.cu") - few) / 4

    def one_kernel_by_nvrtc(_):
        options = ["--std=c++17", "--gpu-architecture=sm_90", "-I%s" % INCLUDE]
        runs = [Nvrtc().compile((SOURCES / "program.cu").read_text(), options) for _ in range(3)]  # the least, as seconds() takes
        for code, said, _ in runs:
            if code != 0:
                print(said)
                return float("inf")
        return min(spent for _, _, spent in runs)

    if sys.argv[1] == "time":
        hold_seconds("smx.cuh over an empty file", 0.6, lambda empty: seconds(*to_object, scratch / "headers.cu") - empty)
        hold_seconds("one more kernel", 0.2, one_more_kernel)
        hold_seconds("one kernel by NVRTC", 0.3, one_kernel_by_nvrtc)
    else:
        for title, flags, one_mask, tiles in (("launch_auto, no mask, half", [], True, 1), ("launch_auto, bits, half", ["-DBITS"], True, 1),
                                              ("launch_auto, four masks, bfloat16", ["-DFOUR_MASKS"], False, 1),
                                              ("launch_auto_backward, no mask, half", ["-DBACKWARD"], True, 2)):
            kernels = list(kernels_of(SOURCES / "automatic.cu", scratch / "automatic.cubin", *flags))
            hold("%s: kernels" % title, len(kernels), 32)
            for kernel in kernels:
                # The budget of code is for one mask; what four at once take is printed. A row that is read twice has the code for it twice, and blocks
                # that share a row exchange what they know of it: above the design's 16 KiB, and held below what it was.
                limit = 32 if kernel["elements"] * tiles > 32 else 28 if kernel["name"].startswith("chunked") else 20 if "cluster" in kernel["name"] else 16
                hold("%s, %d registers: code" % (kernel["name"], kernel["registers"]), kernel["bytes"] / 1024,
                     limit if one_mask else float("inf"), " KiB")
                hold("%s: stack and spills" % kernel["name"], kernel["frame"] + kernel["spills"], 0, " bytes", show_if_zero=False)
report(checked, failures)
