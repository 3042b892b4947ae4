#!/usr/bin/env python3
"""Shows that a compiler vectorises the CPU path: looks for the exponential's polynomial, in packed instructions, inside a loop.

    vectorised.py [--compiler g++] [--flags "-O3 -march=x86-64-v3"]

Exit status: 0 found, 1 not found, 77 where it cannot look (no such compiler, or not x86-64).
"""
import argparse
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = """
#include "smx/smx.hpp"
int rows_of(TYPE const* x, TYPE* y, long long rows, long long cols) {
    smx::rows const all{0, rows};
    return smx::softmax_on_host(all, smx::scores(x, {rows, cols}), smx::fixed_scale(0.125), smx::no_mask(),
                                smx::probabilities(y)).ok();
}
"""
# 2^n is made by moving n + 127 to the place of a float's exponent: nothing else in the library shifts by 23 (a double's: 52).
POWER = {"float": re.compile(r"\bv?pslld\s+\$23\b"), "smx::half": re.compile(r"\bv?pslld\s+\$23\b"),
         "double": re.compile(r"\bv?psllq\s+\$52\b")}
PACKED = {"float": re.compile(r"\bv?(?:mul|add|sub|fn?m(?:add|sub)\d+)ps\b"),
          "smx::half": re.compile(r"\bv?(?:mul|add|sub|fn?m(?:add|sub)\d+)ps\b"),
          "double": re.compile(r"\bv?(?:mul|add|sub|fn?m(?:add|sub)\d+)pd\b")}
LEAST = 8  # the polynomial alone is six products and sums


def loops(lines):
    """Line ranges from a label to a jump back to it, innermost only."""
    place, found = {}, []
    for number, line in enumerate(lines):
        label = re.match(r"(\.?\w+):", line)
        if label:
            place[label[1]] = number
            continue
        jump = re.match(r"\s+j\w+\s+(\.?\w+)", line)
        if jump and jump[1] in place:
            found.append((place[jump[1]], number))
    return [outer for outer in found if not any(outer != inner and outer[0] <= inner[0] and inner[1] <= outer[1] for inner in found)]


def look(compiler, flags, element):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "rows.cpp"
        source.write_text(PROGRAM.replace("TYPE", element))
        command = [compiler, "-std=c++17", *flags.split(), f"-I{ROOT / 'include'}", "-S", "-o", "-", str(source)]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    best, width = 0, ""
    for first, last in loops(lines):
        body = "\n".join(lines[first:last])
        count = len(PACKED[element].findall(body))
        if POWER[element].search(body) and count > best:
            best, width = count, next((w for w in ("zmm", "ymm", "xmm") if "%" + w in body), "")
    good = best >= LEAST
    print(f"{compiler} {flags}, {element}: " + (f"a loop with the polynomial in {best} packed instructions ({width})" if good else
          f"no loop with the polynomial in packed instructions (the best has {best}, {LEAST} are wanted)"))
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--flags", default="-O3 -march=x86-64-v3")
    arguments = parser.parse_args()
    if platform.machine() not in ("x86_64", "AMD64") or not shutil.which(arguments.compiler):
        print(f"left out: {arguments.compiler} for x86-64 is needed")
        return 77
    results = [look(arguments.compiler, arguments.flags, element) for element in ("float", "smx::half", "double")]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
