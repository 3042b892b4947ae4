"""The function that training and inference call."""
import dataclasses
import math

import torch

from .library import softmax

_softmax_dropout = torch.ops.smx.scaled_mask_softmax_dropout.default


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
    if isinstance(causal_align, str) and causal_align in _diagonals:
        return _diagonals[causal_align]
    if isinstance(causal_align, int) and not isinstance(causal_align, bool):
        return causal_align, False
    raise ValueError(f"causal_align must be 'top-left', 'bottom-right' or a number n (key <= query + n), was {causal_align!r}")


def _check_tensor(name, given):
    if not isinstance(given, torch.Tensor):
        raise TypeError(f"{name} must be a tensor, was of type {type(given).__name__}")


def _drawn(scores):
    """A seed and an offset for the dropout of one call, from PyTorch's generator of the scores' device, on that device.

    By PyTorch's own operator, so that torch.manual_seed, torch.utils.checkpoint, torch.compile and CUDA graphs, whose replays draw again, treat it as
    any random number. It costs a kernel that writes 16 bytes before each call that drops (on the CPU 2.3 of the call's 12 us); a number of the host's
    would save it, and be the same in every replay.
    """
    return torch.randint(2**63 - 1, (2,), dtype=torch.int64, device=scores.device)


def _is_dropout(dropout_p, training):
    if not isinstance(dropout_p, (int, float)):
        raise TypeError(f"dropout_p must be a number, was of type {type(dropout_p).__name__}")
    if not 0.0 <= dropout_p <= 1.0:
        raise ValueError(f"dropout_p must be from 0 to 1, was {dropout_p}")
    return training and dropout_p > 0.0


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
    dropout_p     while training, each probability becomes 0 with this probability and is divided by 1 - dropout_p otherwise, to the nearest multiple of
                  1 / 65536. What is dropped follows from PyTorch's generator of the device (torch.manual_seed)
    empty         what a row that sees nothing becomes: "zeros", "uniform" (1 / keys) or "nan"; its gradient is 0
    out_dtype     the type of the probabilities, that of the scores if left out. Arithmetic is in float32 (float64 for float64) whatever they are
    return_lse    gives (probabilities, log-sum-exp of every row); the latter is float32, or float64 for float64, and has no gradient

    There is no second derivative. Same inputs, same bits; with dropout also the same state of the generator.
    """
    try:
        kind = _kinds[mask_type]
    except (KeyError, TypeError):
        raise ValueError(f"mask_type must be one of {', '.join(map(repr, _kinds))}, was {mask_type!r}") from None
    if kind.lengths != (lengths is not None):
        raise ValueError(f"mask_type={mask_type!r} needs lengths" if kind.lengths
                         else f"lengths are for mask_type='padding' or 'both'; mask_type={mask_type!r} does not look at them")
    if kind.mask and mask is None:
        raise ValueError("mask_type='tensor' needs a mask")
    if head_dim is not None:
        if scale is not None:
            raise ValueError("scale and head_dim are two ways to say the same: give one of them")
        if isinstance(head_dim, str) or head_dim <= 0:
            raise ValueError(f"head_dim must be above 0, was {head_dim}")
        scale = 1.0 / math.sqrt(head_dim)
    if scale is None:
        scale = 1.0
    elif type(scale) is not float and isinstance(scale, torch.Tensor):
        raise TypeError("scale must be a number: multiply the scores by a tensor that learns before this call")
    if bias is not None:
        _check_tensor("bias", bias)
    if lengths is not None:
        _check_tensor("lengths", lengths)
    if mask is not None:
        _check_tensor("mask", mask)
        dtype = mask.dtype
        if dtype is not torch.bool and dtype is not torch.uint8:
            if mask.is_floating_point():
                mask, bias = None, mask if bias is None else _sum(mask, bias, scores.dtype)
            else:
                mask = mask != 0
    diagonal, bottom_right = _diagonal(causal_align) if kind.causal else (None, False)
    # Arguments in their places: by name, a call costs 1 us more.
    if dropout_p != 0.0 and _is_dropout(dropout_p, training):
        results = _softmax_dropout(scores, _drawn(scores), dropout_p, mask, bias, lengths, scale, diagonal, bottom_right, False, empty, out_dtype)
        return results if return_lse else results[0]
    return softmax(scores, mask, bias, lengths, scale, diagonal, bottom_right, False, empty, out_dtype, return_lse)
