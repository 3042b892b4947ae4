"""Scaled mask softmax for PyTorch: softmax(mask(scale * scores + bias)) in one kernel, with its gradient.

    smx_torch.scaled_mask_softmax(scores, ...)        the function; see its documentation
    smx_torch.FusedScaleMaskSoftmax(...)              a module with the call of those it replaces
    torch.ops.smx.scaled_mask_softmax(scores, ...)    the operator that both call
"""
import os as _os
import pathlib as _pathlib
import sys as _sys

import torch as _torch


def _load():
    """The library that pip has built; the one that SMX_TORCH_LIBRARY names; or else one that is compiled now, and found when it is wanted again."""
    here = _pathlib.Path(__file__).resolve().parent
    named = _os.environ.get("SMX_TORCH_LIBRARY")
    installed = sorted(here.glob("_operators*.so"))
    if named or installed:
        _torch.ops.load_library(named or str(installed[0]))
        return
    from torch.utils import cpp_extension

    from . import build
    root = _os.environ.get("TORCH_EXTENSIONS_DIR") or cpp_extension.get_default_build_root()
    folder = _pathlib.Path(root) / f"smx_torch-{_torch.__version__}"
    if not (folder / "smx_torch.so").exists():
        print(f"smx_torch: compiling the operators into {folder}, which takes minutes; the next import finds them", file=_sys.stderr, flush=True)
    build.build(folder, verbose=False)


if not hasattr(_torch.ops.smx, "scaled_mask_softmax"):
    _load()

from .functional import scaled_mask_softmax  # noqa: E402
from .module import FusedScaleMaskSoftmax  # noqa: E402

__all__ = ["scaled_mask_softmax", "FusedScaleMaskSoftmax"]
