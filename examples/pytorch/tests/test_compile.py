"""The operators in PyTorch's compilers: opcheck, torch.compile with any shape, torch.export, compiled autograd, CUDA graphs."""
import contextlib

import pytest
import torch
from smx_torch import scaled_mask_softmax

scores_of = {
    "packed": lambda device, dtype: torch.randn(2, 3, 4, 8, device=device).to(dtype),
    "a slice": lambda device, dtype: torch.randn(2, 4, 3, 11, device=device).to(dtype)[..., 1:9].transpose(1, 2),
    "no rows": lambda device, dtype: torch.randn(2, 3, 0, 8, device=device).to(dtype),
}
arguments_of = {
    "none": lambda device: {},
    "causal": lambda device: dict(scale=0.5, diagonal=0, bottom_right=True),
    "all": lambda device: dict(mask=torch.rand(2, 1, 1, 8, device=device) < 0.7, bias=torch.randn(8, device=device, requires_grad=True),
                               lengths=torch.tensor([8, 3], dtype=torch.int32, device=device), diagonal=1),
    "another type": lambda device: dict(out_dtype=torch.float32),
}


@pytest.mark.parametrize("arguments", arguments_of)
@pytest.mark.parametrize("scores", scores_of)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
def test_opcheck(scores, arguments, dtype, device):
    x, named = scores_of[scores](device, dtype), arguments_of[arguments](device)
    y = torch.ops.smx.scaled_mask_softmax(x, **named).detach()
    for operator in (torch.ops.smx.scaled_mask_softmax.default, torch.ops.smx.scaled_mask_softmax_lse.default):
        torch.library.opcheck(operator, (x.detach().requires_grad_(),), named)
    if "bias" in named:
        named["bias"] = named["bias"].detach()
        for more in ({}, dict(out_dtype=torch.float32), dict(out_dtype=torch.float32, of_scores=False)):
            torch.library.opcheck(torch.ops.smx.scaled_mask_softmax_backward_with_bias.default, (torch.randn_like(y), y), dict(**named, **more))
    torch.library.opcheck(torch.ops.smx.scaled_mask_softmax_backward.default, (torch.randn_like(y), y), named)


def attention(q, k, v, mask):
    p = scaled_mask_softmax(q @ k.transpose(-1, -2), mask, head_dim=q.size(-1), mask_type="causal")
    return p @ v


def test_compile_of_any_shape(device):
    compiled = torch.compile(attention, fullgraph=True, dynamic=True)
    for queries, keys in ((5, 9), (12, 12), (3, 40)):
        q = torch.randn(2, 3, queries, 8, device=device, requires_grad=True)
        k, v = (torch.randn(2, 3, keys, 8, device=device, requires_grad=True) for _ in range(2))
        mask = torch.rand(2, 1, 1, keys, device=device) < 0.8
        expected, actual = attention(q, k, v, mask), compiled(q, k, v, mask)
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
        incoming = torch.randn_like(expected)
        for ours, theirs in zip(torch.autograd.grad(actual, (q, k, v), incoming), torch.autograd.grad(expected, (q, k, v), incoming)):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dropout_p, return_lse", [(0.0, False), (0.0, True), (0.5, False)])
def test_compiled_autograd(dropout_p, return_lse, device):
    x = torch.randn(2, 3, 5, 7, device=device, requires_grad=True)
    bias = torch.randn(3, 5, 7, device=device, requires_grad=True)
    gradients = []
    for is_compiled in (False, True):
        torch.manual_seed(2)
        y = scaled_mask_softmax(x, bias=bias, scale=0.5, mask_type="causal", dropout_p=dropout_p, return_lse=return_lse)
        x.grad = bias.grad = None
        with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")) if is_compiled else contextlib.nullcontext():
            (y[0] if return_lse else y).square().sum().backward()
        gradients.append((x.grad, bias.grad))
    torch.testing.assert_close(*gradients)


def test_compile_with_a_bias_that_learns(device):
    def loss(x, bias):
        return scaled_mask_softmax(x, bias=bias, scale=0.5, mask_type="causal").square().sum()

    x = torch.randn(2, 3, 5, 7, device=device, requires_grad=True)
    bias = torch.randn(3, 1, 7, device=device, requires_grad=True)
    compiled = torch.compile(loss, fullgraph=True, dynamic=True)
    for ours, theirs in zip(torch.autograd.grad(compiled(x, bias), (x, bias)), torch.autograd.grad(loss(x, bias), (x, bias))):
        torch.testing.assert_close(ours, theirs)


def test_export_of_any_length(device):
    class Attention(torch.nn.Module):
        def forward(self, q, k, v, mask):
            return attention(q, k, v, mask)

    def inputs(queries, keys):
        return (torch.randn(2, 3, queries, 8, device=device), torch.randn(2, 3, keys, 8, device=device), torch.randn(2, 3, keys, 8, device=device),
                torch.rand(2, 1, 1, keys, device=device) < 0.8)

    queries, keys = torch.export.Dim("queries", min=2, max=4096), torch.export.Dim("keys", min=2, max=4096)
    program = torch.export.export(Attention(), inputs(5, 9), dynamic_shapes=({2: queries}, {2: keys}, {2: keys}, {3: keys}))
    assert "smx.scaled_mask_softmax" in program.graph_module.code
    for shape in ((5, 9), (17, 30)):
        arguments = inputs(*shape)
        torch.testing.assert_close(program.module()(*arguments), attention(*arguments), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", ["meta"])
def test_shapes_without_data(device):
    scores = torch.empty(2, 3, 4, 5, device=device, dtype=torch.float16)
    y, lse = scaled_mask_softmax(scores, mask_type="causal", return_lse=True, out_dtype=torch.float32)
    assert y.shape == scores.shape and y.dtype == torch.float32 and lse.shape == (2, 3, 4)


def test_cuda_graph():
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU here")
    x = torch.randn(2, 3, 50, 70, device="cuda").half().requires_grad_()
    incoming = torch.randn(2, 3, 50, 70, device="cuda").half()
    torch.autograd.grad(torch.softmax(x, -1), x, incoming)  # PyTorch's own first backward sets itself up; smx needs no first call
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = scaled_mask_softmax(x, mask_type="causal", scale=0.1)
        [gradient] = torch.autograd.grad(y, x, incoming)
    with torch.no_grad():
        x.copy_(torch.randn_like(x))
    graph.replay()
    expected = scaled_mask_softmax(x, mask_type="causal", scale=0.1)
    assert torch.equal(y, expected)
    assert torch.equal(gradient, torch.autograd.grad(expected, x, incoming)[0])


def test_the_current_stream_is_used():
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU here")
    x = torch.randn(64, 1024, 1024, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(20):
            x = x + 1  # as long as a call that did not wait for it would need
        y = scaled_mask_softmax(x - 20)
    stream.synchronize()
    torch.testing.assert_close(y, torch.softmax(x - 20, -1), rtol=1e-4, atol=1e-6)
