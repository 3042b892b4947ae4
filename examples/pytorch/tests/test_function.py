"""smx_torch.scaled_mask_softmax against torch.softmax in float64, forward and backward: every mask, type and layout, and what is refused."""
import math

import pytest
import reference
import torch
from smx_torch import scaled_mask_softmax

dtypes = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
batch, heads, queries, keys = 2, 3, 9, 37


def flags(*shape):
    return lambda device: torch.rand(shape, device=device) < 0.7


def numbers(*shape, dtype=torch.float32):
    return lambda device: torch.randn(shape, device=device).to(dtype)


def with_infinities(*shape):
    return lambda device: torch.randn(shape, device=device).masked_fill(torch.rand(shape, device=device) < 0.3, -math.inf)


def lengths(dtype):
    return lambda device: torch.tensor([keys, 11], dtype=dtype, device=device)


masks = {
    "none": {},
    "head_dim": dict(head_dim=64),
    "causal": dict(mask_type="causal"),
    "causal, top left": dict(mask_type="causal", causal_align="top-left"),
    "causal, a diagonal": dict(mask_type="causal", causal_align=-3),
    "padding": dict(mask_type="padding", lengths=lengths(torch.int32)),
    "padding, int64": dict(mask_type="padding", lengths=lengths(torch.int64)),
    "both": dict(mask_type="both", lengths=lengths(torch.int32)),
    "tensor": dict(mask_type="tensor", mask=flags(batch, heads, queries, keys)),
    "tensor of keys": dict(mask=flags(batch, 1, 1, keys)),
    "tensor of queries and keys": dict(mask=flags(queries, keys)),
    "tensor of queries": dict(mask=flags(batch, 1, queries, 1)),
    "tensor of uint8": dict(mask=lambda device: 3 * flags(batch, 1, queries, keys)(device).to(torch.uint8)),
    "tensor of int64": dict(mask=lambda device: -flags(batch, 1, queries, keys)(device).to(torch.int64)),
    "tensor with keys apart": dict(mask=lambda device: flags(keys, queries)(device).T),
    "tensor, expanded": dict(mask=lambda device: flags(batch, 1, 1, keys)(device).expand(batch, heads, queries, keys)),
    "tensor of numbers": dict(mask=with_infinities(batch, 1, 1, keys)),
    "bias": dict(bias=numbers(1, heads, queries, keys)),
    "bias of float16": dict(bias=numbers(heads, 1, keys, dtype=torch.float16)),
    "bias of float64": dict(bias=numbers(heads, 1, keys, dtype=torch.float64)),
    "bias with -inf": dict(bias=with_infinities(queries, keys)),
    "bias of queries": dict(bias=numbers(heads, queries, 1)),
    "causal and tensor": dict(mask_type="causal", mask=flags(batch, 1, 1, keys)),
    "causal and bias": dict(mask_type="causal", bias=numbers(heads, queries, keys)),
    "tensor and bias": dict(mask=flags(batch, 1, 1, keys), bias=numbers(heads, queries, keys)),
    "two biases": dict(mask=with_infinities(batch, 1, 1, keys), bias=numbers(heads, queries, keys)),
    "all": dict(mask_type="both", lengths=lengths(torch.int32), mask=flags(batch, 1, queries, keys), bias=numbers(heads, 1, keys)),
}

layouts = {
    "packed": lambda x: x,
    "queries before heads": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
    "a slice of the keys": lambda x: torch.nn.functional.pad(x, (1, 2))[..., 1:-2],
    "every other query": lambda x: torch.repeat_interleave(x, 2, dim=2)[:, :, ::2],
    "keys apart": lambda x: x.transpose(2, 3).contiguous().transpose(2, 3),
    "one batch, expanded": lambda x: x[:1].expand(x.shape),
}


def made(arguments, device):
    return {name: value(device) if callable(value) else value for name, value in arguments.items()}


def check(actual, expected, dtype, factor=1):
    torch.testing.assert_close(actual.double(), expected.double(), rtol=factor * reference.tolerance[dtype], atol=factor * reference.tolerance[dtype])


def check_both_passes(scores, arguments, **more):
    scores = scores.detach().requires_grad_()
    actual = scaled_mask_softmax(scores, **arguments, **more)
    exact = scores.detach().double().requires_grad_()
    expected = reference.scaled_mask_softmax(exact, **arguments)
    incoming = torch.randn_like(actual)
    check(actual, expected, actual.dtype)
    [gradient] = torch.autograd.grad(actual, scores, incoming)
    [expected_gradient] = torch.autograd.grad(expected, exact, incoming.double())
    assert gradient.dtype == scores.dtype and gradient.shape == scores.shape
    check(gradient, expected_gradient, scores.dtype, 4)
    return actual


@pytest.mark.parametrize("layout", layouts)
@pytest.mark.parametrize("dtype", dtypes, ids=str)
@pytest.mark.parametrize("mask", masks)
def test_every_mask_type_and_layout(mask, dtype, layout, device):
    scores = layouts[layout](4 * torch.randn(batch, heads, queries, keys, device=device).to(dtype))
    actual = check_both_passes(scores, made(masks[mask], device))
    assert actual.dtype == dtype and actual.is_contiguous()


