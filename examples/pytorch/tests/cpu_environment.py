#!/usr/bin/env python3
"""A virtual environment with PyTorch for a machine without a GPU, from PyPI, in 0.6 GB instead of 3.

    cpu_environment.py FOLDER      makes it, where it is not there yet, and prints its Python

PyPI has PyTorch for Linux only as the build that is linked against NVIDIA's libraries, another 2.2 GB. Without a GPU it loads them and calls none:
an empty library that names the same functions takes the place of each. Of use for tests alone; on a machine with a GPU, install PyTorch as usual.
"""
import collections
import pathlib
import re
import subprocess
import sys
import venv

torch = "torch==2.11.0"
# What `import torch` does call, the packages it imports, and what the tests need.
others = ["nvidia-cuda-runtime==13.0.96", "nvidia-cuda-cupti==13.0.85", "filelock", "typing-extensions", "sympy", "networkx", "jinja2", "fsspec",
          "setuptools<82", "wheel", "ninja", "numpy", "pytest"]


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def write_empty_libraries(folder):
    """Writes, for every library that those in `folder` need and nobody has, one that defines what they want of it."""
    libraries = sorted(folder.glob("lib*.so"))
    needed, versions, wanted = set(), {}, collections.defaultdict(set)
    for library in libraries:
        headers = output_of("objdump", "-p", library)
        needed |= set(re.findall(r"NEEDED +(lib(?:cu(?!da\.)|nccl|nvshmem)\S+)", headers))
        for name, block in re.findall(r"required from (\S+):\n((?: +0x.*\n)+)", headers):
            versions.update({version: name for version in re.findall(r"(\S+)\n", block) if name.startswith(("libcu", "libnccl", "libnvshmem"))})
    needed -= {path.name for path in folder.parent.parent.glob("nvidia/*/lib/*")}
    for library in libraries:
        for symbol in re.findall(r"U (\S+)", output_of("nm", "-D", library)):
            name, _, version = symbol.partition("@")
            if versions.get(version) in needed:
                wanted[versions[version], version].add(name)
            elif not version and re.match("cu(blas|dnn|fft|rand|sparse|solver|File)|p?nccl|nvshmem", name):
                wanted[min(needed), ""].add(name)
    for library in needed:
        code, script = "", ""
        for (owner, version), names in wanted.items():
            if owner == library:
                code += "".join(f"void {name}(void) {{ __builtin_trap(); }}\n" for name in sorted(names))
                script += f"{version} {{ global: {' '.join(name + ';' for name in sorted(names))} }};\n" if version else ""
        script_file = folder / (library + ".map")
        script_file.write_text(script)
        flags = [f"-Wl,--version-script={script_file}"] if script else []
        subprocess.run(["c++", "-w", "-shared", "-fPIC", "-x", "c", "-", "-o", folder / library, f"-Wl,-soname,{library}", *flags],
                       input=code, text=True, check=True)
        script_file.unlink()


def make(folder):
    venv.create(folder, with_pip=True, clear=True)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check", "--no-warn-conflicts"]
    subprocess.run([*pip, "--no-deps", torch], check=True, stdout=sys.stderr)
    subprocess.run([*pip, "--no-deps", *(name for name in others if "nvidia" in name)], check=True, stdout=sys.stderr)
    subprocess.run([*pip, *(name for name in others if "nvidia" not in name)], check=True, stdout=sys.stderr)
    [lib] = folder.glob("lib/python*/site-packages/torch/lib")
    write_empty_libraries(lib)
    output_of(python, "-c", "import torch; torch.ones(2, requires_grad=True).softmax(0).sum().backward()")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    place = pathlib.Path(sys.argv[1]).absolute()
    if not (place / "complete").exists():
        make(place)
        (place / "complete").touch()
    print(place / "bin" / "python")
