"""Loads the operators, and the shorter way to them where it was built beside."""
import importlib.util
import os
import pathlib
import sys

import torch

here = pathlib.Path(__file__).resolve().parent


def _load_operators():
    """The library that pip has built; the one that SMX_TORCH_LIBRARY names; or else one that is compiled now, and found when it is wanted again. Gives
    its folder."""
    named = os.environ.get("SMX_TORCH_LIBRARY")
    installed = sorted(here.glob("_operators*.so"))
    if named or installed:
        path = pathlib.Path(named or installed[0])
        torch.ops.load_library(str(path))
        return path.parent
    from torch.utils import cpp_extension

    from . import build
    root = os.environ.get("TORCH_EXTENSIONS_DIR") or cpp_extension.get_default_build_root()
    folder = pathlib.Path(root) / f"smx_torch-{torch.__version__}"
    if not (folder / "smx_torch.so").exists():
        print(f"smx_torch: compiling the operators into {folder}, which takes minutes; the next import finds them", file=sys.stderr, flush=True)
    build.build(folder, verbose=False)
    return folder


def _load_call(folder):
    """What csrc/python/call.cpp offers, or None: a library that someone else has built may stand alone, or beside one for another Python."""
    path = folder / "_call.so"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location("smx_torch._call", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ImportError:
        return None
    return module.softmax


_call = _load_call(here if hasattr(torch.ops.smx, "scaled_mask_softmax") else _load_operators())
_is_compiling = torch.compiler.is_compiling
_softmax = torch.ops.smx.scaled_mask_softmax.default
_softmax_lse = torch.ops.smx.scaled_mask_softmax_lse.default


def softmax(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype, wants_lse):
    """scaled_mask_softmax, or scaled_mask_softmax_lse: compilers see the operators."""
    if _call is not None and not _is_compiling():
        results = _call(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype, wants_lse)
        if results is not NotImplemented:
            return results
    operator = _softmax_lse if wants_lse else _softmax
    return operator(scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype)