@pytest.mark.parametrize("mask", ["none", "causal", "tensor of keys", "bias", "all"])
@pytest.mark.parametrize("scores_type, out_type", [(torch.float16, torch.float32), (torch.float32, torch.bfloat16), (torch.bfloat16, torch.float64)])
def test_types_of_scores_and_probabilities_differ(mask, scores_type, out_type, device):
    scores = torch.randn(batch, heads, queries, keys, device=device).to(scores_type).requires_grad_()
    arguments = made(masks[mask], device)
    actual = scaled_mask_softmax(scores, **arguments, out_dtype=out_type)
    assert actual.dtype == out_type
    exact = scores.detach().double().requires_grad_()
    expected = reference.scaled_mask_softmax(exact, **arguments)
    check(actual, expected, max(out_type, torch.float32, key=reference.tolerance.get))
    incoming = torch.randn_like(actual)
    [gradient] = torch.autograd.grad(actual, scores, incoming)
    assert gradient.dtype == scores_type
    check(gradient, torch.autograd.grad(expected, exact, incoming.double())[0], max(out_type, scores_type, key=reference.tolerance.get), 4)


@pytest.mark.parametrize("dtype", dtypes, ids=str)
@pytest.mark.parametrize("cols", [1, 31, 64, 100, 1024, 5000, 40000])
def test_rows_of_any_length(cols, dtype, device):
    check_both_passes(torch.randn(3, cols, device=device).to(dtype), {})
    check_both_passes(torch.randn(3, cols, device=device).to(dtype), dict(mask=flags(cols)(device), mask_type="causal", scale=0.5))


@pytest.mark.parametrize("shape", [(keys,), (queries, keys), (batch, queries, keys), (batch, heads, queries, keys)])
def test_one_to_four_axes(shape, device):
    check_both_passes(torch.randn(shape, device=device), dict(mask_type="causal", mask=flags(keys)(device), bias=numbers(keys)(device)))
    if len(shape) > 2:
        check_both_passes(torch.randn(shape, device=device), dict(mask_type="both", lengths=lengths(torch.int32)(device)))


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 5), (2, 0, 3, 4), (2, 3, 4, 0), (0, 0, 0, 0)])
def test_empty_tensors(shape, device):
    scores = torch.randn(shape, device=device, requires_grad=True)
    y, lse = scaled_mask_softmax(scores, mask_type="causal", mask=torch.ones(shape, dtype=torch.bool, device=device), return_lse=True)
    y.sum().backward()
    assert y.shape == scores.grad.shape == shape
    assert lse.shape == shape[:-1] and (lse == -math.inf).all()


@pytest.mark.parametrize("empty", ["zeros", "uniform", "nan"])
@pytest.mark.parametrize("by", ["tensor", "bias", "padding", "causal"])
def test_rows_that_see_nothing(empty, by, device):
    scores = torch.randn(2, 3, 4, 5, device=device, requires_grad=True)
    arguments = dict(tensor=dict(mask=torch.zeros(5, dtype=torch.bool, device=device)), bias=dict(bias=torch.full((5,), -math.inf, device=device)),
                     padding=dict(mask_type="padding", lengths=torch.zeros(2, dtype=torch.int32, device=device)),
                     causal=dict(mask_type="causal", causal_align=-100))[by]
    y, lse = scaled_mask_softmax(scores, **arguments, empty=empty, return_lse=True)
    torch.testing.assert_close(y, torch.full_like(y, dict(zeros=0, uniform=0.2, nan=math.nan)[empty]), equal_nan=True)
    assert (lse == -math.inf).all()
    y.backward(torch.randn_like(y))
    assert (scores.grad == 0).all()


def test_what_is_hidden_has_no_effect(device):
    scores = torch.randn(2, 3, 8, 8, device=device)
    mask = torch.ones(8, 8, dtype=torch.bool, device=device).tril(-1) | torch.eye(8, dtype=torch.bool, device=device)
    poisoned = scores.masked_fill(~mask, math.nan).requires_grad_()
    y = scaled_mask_softmax(poisoned, mask)
    y.backward(torch.ones_like(y).masked_fill(~mask, math.inf))
    torch.testing.assert_close(y, scaled_mask_softmax(scores, mask_type="causal"))
    assert poisoned.grad.abs().max() < 1e-6


@pytest.mark.parametrize("dtype", dtypes, ids=str)
def test_log_sum_exp(dtype, device):
    scores = torch.randn(batch, heads, queries, keys, device=device).to(dtype)
    y, lse = scaled_mask_softmax(scores, scale=0.7, mask_type="causal", return_lse=True)
    x = (scores.double() * 0.7).masked_fill(reference.hidden_from(scores, "causal"), -math.inf)
    torch.testing.assert_close(lse.double(), torch.logsumexp(x, -1), rtol=1e-5, atol=1e-5)
    assert lse.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    check(y, reference.scaled_mask_softmax(scores, scale=0.7, mask_type="causal"), dtype)


