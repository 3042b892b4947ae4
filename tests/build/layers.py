"""Reads every header: includes go down only, macros and compilers stay in config.hpp, what none may call, and how a file looks."""
import re

from tools import CUDA_TYPES, INCLUDE, headers, report

# From the ground up. A header includes headers of lower lines only.
ORDER = [
    "config.hpp",
    "traits.hpp ptx.cuh",
    "math.hpp philox.hpp",
    "dtype.hpp",
    "dtype_half.hpp dtype_fp8.hpp raw_pack.hpp",
    "pack.hpp memory.hpp tile_kinds.hpp",
    "row_id.hpp group.hpp weighing.hpp bound_row.hpp",
    "column_map.hpp",
    "tile.hpp tensor.hpp group/warp.cuh",
    "fetched.hpp mask/read_ahead.hpp whole_rows.hpp",
    "scale.hpp mask.hpp reduce.hpp group/block.cuh group/cub.cuh",
    "load.hpp dropout.hpp", "dropped.hpp",
    "normalize.hpp store.hpp group/cluster.cuh",
    "mask/compose.hpp mask/causal.hpp mask/window.hpp mask/lengths.hpp mask/tensor.hpp mask/bits.hpp mask/bias.hpp mask/segments.hpp mask/predicate.hpp",
    "row/resident.hpp load_pair.hpp mask/selection.hpp recompute.hpp",
    "row/chunked.hpp",
    "row/backward.hpp",
    "row/operands.hpp row/gradient_sums.hpp",
    "row/packed_rows.hpp row/whole_packs.hpp row/split.hpp row/summed_backward.hpp",
    "row/bulk.cuh row/whole_packs_backward.hpp",
    "policy.hpp",
    "kernel_types.hpp",
    "kernel_lists.hpp",
    "automatic.hpp",
    "automatic_backward.hpp",
    "kernel.cuh",
    "status.hpp",
    "problem.hpp",
    "panels.hpp",
    "placement.hpp",
    "check.hpp",
    "backward.hpp",
    "backward_sums.hpp",
    "plan.hpp host.hpp",
    "device.cuh",
    "launch.cuh",
    "launch_backward.cuh",
    "smx.hpp",
    "smx.cuh",
]
LEVEL = {"smx/" + name: level for level, line in enumerate(ORDER) for name in line.split()}
LONGEST = 260
COMPILERS = re.compile(r"\b(__CUDACC\w*|__CUDA_ARCH\w*|__NVCC__|__NVCOMPILER\w*|__GNUC\w*|__clang\w*|_MSC_VER|__cplusplus)\b")
FORBIDDEN = re.compile(r"\b(throw|abort|exit|assert|printf|fprintf|dynamic_cast|typeid|std::string|std::cout|std::cerr)\b")
# A call allocates nothing, waits for nothing, and asks the device nothing that takes long.
SLOW = re.compile(r"\bcuda(Malloc|Free|Memcpy|Memset|Host|DeviceSynchronize|StreamSynchronize|EventSynchronize|GetDeviceProperties|DeviceReset)\w*")
FORBIDDEN_INCLUDES = {"iostream", "string", "sstream", "stdexcept", "cassert", "assert.h"}


def uncommented(text):
    """The text without comments, every line kept in its place."""
    text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found.group().count("\n"), text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def opening_sentence(lines):
    """The first paragraph of the comment that opens a file, in one string."""
    comment = []
    for line in lines:
        if not line.startswith("// "):
            break
        comment.append(line[2:].strip())
    return " ".join(comment)


def faults(name):
    text = (INCLUDE / name).read_text()
    lines, code = text.split("\n"), uncommented(text)
    if name not in LEVEL:
        yield 1, "layers.py does not know this header: give it a line of ORDER"
        return
    if len(lines) - 1 > LONGEST:
        yield len(lines) - 1, "longer than %d lines" % LONGEST
    if not opening_sentence(lines).endswith("."):
        yield 1, "does not open with a sentence in a comment"
    if code.count("#pragma once") != 1:
        yield 1, "has no #pragma once, or several"
    for number, line in enumerate(code.split("\n"), 1):
        included = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if included:
            own = included.group(1) == '"'
            target = ((INCLUDE / name).parent / included.group(2)).resolve() if own else None
            other = target.relative_to(INCLUDE).as_posix() if own else included.group(2)
            if own and LEVEL.get(other, len(ORDER)) >= LEVEL[name]:
                yield number, "includes %s, which is not below it" % other
            if not own and re.match(r"cuda|cub/|thrust/|cooperative", other) and name.endswith(".hpp") and name not in CUDA_TYPES:
                yield number, "a .hpp that includes <%s>" % other
            if not own and re.match(r"(cuda|cub|thrust|cooperative_groups|torch|ATen|c10)/|cooperative_groups", other) and name != "smx/group/cub.cuh":
                yield number, "includes <%s>, which its users may not have, or not this version of" % other
            if other in FORBIDDEN_INCLUDES:
                yield number, "includes <%s>" % other
            continue
        macro = re.match(r"\s*#\s*(define|undef)\s+(\w+)", line)
        if macro and (name != "smx/config.hpp" or not macro.group(2).startswith("SMX_")):
            yield number, "%ss %s: macros are SMX_ and in config.hpp" % macro.groups()
        line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
        if name != "smx/config.hpp" and COMPILERS.search(line):
            yield number, "asks for a compiler (%s): config.hpp does that" % COMPILERS.search(line).group()
        if SLOW.search(line):
            yield number, "calls %s, for which a launch has no time" % SLOW.search(line).group()
        if FORBIDDEN.search(line):
            yield number, "uses %s" % FORBIDDEN.search(line).group()


report(len(headers()), ["include/%s:%d: %s" % (name, *fault) for name in headers() for fault in faults(name)])
