"""Compiles the operators, with CUDA where there is a toolkit: for setup.py, for `import smx_torch` out of a checkout, and into one shared library.

    python build.py FOLDER      writes FOLDER/smx_torch.so, for torch.ops.load_library and for C++, and FOLDER/_call.so, by which the package calls it

MAX_JOBS says how many files are compiled at once, TORCH_CUDA_ARCH_LIST for which GPUs (left out: those of this machine), SMX_TORCH_CUDA=0 leaves CUDA
out. SMX_TORCH_FLAGS takes the place of the C++ compiler's -march=native, SMX_TORCH_NVCC_FLAGS of nvcc's -O3.
"""
import os
import pathlib
import sys

import torch.utils.cpp_extension as cpp

package = pathlib.Path(__file__).resolve().parent
headers = package.parents[2] / "include"


def has_cuda():
    """PyTorch has CUDA, and nvcc is here."""
    return os.environ.get("SMX_TORCH_CUDA", "1") != "0" and cpp.torch.version.cuda is not None and cpp.CUDA_HOME is not None


def sources():
    files = sorted((package / "csrc").glob("*.cpp")) + (sorted((package / "csrc").glob("*.cu")) if has_cuda() else [])
    return [str(file) for file in files if has_cuda() or file.name != "cuda.cpp"]


def sources_of_call():
    return [str(package / "csrc" / "python" / "call.cpp")]


def flags():
    return {"cxx": ["-O3", *os.environ.get("SMX_TORCH_FLAGS", "-march=native").split()], "nvcc": os.environ.get("SMX_TORCH_NVCC_FLAGS", "-O3").split()}


def build(folder, name="smx_torch", verbose=True):
    """Compiles what is not up to date, into folder/name.so and folder/_call.so; gives the path of the first."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    cpp.load(name, sources(), extra_cflags=flags()["cxx"], extra_cuda_cflags=flags()["nvcc"], extra_include_paths=[str(headers)],
             build_directory=str(folder), with_cuda=has_cuda(), is_python_module=False, verbose=verbose)
    cpp.load("_call", sources_of_call(), extra_cflags=flags()["cxx"], build_directory=str(folder), with_cuda=False, verbose=verbose)
    return folder / f"{name}.so"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(build(sys.argv[1]))
