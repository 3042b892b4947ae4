"""Whole models, with smx and with PyTorch's own operators in turn: a tiny GPT that is trained, an encoder block with padding, the drop-in module."""
import enum
import math

import pytest
import torch
from smx_torch import FusedScaleMaskSoftmax, scaled_mask_softmax
from torch import nn


class Attention(nn.Module):
    """probabilities(scores, padded) gives the probabilities of [batch, heads, queries, keys] scores that are not scaled yet."""

    def __init__(self, width, heads, probabilities):
        super().__init__()
        self.heads, self.probabilities = heads, probabilities
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, padded=None):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        p = self.probabilities(q @ k.transpose(-1, -2), padded)
        return self.out((p @ v).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, probabilities):
        super().__init__()
        self.attention = Attention(width, heads, probabilities)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, padded=None):
        x = x + self.attention(self.first(x), padded)
        return x + self.mlp(self.second(x))


class TinyGpt(nn.Module):
    vocabulary, width, heads, length = 65, 32, 4, 24

    def __init__(self, probabilities):
        super().__init__()
        self.tokens, self.places = nn.Embedding(self.vocabulary, self.width), nn.Embedding(self.length, self.width)
        self.blocks = nn.ModuleList(Block(self.width, self.heads, probabilities) for _ in range(2))
        self.head = nn.Linear(self.width, self.vocabulary)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places.weight[:tokens.size(1)]
        for block in self.blocks:
            x = block(x)
        return self.head(x)


head_dim = TinyGpt.width // TinyGpt.heads


def causal_of_torch(scores, padded):
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    return torch.softmax((scores / math.sqrt(head_dim)).masked_fill(hidden, -math.inf), -1)


def causal_of_smx(scores, padded):
    return scaled_mask_softmax(scores, head_dim=head_dim, mask_type="causal")


def losses(probabilities, device, steps, dtype=torch.float32):
    torch.manual_seed(3)
    model = TinyGpt(probabilities).to(device, dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    text = torch.randint(model.vocabulary, (8, model.length + 1), generator=torch.Generator().manual_seed(4)).to(device)
    result = []
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(text[:, :-1]).flatten(0, 1).float(), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        result.append(loss.item())
    return result


@pytest.mark.parametrize("dtype, within", [(torch.float32, 1e-3), (torch.float64, 1e-9), (torch.bfloat16, 5e-2)], ids=str)
def test_a_tiny_gpt_learns_alike(dtype, within, device):
    ours, theirs = losses(causal_of_smx, device, 50, dtype), losses(causal_of_torch, device, 50, dtype)
    assert ours[-1] < ours[0] - 1
    for step, (a, b) in enumerate(zip(ours, theirs)):
        assert abs(a - b) <= within * b, f"step {step}: {a} with smx, {b} with PyTorch"


def test_a_tiny_gpt_learns_alike_when_compiled(device):
    torch.manual_seed(3)
    model = TinyGpt(causal_of_smx).to(device)
    compiled = torch.compile(model, fullgraph=True)
    tokens = torch.randint(model.vocabulary, (2, model.length), device=device)
    for run in (model, compiled):
        model.zero_grad()
        run(tokens).square().mean().backward()
        gradients = [p.grad.clone() for p in model.parameters()]
        if run is model:
            expected = gradients
    for ours, theirs in zip(gradients, expected):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("said_by", ["lengths", "mask"])
def test_an_encoder_block_with_padding(said_by, device):
    width, heads, length = 32, 4, 20
    lengths = torch.tensor([20, 7, 1], device=device)
    padded = torch.arange(length, device=device) >= lengths[:, None]

    def of_torch(scores, padded):
        return torch.softmax((scores / math.sqrt(width // heads)).masked_fill(padded[:, None, None], -math.inf), -1)

    def of_smx(scores, padded):
        how = dict(mask_type="padding", lengths=lengths) if said_by == "lengths" else dict(mask=~padded[:, None, None])
        return scaled_mask_softmax(scores, head_dim=width // heads, **how)

    results = []
    for probabilities in (of_torch, of_smx):
        torch.manual_seed(5)
        block = Block(width, heads, probabilities).to(device)
        x = torch.randn(3, length, width, device=device, requires_grad=True)
        y = block(x, padded)
        y.masked_fill(padded[..., None], 0).square().sum().backward()
        results.append([y.detach(), x.grad, *(p.grad for p in block.parameters())])
    for ours, theirs in zip(results[1], results[0]):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


class AttnMaskType(enum.Enum):
    padding = 1
    causal = 2


def unfused(scores, mask, causal, scale):
    x = scores.float() * scale
    hidden = torch.zeros(scores.shape, dtype=torch.bool, device=scores.device) if mask is None else (mask != 0).expand(scores.shape)
    if causal:
        queries, keys = scores.shape[-2:]
        hidden = hidden | torch.ones(queries, keys, dtype=torch.bool, device=scores.device).triu(1 + keys - queries)
    x = x.masked_fill(hidden, -math.inf)
    return torch.softmax(x, -1).nan_to_num(0).to(scores.dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("kind", [AttnMaskType.padding, AttnMaskType.causal, "causal", "padding"], ids=str)
@pytest.mark.parametrize("mask", ["none", "keys", "queries and keys", "uint8", "one for a query"])
def test_the_module_drops_in(mask, kind, dtype, device):
    module = FusedScaleMaskSoftmax(input_in_fp16=dtype == torch.float16, input_in_bf16=dtype == torch.bfloat16, attn_mask_type=kind,
                                   scaled_masked_softmax_fusion=True, mask_func=lambda scores, mask: scores.masked_fill(mask, -10000),
                                   softmax_in_fp32=True, scale=0.3)
    scores = torch.randn(2, 3, 16, 24, device=device).to(dtype).requires_grad_()
    hidden = {"none": None, "keys": torch.rand(2, 1, 1, 24, device=device) < 0.3, "queries and keys": torch.rand(2, 1, 16, 24, device=device) < 0.3,
              "uint8": (torch.rand(2, 1, 16, 24, device=device) < 0.3).to(torch.uint8), "one for a query": torch.rand(2, 1, 16, 1, device=device) < 0.3}[mask]
    causal = getattr(kind, "name", kind) == "causal"
    expected = unfused(scores, hidden, causal, 0.3)
    actual = module(scores, hidden)
    assert actual.dtype == dtype
    incoming = torch.randn_like(actual)
    tolerance = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 1e-5}[dtype]
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(torch.autograd.grad(actual, scores, incoming)[0], torch.autograd.grad(expected, scores, incoming)[0].nan_to_num(0),
                               rtol=tolerance, atol=tolerance)


def test_the_module_refuses_what_it_has_not():
    with pytest.raises(NotImplementedError, match="window_size"):
        FusedScaleMaskSoftmax(window_size=(4, 0))
    module = FusedScaleMaskSoftmax()
    with pytest.raises(NotImplementedError, match="attention sink"):
        module(torch.randn(1, 1, 2, 2), None, torch.zeros(1))
    with pytest.raises(TypeError, match="True = hidden"):
        module(torch.randn(1, 1, 2, 2), torch.zeros(2))
