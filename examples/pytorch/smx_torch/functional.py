"""The function that training and inference call."""
import dataclasses
import math

import torch

_softmax = torch.ops.smx.scaled_mask_softmax.default
_softmax_lse = torch.ops.smx.scaled_mask_softmax_lse.default


@dataclasses.dataclass(frozen=True)
class _Kind:
    """What a mask_type hides, and with which arguments."""
    causal: bool = False
    lengths: bool = False
    mask: bool = False


# A new mask is a row here; what it needs beside the arguments of the operator is a row of csrc/masks.hpp.
_kinds = {
    "none": _Kind(),
    "causal": _Kind(causal=True),
    "padding": _Kind(lengths=True),
    "both": _Kind(causal=True, lengths=True),
    "tensor": _Kind(mask=True),
}
# The diagonal that causal_align counts from, and whether from the bottom right corner. A number is a diagonal from the top left.
_diagonals = {"top-left": (0, False), "bottom-right": (0, True)}


def _diagonal(causal_align):
    if causal_align in _diagonals:
        return _diagonals[causal_align]
    if isinstance(causal_align, int):
        return causal_align, False
    raise ValueError(f"causal_align must be 'top-left', 'bottom-right' or a number n (key <= query + n), was {causal_align!r}")


def _sum(mask, bias, dtype):
    wide = torch.float64 if dtype is torch.float64 else torch.float32
    return mask.to(wide) + bias.to(wide)


def scaled_mask_softmax(scores, mask=None, *, scale=None, head_dim=None, mask_type="none", causal_align="bottom-right", lengths=None, bias=None,
                        dropout_p=0.0, training=True, empty="zeros", out_dtype=None, return_lse=False):
    """Softmax over the last axis of scale * scores + bias, where hidden scores take no part: their probability is 0.

    scores        [batch, heads, queries, keys], or its last 3, 2 or 1 axes with [batch, queries, keys] for 3: float16, bfloat16, float32 or float64,
                  any strides
    mask          broadcasts to scores. bool or an integer: True or nonzero = VISIBLE, as in scaled_dot_product_attention. Floating: added, as bias is
    scale         a number, 1 if left out; or head_dim, for 1 / sqrt(head_dim)
    mask_type     "none"; "causal": keys up to the diagonal; "padding": the first lengths[b] keys of batch b; "both" of these; "tensor": mask alone,
                  which must be given. A mask that is given takes part whatever the type
    causal_align  "bottom-right": the last query sees the last key; "top-left": the first query sees the first key; n: key <= query + n
    lengths       [batch], int32 or int64, for "padding" and "both"
    bias          broadcasts to scores, any floating type; -inf hides. It may require a gradient: that of the scores without the scale, summed over
                  the axes that repeat
    dropout_p     0 while training: dropout is not offered yet
    empty         what a row that sees nothing becomes: "zeros", "uniform" (1 / keys) or "nan"; its gradient is 0
    out_dtype     the type of the probabilities, that of the scores if left out. Arithmetic is in float32 (float64 for float64) whatever they are
    return_lse    gives (probabilities, log-sum-exp of every row); the latter is float32, or float64 for float64, and has no gradient

    There is no second derivative. Same inputs, same bits.
    """
    try:
        kind = _kinds[mask_type]
    except KeyError:
        raise ValueError(f"mask_type must be one of {', '.join(map(repr, _kinds))}, was {mask_type!r}") from None
    if kind.lengths != (lengths is not None):
        raise ValueError(f"mask_type={mask_type!r} needs lengths" if kind.lengths
                         else f"lengths are for mask_type='padding' or 'both'; mask_type={mask_type!r} does not look at them")
    if kind.mask and mask is None:
        raise ValueError("mask_type='tensor' needs a mask")
    if head_dim is not None:
        if scale is not None:
            raise ValueError("scale and head_dim are two ways to say the same: give one of them")
        if head_dim <= 0:
            raise ValueError(f"head_dim must be above 0, was {head_dim}")
        scale = 1.0 / math.sqrt(head_dim)
    if dropout_p != 0.0:
        if not 0.0 <= dropout_p <= 1.0:
            raise ValueError(f"dropout_p must be from 0 to 1, was {dropout_p}")
        if training:
            raise NotImplementedError("dropout is not offered yet: give dropout_p=0 and call torch.nn.functional.dropout on the probabilities")
    if mask is not None and mask.dtype is not torch.bool and mask.dtype is not torch.uint8:
        if mask.is_floating_point():
            mask, bias = None, mask if bias is None else _sum(mask, bias, scores.dtype)
        else:
            mask = mask != 0
    diagonal, bottom_right = _diagonal(causal_align) if kind.causal else (None, False)
    operator = _softmax_lse if return_lse else _softmax
    return operator(scores, mask, bias, lengths, scale=1.0 if scale is None else scale, diagonal=diagonal, bottom_right=bottom_right, empty=empty,
                    out_dtype=out_dtype)
