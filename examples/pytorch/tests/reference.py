"""Scaled mask softmax in float64 by PyTorch's own operators, with the arguments of smx_torch.scaled_mask_softmax."""
import math

import torch

# What one rounding to a type, and a few in the arithmetic, may differ by.
tolerance = {torch.float16: 1e-3, torch.bfloat16: 8e-3, torch.float32: 1e-6, torch.float64: 1e-13}


def hidden_from(scores, mask_type="none", causal_align="bottom-right", lengths=None, mask=None):
    """True where a score is hidden; mask: True = visible."""
    queries, keys = (1, *scores.shape)[-2:]
    query = torch.arange(queries, device=scores.device)[:, None]
    key = torch.arange(keys, device=scores.device)
    hidden = torch.zeros(scores.shape, dtype=torch.bool, device=scores.device)
    if mask_type in ("causal", "both"):
        diagonal = {"top-left": 0, "bottom-right": keys - queries}.get(causal_align, causal_align)
        beyond = key > query + diagonal
        hidden = hidden | (beyond if scores.dim() > 1 else beyond[0])
    if mask_type in ("padding", "both"):
        hidden = hidden | (key >= lengths.view(-1, *[1] * (scores.dim() - 1)))
    if mask is not None:
        hidden = hidden | (mask == 0)
    return hidden


def scaled_mask_softmax(scores, mask=None, *, scale=None, head_dim=None, mask_type="none", causal_align="bottom-right", lengths=None, bias=None,
                        empty="zeros"):
    if mask is not None and mask.is_floating_point():
        mask, bias = None, mask.double() if bias is None else mask.double() + bias.double()
    if head_dim is not None:
        scale = 1 / math.sqrt(head_dim)
    x = scores.double() * (1 if scale is None else scale)
    if bias is not None:
        x = x + bias.double()
    x = x.masked_fill(hidden_from(scores, mask_type, causal_align, lengths, mask), -math.inf)
    nothing = (x == -math.inf).all(-1, keepdim=True)
    y = torch.softmax(x.masked_fill(nothing, 0), -1)
    return y.masked_fill(nothing, {"zeros": 0.0, "uniform": 1 / max(1, scores.size(-1)), "nan": math.nan}[empty])