def test_autocast_gives_its_type(device):
    with torch.autocast(device, torch.bfloat16):
        for dtype in dtypes:
            scores = torch.randn(2, 3, 4, 5, device=device).to(dtype).requires_grad_()
            y = scaled_mask_softmax(scores)
            assert y.dtype == (torch.float64 if dtype == torch.float64 else torch.bfloat16)
            assert scaled_mask_softmax(scores, out_dtype=torch.float32).dtype == torch.float32
            y.float().square().sum().backward()
            assert scores.grad.dtype == dtype


def test_same_inputs_give_the_same_bits(device):
    scores = torch.randn(4, 8, 64, 200, device=device).half()
    arguments = dict(mask_type="causal", bias=torch.randn(8, 64, 200, device=device).half().requires_grad_())
    torch.use_deterministic_algorithms(True)
    try:
        runs = []
        for _ in range(3):
            leaf = scores.clone().requires_grad_()
            y = scaled_mask_softmax(leaf, **arguments)
            runs.append((y, *torch.autograd.grad(y.float().square().sum(), (leaf, arguments["bias"]))))
        assert all(torch.equal(a, b) for run in runs for a, b in zip(run, runs[0]))
    finally:
        torch.use_deterministic_algorithms(False)


refused = {
    "an unknown mask_type": (dict(mask_type="sliding"), ValueError, "mask_type must be one of 'none', 'causal', 'padding', 'both', 'tensor'"),
    "an unknown alignment": (dict(mask_type="causal", causal_align="middle"), ValueError, "causal_align must be"),
    "padding without lengths": (dict(mask_type="padding"), ValueError, "needs lengths"),
    "lengths that nobody looks at": (dict(lengths=torch.ones(2, dtype=torch.int32)), ValueError, "does not look at them"),
    "a tensor that is not there": (dict(mask_type="tensor"), ValueError, "needs a mask"),
    "two scales": (dict(scale=1.0, head_dim=64), ValueError, "give one of them"),
    "no head_dim": (dict(head_dim=0), ValueError, "head_dim must be above 0"),
    "a scale that learns": (dict(scale=torch.ones((), requires_grad=True)), TypeError, "scale must be a number"),
    "no number in causal_align": (dict(mask_type="causal", causal_align=True), ValueError, "causal_align must be"),
    "a list in mask_type": (dict(mask_type=["causal"]), ValueError, "mask_type must be one of"),
    "a mask without data": (dict(mask=torch.ones(5, dtype=torch.bool, device="meta")), ValueError, "all tensors must be on cpu as scores are"),
    "a mask that is no tensor": (dict(mask=[[True]]), TypeError, "mask must be a tensor, was of type list"),
    "a mask of another shape": (dict(mask=torch.ones(3, 5, dtype=torch.bool)), ValueError, r"mask must broadcast to scores \[2, 3, 4, 5\], was \[3, 5\]"),
    "a mask with more axes": (dict(mask=torch.ones(1, 1, 1, 1, 5, dtype=torch.bool)), ValueError, "mask must broadcast to scores"),
    "a bias of another shape": (dict(bias=torch.ones(6)), ValueError, "bias must broadcast to scores"),
    "a bias of integers": (dict(bias=torch.ones(5, dtype=torch.int32)), TypeError, "bias must be float16"),
    "lengths of another shape": (dict(mask_type="padding", lengths=torch.ones(3, dtype=torch.int32)), ValueError, "one number for each of the 2 batches"),
    "lengths that are no integers": (dict(mask_type="padding", lengths=torch.ones(2)), TypeError, "lengths must be int32 or int64"),
    "an unknown empty": (dict(empty="ones"), ValueError, 'empty must be "zeros", "uniform" or "nan"'),
    "an out_dtype of integers": (dict(out_dtype=torch.int32), TypeError, "out_dtype must be float16"),
}


@pytest.mark.parametrize("name", refused)
def test_wrong_calls_are_refused_by_a_sentence(name):
    arguments, error, sentence = refused[name]
    with pytest.raises(error, match=sentence):
        scaled_mask_softmax(torch.randn(2, 3, 4, 5), **arguments)


def test_wrong_scores_are_refused_by_a_sentence():
    with pytest.raises(TypeError, match="scores must be float16, bfloat16, float32 or float64"):
        scaled_mask_softmax(torch.ones(3, 4, dtype=torch.int32))
    for where in ("cpu", "meta"):
        for shape in ((), (1, 1, 1, 3, 4)):
            with pytest.raises(ValueError, match="scores must have 1 to 4 axes"):
                scaled_mask_softmax(torch.ones(shape, device=where), return_lse=True)


def test_tensors_of_another_device_are_refused():
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU here")
    here, there = torch.randn(3, 4, device="cuda"), torch.ones(3, 4)
    for arguments, name in ((dict(mask=there.bool()), "mask"), (dict(bias=there), "bias"),
                            (dict(mask_type="padding", lengths=torch.ones(1, dtype=torch.int32)), "lengths")):
        with pytest.raises(ValueError, match=f"{name} must be on cuda"):
            scaled_mask_softmax(here, **arguments)
    with pytest.raises(ValueError, match="all tensors must be on cpu as scores are"):
        scaled_mask_softmax(there, here > 0)
