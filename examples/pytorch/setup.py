"""pip install --no-build-isolation ./examples/pytorch"""
import os
import pathlib
import runpy

from setuptools import setup
from torch.utils import cpp_extension

here = pathlib.Path(__file__).resolve().parent
os.chdir(here)
build = runpy.run_path("smx_torch/build.py")
extension = cpp_extension.CUDAExtension if build["has_cuda"]() else cpp_extension.CppExtension


def in_package(sources):
    return [os.path.relpath(source, here) for source in sources]


setup(
    name="smx_torch",
    version="0.1.0",
    description="Scaled mask softmax for PyTorch, by smx",
    license="Apache-2.0",
    packages=["smx_torch"],
    python_requires=">=3.9",
    install_requires=["torch>=2.5"],
    ext_modules=[extension("smx_torch._operators", in_package(build["sources"]()), include_dirs=[str(build["headers"])],
                           extra_compile_args=build["flags"]()),
                 cpp_extension.CppExtension("smx_torch._call", in_package(build["sources_of_call"]()), extra_compile_args={"cxx": build["flags"]()["cxx"]})],
    cmdclass={"build_ext": cpp_extension.BuildExtension.with_options(no_python_abi_suffix=True)},
)
