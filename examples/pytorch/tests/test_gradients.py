"""Gradients of the scores and of the bias: by differences, against PyTorch's own, and of any subset of the arguments."""
import itertools

import pytest
import reference
import torch
from smx_torch import scaled_mask_softmax


def test_gradcheck(device):
    scores = torch.randn(2, 3, 4, 6, dtype=torch.float64, device=device, requires_grad=True)
    bias = torch.randn(3, 1, 6, dtype=torch.float64, device=device, requires_grad=True)
    lengths = torch.tensor([6, 3], dtype=torch.int32, device=device)
    mask = torch.rand(4, 6, device=device) < 0.8
    mask[1] = False  # a row that sees nothing
    kinds = [dict(), dict(mask_type="causal"), dict(mask_type="both", lengths=lengths), dict(mask=mask), dict(mask_type="causal", mask=mask)]
    for arguments in kinds:
        assert torch.autograd.gradcheck(lambda x: scaled_mask_softmax(x, scale=0.3, **arguments), (scores,))
        assert torch.autograd.gradcheck(lambda x, b: scaled_mask_softmax(x, scale=-0.3, bias=b, **arguments), (scores, bias))


def test_double_backward_is_refused_by_a_sentence(device):
    scores = torch.randn(3, 4, dtype=torch.float64, device=device, requires_grad=True)
    [gradient] = torch.autograd.grad(scaled_mask_softmax(scores).square().sum(), scores, create_graph=True)
    with pytest.raises(NotImplementedError, match="no second derivative"):
        gradient.sum().backward()


def test_forward_mode_is_refused_by_a_sentence(device):
    scores = torch.randn(3, 4, device=device)
    for dropout_p in (0.0, 0.5):
        with pytest.raises(NotImplementedError, match="no derivative in forward mode"):
            torch.func.jvp(lambda x: scaled_mask_softmax(x, dropout_p=dropout_p), (scores,), (scores,))
    with pytest.raises(NotImplementedError, match="no derivative in forward mode"), torch.no_grad():
        torch.func.jvp(lambda b: scaled_mask_softmax(scores, bias=b), (scores,), (scores,))


