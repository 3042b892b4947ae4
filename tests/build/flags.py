"""Kernels of every family and calls on the CPU compile without a warning under the flags of other projects."""
import pathlib
import re
import tempfile

from tools import CXX, INCLUDE, NO_HALF, NVCC, NVCC_WARNINGS, WARNINGS, must, report, run, start_of

SOURCES = pathlib.Path(__file__).with_name("flags")
REGISTERS_OF_A_BLOCK = 65536

HOST = {
    "as it is": ["-O2"],
    "C++20 without exceptions": ["-std=c++20", "-O1", "-fno-exceptions", "-fno-rtti"],
    "no optimisation": ["-O0", "-g"],
    "every optimisation": ["-O3", "-march=native"],
}
DEVICE = {
    "PyTorch's macros, C++20 and libcu++ before smx": [*NO_HALF, "-std=c++20", "-DLIBCUDACXX=1"],
    "fast math and libcu++ after smx": ["--use_fast_math", "-DLIBCUDACXX=2"],
    "relocatable code and every register": ["-rdc=true", "-maxrregcount=255"],
    "an old GPU": ["-arch=sm_75"],
}


def unlaunchable(said):
    """Every kernel whose blocks want more registers than a multiprocessor has, by what ptxas said."""
    kernels = re.findall(r"entry function '(\S+)'.*?Used (\d+) registers", said, re.S)
    if not kernels:
        yield "ptxas did not say how many registers it took:\n" + start_of(said)
    for mangled, registers in kernels:
        threads = re.search(r"block_group<(\d+)>", must("c++filt", mangled))
        if int(registers) * int(threads.group(1) if threads else 128) > REGISTERS_OF_A_BLOCK:
            yield "%s cannot be launched: %s registers a thread" % (mangled, registers)


checked, failures = 0, []
with tempfile.TemporaryDirectory() as folder:
    made = pathlib.Path(folder) / "made"

    def compile_with(name, *command):
        global checked
        checked += 1
        code, said = run(*command, "-o", made)
        if code != 0:
            failures.append("%s\n%s" % (name, start_of(said)))
        return said

    def unless_given(flags, *usual):
        """The flags, after the usual ones that are not among them."""
        return [flag for flag in usual if not any(one.startswith(flag.split("=")[0] + "=") for one in flags)] + flags

    host = [CXX, "-c", *WARNINGS, SOURCES / "call.cpp"]
    for name, flags in HOST.items():
        compile_with("CPU, " + name, *host, *unless_given(flags, "-std=c++17"), "-I", INCLUDE)
    compile_with("CPU, as a system header", *host, "-std=c++17", "-O1", "-isystem", INCLUDE)
    if NVCC:
        usual = ["-std=c++17", "-arch=sm_90"]
        device = [NVCC, *NVCC_WARNINGS, SOURCES / "kernels.cu"]
        for name, flags in DEVICE.items():
            compile_with("GPU, " + name, *device, *unless_given(flags, *usual), "-c", "-I", INCLUDE)
        compile_with("GPU, as a system header", *device, *usual, "-c", "-isystem", INCLUDE)
        # Code for a debugger takes more registers, and blocks of 1024 threads must still start.
        said = compile_with("GPU, for a debugger", *device, *usual, "-G", "-O0", "-Xptxas=-v", "-cubin", "-I", INCLUDE)
        failures.extend(unlaunchable(said))
    else:
        print("left out: kernels need the CUDA toolkit")
report(checked, failures)
