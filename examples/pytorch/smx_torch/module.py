"""The module that stands where models have a fused scale-mask-softmax."""
import torch

from .functional import _check_tensor, _drawn, _is_dropout, _softmax_dropout
from .library import softmax


class FusedScaleMaskSoftmax(torch.nn.Module):
    """In place of the FusedScaleMaskSoftmax of Megatron-LM and of Apex's functional: same arguments, same call.

    In the mask of this module True or nonzero means HIDDEN, as in those it replaces; in the function scaled_mask_softmax it means visible.

    attn_mask_type  "causal" or an enumeration's member of that name (also in "padding_causal"): keys beyond the diagonal are hidden, whose last query
                    sees the last key; with any other the mask alone hides. A mask that is given always takes part
    scale           multiplies the scores; None: 1
    dropout_p       takes the place of a torch.nn.Dropout behind the module it replaces: dropped in the same kernel, in training mode alone
    Other arguments say how those modules choose and emulate kernels, and are looked at only where they cannot be honoured: mask_func fills, and here
    what is hidden is excluded; arithmetic is always in float32. Probabilities have the type of the scores. A row that sees nothing is 0.
    """

    def __init__(self, input_in_fp16=False, input_in_bf16=False, attn_mask_type="padding", scaled_masked_softmax_fusion=True, mask_func=None,
                 softmax_in_fp32=True, scale=None, window_size=None, *, dropout_p=0.0):
        super().__init__()
        if input_in_fp16 and input_in_bf16:
            raise ValueError("input_in_fp16 and input_in_bf16 cannot both be true")
        if window_size is not None:
            raise NotImplementedError("window_size is not offered: hide what lies outside the window by the mask")
        self.attn_mask_type = str(getattr(attn_mask_type, "name", attn_mask_type))
        _is_dropout(dropout_p, False)  # refuses what is no probability
        self.dropout_p = dropout_p
        self.scale = 1.0 if scale is None else float(scale)
        self.diagonal = 0 if "causal" in self.attn_mask_type else None

    def forward(self, input, mask=None, softmax_offset=None):
        if softmax_offset is not None:
            raise NotImplementedError("softmax_offset (an attention sink) is not offered")
        if mask is not None:
            _check_tensor("mask", mask)
            if mask.dtype is not torch.bool and mask.dtype is not torch.uint8:
                if mask.is_floating_point():
                    raise TypeError("this module's mask is bool or an integer, True = hidden: give numbers that are added to scaled_mask_softmax(bias=...)")
                mask = mask != 0
        masks = (mask, None, None, self.scale, self.diagonal, self.diagonal is not None, True)
        if self.dropout_p != 0.0 and _is_dropout(self.dropout_p, self.training):
            return _softmax_dropout(input, _drawn(input), self.dropout_p, *masks)[0]
        return softmax(input, *masks, "zeros", None, False)

    def extra_repr(self):
        dropout = f", dropout_p={self.dropout_p:g}" if self.dropout_p else ""
        return f"attn_mask_type={self.attn_mask_type}, scale={self.scale:g}{dropout}"