@pytest.mark.parametrize("scale", [0.0, 1.0, 0.25])
@pytest.mark.parametrize("scores_wants, bias_wants", list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize("shape", [(5, 6), (3, 1, 1), (2, 1, 1, 6), (2, 3, 5, 6), (1,)])
def test_any_subset_wants_gradients(shape, scores_wants, bias_wants, scale, device):
    scores = torch.randn(2, 3, 5, 6, device=device, requires_grad=scores_wants)
    bias = torch.randn(shape, device=device, requires_grad=bias_wants)
    incoming = torch.randn(2, 3, 5, 6, device=device)
    wanted = [t for t in (scores, bias) if t.requires_grad]
    actual = scaled_mask_softmax(scores, scale=scale, bias=bias, mask_type="causal")
    assert actual.requires_grad == bool(wanted)
    if wanted:
        expected = reference.scaled_mask_softmax(scores, scale=scale, bias=bias, mask_type="causal")
        for ours, theirs in zip(torch.autograd.grad(actual, wanted, incoming), torch.autograd.grad(expected, wanted, incoming.double())):
            torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("scores_type, bias_type", [(torch.float16, torch.float32), (torch.bfloat16, torch.bfloat16), (torch.float32, torch.float16)])
def test_gradients_have_the_types_of_their_tensors(scores_type, bias_type, device):
    scores = torch.randn(2, 3, 5, 6, device=device).to(scores_type).requires_grad_()
    bias = torch.randn(3, 1, 6, device=device).to(bias_type).requires_grad_()
    scaled_mask_softmax(scores, bias=bias).float().square().sum().backward()
    assert scores.grad.dtype == scores_type and bias.grad.dtype == bias_type and bias.grad.shape == bias.shape


biases = {"batch": (1, 12, 40, 50), "heads": (3, 1, 40, 50), "queries": (3, 12, 1, 50), "keys": (3, 12, 40, 1), "batch and queries": (12, 1, 50),
          "batch, heads and keys": (40, 1), "all": (1,), "nothing": (3, 12, 40, 50)}


@pytest.mark.parametrize("repeats", biases)
@pytest.mark.parametrize("scores_type, bias_type", [(torch.float32, torch.float32), (torch.float16, torch.float16), (torch.bfloat16, torch.float32),
                                                    (torch.float64, torch.float32)], ids=str)
def test_gradient_of_a_bias_that_repeats(repeats, scores_type, bias_type, device):
    """Summed in the kernel or behind it: the same as in float64, for all masks together, with and without a gradient of the scores, and the same bits
    again."""
    given = torch.randn(3, 12, 40, 50, device=device).to(scores_type)
    of_bias = torch.randn(biases[repeats], device=device).to(bias_type)
    incoming = torch.randn(3, 12, 40, 50, device=device).to(scores_type)
    arguments = dict(mask=torch.rand(3, 1, 40, 50, device=device) < 0.9, mask_type="both", scale=0.5, lengths=torch.tensor([50, 7, 33], device=device))
    scores, bias = given.clone().requires_grad_(), of_bias.clone().requires_grad_()
    expected = reference.scaled_mask_softmax(scores, bias=bias, **arguments)
    of_reference = torch.autograd.grad(expected, (scores, bias), incoming.double())
    actual = torch.autograd.grad(scaled_mask_softmax(scores, bias=bias, **arguments), (scores, bias), incoming)
    shared = given.numel() / of_bias.numel()
    for ours, theirs, terms in zip(actual, of_reference, (1, shared)):
        bound = 8 * max(reference.tolerance[scores_type], reference.tolerance[bias_type]) * terms**0.5  # each term is rounded once or twice
        torch.testing.assert_close(ours.double(), theirs.double(), rtol=reference.tolerance[torch.float16], atol=bound)
    [alone] = torch.autograd.grad(scaled_mask_softmax(given, bias=bias, **arguments), bias, incoming)
    assert torch.equal(alone, actual[1])


def test_a_bias_that_is_expanded_has_a_gradient_of_its_own_shape(device):
    scores = torch.randn(3, 12, 40, 50, device=device, requires_grad=True)
    bias = torch.randn(12, 1, 1, device=device).expand(12, 40, 50).requires_grad_()
    incoming = torch.randn(3, 12, 40, 50, device=device)
    [actual] = torch.autograd.grad(scaled_mask_softmax(scores, bias=bias), bias, incoming)
    [expected] = torch.autograd.grad(reference.scaled_mask_softmax(scores, bias=bias), bias, incoming.double())
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


def test_the_gradient_of_a_bias_takes_no_tensor_of_the_size_of_the_scores():
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU here")
    scores = torch.randn(8, 16, 512, 512, device="cuda").half().requires_grad_()
    bias = torch.randn(1, 16, 512, 512, device="cuda", requires_grad=True)
    y, incoming = scaled_mask_softmax(scores, bias=bias, scale=0.5), torch.randn_like(scores)
    torch.autograd.grad(y, (scores, bias), incoming, retain_graph=True)
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    results = torch.autograd.grad(y, (scores, bias), incoming, retain_graph=True)
    written = sum(result.numel() * result.element_size() for result in results)
    assert torch.cuda.max_memory_allocated() - before <= written + 4096


def test_gradients_of_any_layout(device):
    scores = torch.randn(2, 3, 5, 6, device=device, requires_grad=True)
    incoming = torch.randn(6, 5, 3, 2, device=device).permute(3, 2, 1, 0)
    [actual] = torch.autograd.grad(scaled_mask_softmax(scores), scores, incoming)
    [expected] = torch.autograd.grad(torch.softmax(scores, -1), scores, incoming)
    torch.testing.assert_close(actual, expected)
    [of_sum] = torch.autograd.grad(scaled_mask_softmax(scores).sum(), scores)
    assert of_sum.abs().max() < 1e-6
