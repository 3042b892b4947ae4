"""Wrong uses do not compile, and say what to write instead.

Each source in compile_fail/ compiles as it stands; with -DWRONG it must not, and the compiler must say the text of its
line "// expect: ...". A line "// flags: ..." adds flags.
"""
import pathlib
import re

from tools import CXX, INCLUDE, NVCC, report, run, start_of

checked, failures = 0, []
for source in sorted(pathlib.Path(__file__).with_name("compile_fail").iterdir()):
    if source.suffix == ".cu" and not NVCC:
        print("left out:", source.name, "needs the CUDA toolkit")
        continue
    command = [NVCC, "-arch=sm_90", "-c", "-o", "/dev/null"] if source.suffix == ".cu" else [CXX, "-fsyntax-only"]
    text = source.read_text()
    expected = re.search(r"^// expect: (.+)$", text, re.M).group(1)
    flags = re.search(r"^// flags: (.+)$", text, re.M)
    command += ["-std=c++17", "-I", INCLUDE, *(flags.group(1).split() if flags else []), source]
    checked += 1
    code, said = run(*command)
    if code != 0:
        failures.append("%s must compile without -DWRONG\n%s" % (source.name, start_of(said)))
        continue
    code, said = run(*command, "-DWRONG")
    if code == 0:
        failures.append("%s compiles with -DWRONG" % source.name)
    elif expected not in said:
        failures.append("%s fails without saying '%s'\n%s" % (source.name, expected, start_of(said)))
report(checked, failures)
