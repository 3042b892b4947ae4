"""Scaled mask softmax for PyTorch: softmax(mask(scale * scores + bias)) in one kernel, with its gradient.

    smx_torch.scaled_mask_softmax(scores, ...)        the function; see its documentation
    smx_torch.FusedScaleMaskSoftmax(...)              a module with the call of those it replaces
    torch.ops.smx.scaled_mask_softmax(scores, ...)    the operator that both call
"""
from .functional import scaled_mask_softmax
from .module import FusedScaleMaskSoftmax

__all__ = ["scaled_mask_softmax", "FusedScaleMaskSoftmax"]
