"""The three ways to build: this process has compiled the library or found it; here pip installs it, and C++ loads it without Python."""
import os
import pathlib
import shutil
import subprocess
import sys

import smx_torch  # noqa: F401
import torch
from torch.utils import cpp_extension

package = pathlib.Path(__file__).resolve().parents[1]
environment = {**os.environ, "SMX_TORCH_CUDA": "0", "SMX_TORCH_FLAGS": "-O1"}  # compiled in less time; this process may have the kernels


def library():
    """The file that the operators of this process came from."""
    [path] = {line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines()
              if pathlib.Path(line.split()[-1]).name in ("smx_torch.so", "_operators.so")}
    return path


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_a_library_that_python_loads():
    run(sys.executable, "-c", f"""
import torch
torch.ops.load_library({library()!r})
x = torch.randn(3, 4)
torch.testing.assert_close(torch.ops.smx.scaled_mask_softmax(x, scale=0.5), torch.softmax(x * 0.5, -1))
""")


def test_a_library_that_cpp_loads(tmp_path):
    program = tmp_path / "call_from_cpp"
    includes = [f"-I{path}" for path in cpp_extension.include_paths()]
    folders = cpp_extension.library_paths()
    run("g++", "-std=c++17", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}", *includes, package / "call_from_cpp.cpp", "-o", program,
        *(f"-L{folder}" for folder in folders), *(f"-Wl,-rpath,{folder}" for folder in folders), "-Wl,--allow-shlib-undefined", "-ltorch_cpu", "-lc10",
        "-ldl")
    needed = ":".join([*folders, os.environ.get("LD_LIBRARY_PATH", "")])
    assert "1 0 0 0" in run(program, library(), env={**os.environ, "LD_LIBRARY_PATH": needed})


def test_pip_installs_it(tmp_path):
    checkout, installed = tmp_path / "checkout", tmp_path / "installed"  # pip builds in the folder of the package
    shutil.copytree(package.parents[1] / "include", checkout / "include")
    shutil.copytree(package, checkout / "examples" / "pytorch", ignore=shutil.ignore_patterns("build", "*.so", "*.egg-info"))
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--target", installed,
        checkout / "examples" / "pytorch", env=environment)
    run(sys.executable, "-c", f"""
import sys
sys.path.insert(0, {str(installed)!r})
import smx_torch, torch
assert smx_torch.__file__.startswith({str(installed)!r}), smx_torch.__file__
x = torch.randn(3, 4)
torch.testing.assert_close(smx_torch.scaled_mask_softmax(x, scale=0.5), torch.softmax(x * 0.5, -1))
""", cwd=tmp_path, env={name: value for name, value in os.environ.items() if name != "SMX_TORCH_LIBRARY"})
