"""Dropout of probabilities: what is drawn, both passes against the reference with the same draws, compilers, graphs, models in training and not."""
import math

import pytest
import reference
import torch
from smx_torch import FusedScaleMaskSoftmax, scaled_mask_softmax
from test_function import dtypes, layouts, made, masks
from test_models import causal_of_smx, head_dim, losses

dropout = torch.ops.smx.scaled_mask_softmax_dropout
dropout_backward = torch.ops.smx.scaled_mask_softmax_dropout_backward
batch, heads, queries, keys = 2, 3, 9, 37


def seed_of(device, seed=7, offset=0):
    return torch.tensor([seed, offset], device=device)


def kept_of(shape, seed, p):
    """What a seed keeps: a function of it, of rows and of columns alone, so that scores of 0 without a mask show it."""
    return dropout(torch.zeros(shape, device=seed.device), seed, p)[0] != 0


def check(actual, expected, dtype, factor=1):
    torch.testing.assert_close(actual.double(), expected.double(), rtol=factor * reference.tolerance[dtype], atol=factor * reference.tolerance[dtype])


def test_as_many_are_dropped_as_were_asked_for(device):
    for p in (0.1, 0.5, 0.9):
        y = scaled_mask_softmax(torch.zeros(64, 64, 200, device=device), dropout_p=p)
        dropped = (y == 0).double()
        deviation = math.sqrt(p * (1 - p))
        assert abs(dropped.mean() - p) < 5 * deviation / math.sqrt(y.numel())
        assert (dropped.mean((0, 1)) - p).abs().max() < 6 * deviation / 64  # no column more than another
        assert (dropped.mean((1, 2)) - p).abs().max() < 6 * deviation / math.sqrt(64 * 200)
        torch.testing.assert_close(y.max().item(), 1 / 200 / (1 - p), rtol=1e-4, atol=0)
        assert abs(y.sum(-1).mean() - 1) < 0.05
        together = (dropped - p)[..., 1:] * (dropped - p)[..., :-1]  # neighbours do not know of each other
        assert together.mean().abs() < 5 * deviation**2 / math.sqrt(y.numel())


def test_the_generator_of_the_device_decides(device):
    scores = torch.randn(3, 50, 70, device=device)
    runs = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        leaf = scores.clone().requires_grad_()
        for _ in range(2):
            y = scaled_mask_softmax(leaf, dropout_p=0.3, mask_type="causal")
            runs.append((y.detach(), torch.autograd.grad(y.square().sum(), leaf)[0]))
    first, second, first_again, second_again, other, _ = runs
    assert all(torch.equal(a, b) for a, b in zip((*first, *second), (*first_again, *second_again)))
    assert not torch.equal(first[0], second[0]) and not torch.equal(first[0], other[0])


def test_seed_and_offset_decide(device):
    def kept(*seed):
        return kept_of((30, 40), seed_of(device, *seed), 0.5)

    assert torch.equal(kept(1, 2), kept(1, 2))
    assert not torch.equal(kept(1, 2), kept(1, 3)) and not torch.equal(kept(1, 2), kept(2, 2)) and not torch.equal(kept(1, 2), kept(2, 1))


def check_both_passes(scores, arguments, p, **more):
    scores = scores.detach().requires_grad_()
    torch.manual_seed(11)
    actual = scaled_mask_softmax(scores, **arguments, dropout_p=p, **more)
    torch.manual_seed(11)
    kept = kept_of(scores.shape, torch.randint(2**63 - 1, (2,), device=scores.device), p)
    exact = scores.detach().double().requires_grad_()
    expected = reference.scaled_mask_softmax(exact, **arguments) * kept / (1 - p)
    incoming = torch.randn_like(actual)
    check(actual, expected, actual.dtype, 2)
    [gradient] = torch.autograd.grad(actual, scores, incoming)
    [expected_gradient] = torch.autograd.grad(expected, exact, incoming.double())
    assert gradient.dtype == scores.dtype and gradient.shape == scores.shape
    check(gradient, expected_gradient, scores.dtype, 8)
    return actual


@pytest.mark.parametrize("dtype", dtypes, ids=str)
@pytest.mark.parametrize("mask", masks)
def test_every_mask_and_type(mask, dtype, device):
    actual = check_both_passes(4 * torch.randn(batch, heads, queries, keys, device=device).to(dtype), made(masks[mask], device), 0.25)
    assert actual.dtype == dtype and actual.is_contiguous()


@pytest.mark.parametrize("dtype", dtypes, ids=str)
@pytest.mark.parametrize("layout", layouts)
def test_every_layout(layout, dtype, device):
    check_both_passes(layouts[layout](torch.randn(batch, heads, queries, keys, device=device).to(dtype)), dict(mask_type="causal"), 0.25)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("cols", [1, 7, 64, 100, 1024, 5000, 40000, 140000])
def test_rows_of_any_length(cols, dtype, device):
    check_both_passes(torch.randn(3, cols, device=device).to(dtype), {}, 0.5)


@pytest.mark.parametrize("scores_type, out_type", [(torch.float16, torch.float32), (torch.float32, torch.bfloat16), (torch.bfloat16, torch.float64)])
def test_types_of_scores_and_probabilities_differ(scores_type, out_type, device):
    scores = torch.randn(batch, heads, queries, keys, device=device).to(scores_type).requires_grad_()
    seed = seed_of(device)
    actual, _ = dropout(scores, seed, 0.25, out_dtype=out_type)
    exact = scores.detach().double().requires_grad_()
    expected = reference.scaled_mask_softmax(exact) * kept_of(scores.shape, seed, 0.25) / 0.75
    assert actual.dtype == out_type
    check(actual, expected, max(out_type, torch.float32, key=reference.tolerance.get), 2)
    incoming = torch.randn_like(actual)
    [gradient] = torch.autograd.grad(actual, scores, incoming)
    assert gradient.dtype == scores_type
    check(gradient, torch.autograd.grad(expected, exact, incoming.double())[0], scores_type, 4)


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_gradcheck(p, device):
    scores = torch.randn(2, 3, 4, 6, dtype=torch.float64, device=device, requires_grad=True)
    bias = torch.randn(3, 1, 6, dtype=torch.float64, device=device, requires_grad=True)
    mask = torch.rand(4, 6, device=device) < 0.8
    mask[1] = False  # a row that sees nothing
    seed = seed_of(device)
    for named in (dict(), dict(diagonal=1), dict(mask=mask), dict(mask=mask, lengths=torch.tensor([6, 3], device=device), diagonal=2)):
        for scale in (-0.3, 1.0):
            assert torch.autograd.gradcheck(lambda x: dropout(x, seed, p, scale=scale, **named)[0], (scores,))
            assert torch.autograd.gradcheck(lambda x, b: dropout(x, seed, p, scale=scale, bias=b, **named)[0], (scores, bias))
    assert torch.autograd.gradcheck(lambda x, b: dropout(x, seed, p, scale=0.0, bias=b)[0], (scores, bias))


@pytest.mark.parametrize("scale", [0.0, 1.0, 0.25])
@pytest.mark.parametrize("scores_want, bias_wants", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("has_mask", [False, True])
def test_any_subset_wants_gradients(has_mask, scores_want, bias_wants, scale, device):
    scores = torch.randn(2, 3, 5, 6, device=device, requires_grad=scores_want)
    bias = torch.randn(3, 1, 6, device=device, requires_grad=bias_wants)
    mask = torch.rand(5, 6, device=device) < 0.8 if has_mask else None
    incoming, seed = torch.randn(2, 3, 5, 6, device=device), seed_of(device)
    wanted = [t for t in (scores, bias) if t.requires_grad]
    actual, lse = dropout(scores, seed, 0.25, mask, bias, scale=scale)
    assert actual.requires_grad and not lse.requires_grad
    expected = reference.scaled_mask_softmax(scores, mask, scale=scale, bias=bias) * kept_of(scores.shape, seed, 0.25) / 0.75
    for ours, theirs in zip(torch.autograd.grad(actual, wanted, incoming), torch.autograd.grad(expected, wanted, incoming.double())):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_double_backward_is_refused_by_a_sentence(device):
    scores = torch.randn(3, 4, dtype=torch.float64, device=device, requires_grad=True)
    [gradient] = torch.autograd.grad(scaled_mask_softmax(scores, dropout_p=0.5).square().sum(), scores, create_graph=True)
    with pytest.raises(NotImplementedError, match="no second derivative"):
        gradient.sum().backward()


def test_probabilities_of_0_and_of_1(device):
    scores = torch.randn(4, 50, 60, device=device)
    plain = scaled_mask_softmax(scores)
    state = torch.random.get_rng_state() if device == "cpu" else torch.cuda.get_rng_state()
    assert torch.equal(scaled_mask_softmax(scores, dropout_p=0.1, training=False), plain)
    assert torch.equal(scaled_mask_softmax(scores, dropout_p=0.0), plain)
    assert torch.equal(state, torch.random.get_rng_state() if device == "cpu" else torch.cuda.get_rng_state())  # nothing was drawn
    check(dropout(scores, seed_of(device), 0.0)[0], plain, torch.float32)
    leaf = scores.masked_fill(scores > 2, math.nan).requires_grad_()
    y = scaled_mask_softmax(leaf, dropout_p=1.0)
    y.sum().backward()
    assert (y == 0).all()


@pytest.mark.parametrize("empty", ["zeros", "uniform"])
def test_rows_that_see_nothing(empty, device):
    scores = torch.randn(2, 3, 4, 5, device=device, requires_grad=True)
    y, lse = scaled_mask_softmax(scores, torch.zeros(5, dtype=torch.bool, device=device), dropout_p=0.5, empty=empty, return_lse=True)
    y.backward(torch.randn_like(y))
    assert (lse == -math.inf).all() and (scores.grad == 0).all()
    assert ((y == 0) | (y - (0.4 if empty == "uniform" else 0)).abs().lt(1e-6)).all()


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 5), (2, 3, 4, 0)])
def test_empty_tensors(shape, device):
    scores = torch.randn(shape, device=device, requires_grad=True)
    y, lse = scaled_mask_softmax(scores, dropout_p=0.5, return_lse=True)
    y.sum().backward()
    assert y.shape == scores.grad.shape == shape and (lse == -math.inf).all()


def test_what_backward_keeps_is_what_it_was_given(device):
    scores = torch.randn(4, 50, 60, device=device, requires_grad=True)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        scaled_mask_softmax(scores, dropout_p=0.1, mask_type="causal")
    assert scores.data_ptr() in [t.data_ptr() for t in kept]
    assert sum(t.numel() for t in kept if t.data_ptr() != scores.data_ptr()) == 4 * 50 + 2  # log-sum-exps and a seed


def test_checkpoints_draw_alike(device):
    scores = torch.randn(4, 50, 60, device=device, requires_grad=True)

    def loss(x):
        return scaled_mask_softmax(x, dropout_p=0.3).square().sum()

    gradients = []
    for run in (loss, lambda x: torch.utils.checkpoint.checkpoint(loss, x, use_reentrant=False)):
        torch.manual_seed(2)
        gradients.append(torch.autograd.grad(run(scores), scores)[0])
    assert torch.equal(*gradients)


def test_autocast_gives_its_type(device):
    with torch.autocast(device, torch.bfloat16):
        scores = torch.randn(2, 3, 4, 5, device=device, requires_grad=True)
        y = scaled_mask_softmax(scores, dropout_p=0.5)
        assert y.dtype == torch.bfloat16
        y.float().square().sum().backward()
        assert scores.grad.dtype == torch.float32


refused = {
    "a probability above 1": (dict(dropout_p=1.5), ValueError, "dropout_p must be from 0 to 1, was 1.5"),
    "a probability below 0": (dict(dropout_p=-0.1), ValueError, "dropout_p must be from 0 to 1, was -0.1"),
    "no number": (dict(dropout_p=math.nan), ValueError, "dropout_p must be from 0 to 1"),
    "a tensor": (dict(dropout_p=torch.tensor(0.5)), TypeError, "dropout_p must be a number, was of type Tensor"),
    "one above 1 where nobody trains": (dict(dropout_p=1.5, training=False), ValueError, "dropout_p must be from 0 to 1"),
}


@pytest.mark.parametrize("name", refused)
def test_wrong_probabilities_are_refused_by_a_sentence(name):
    arguments, error, sentence = refused[name]
    with pytest.raises(error, match=sentence):
        scaled_mask_softmax(torch.randn(2, 3, 4, 5), **arguments)
    with pytest.raises(error, match=sentence):
        FusedScaleMaskSoftmax(dropout_p=arguments["dropout_p"])


def test_wrong_calls_of_the_operator_are_refused_by_a_sentence():
    scores, seed = torch.randn(3, 4), seed_of("cpu")
    for where in ("cpu", "meta"):
        with pytest.raises(ValueError, match="dropout_p must be from 0 to 1, was 2"):
            dropout(scores.to(where), seed.to(where), 2.0)
    with pytest.raises(ValueError, match="seed must have two numbers"):
        dropout(scores, seed[:1], 0.5)
    with pytest.raises(TypeError, match="seed must be int64"):
        dropout(scores, seed.int(), 0.5)
    with pytest.raises(ValueError, match="lse must have one number for each row"):
        dropout_backward(scores, scores, torch.zeros(4), seed, 0.5)
    with pytest.raises(ValueError, match="grad must have the shape of scores"):
        dropout_backward(scores[:2], scores, torch.zeros(3), seed, 0.5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("has_masks", [False, True])
def test_opcheck(has_masks, dtype, device):
    scores, seed = torch.randn(2, 4, 3, 11, device=device).to(dtype)[..., 1:9].transpose(1, 2), seed_of(device)
    named = dict(mask=torch.rand(2, 1, 1, 8, device=device) < 0.7, bias=torch.randn(8, device=device, requires_grad=True), diagonal=1) if has_masks else {}
    torch.library.opcheck(dropout.default, (scores.detach().requires_grad_(), seed, 0.5), named)
    if has_masks:
        named["bias"] = named["bias"].detach()
    y, lse = dropout(scores, seed, 0.5, **named)
    for of_bias in (False, True):
        torch.library.opcheck(dropout_backward.default, (torch.randn_like(y), scores, lse, seed, 0.5), dict(**named, of_bias=of_bias))


def test_compile_draws_and_both_passes_agree(device):
    def probabilities(x):
        return scaled_mask_softmax(x, dropout_p=0.5, mask_type="causal")

    compiled = torch.compile(probabilities, fullgraph=True, dynamic=True)
    for shape in ((3, 40, 40), (2, 20, 30)):
        scores = torch.randn(shape, device=device, requires_grad=True)
        torch.manual_seed(1)
        y = compiled(scores)
        other = compiled(scores)
        torch.manual_seed(1)
        assert torch.equal(compiled(scores), y) and not torch.equal(other, y)
        exact = scores.detach().double().requires_grad_()
        expected = reference.scaled_mask_softmax(exact, mask_type="causal") * (y.detach() != 0) * 2
        check(y, expected, torch.float32, 4)
        incoming = torch.randn_like(y)
        check(torch.autograd.grad(y, scores, incoming)[0], torch.autograd.grad(expected, exact, incoming.double())[0], torch.float32, 8)


def test_export_draws(device):
    class Probabilities(torch.nn.Module):
        def forward(self, x):
            return scaled_mask_softmax(x, dropout_p=0.5)

    program = torch.export.export(Probabilities(), (torch.randn(3, 40, device=device),))
    x = torch.randn(3, 40, device=device)
    y, other = program.module()(x), program.module()(x)
    kept = y != 0
    torch.testing.assert_close(y, 2 * torch.softmax(x, -1) * kept)
    assert not torch.equal(kept, other != 0)


def test_replays_of_a_cuda_graph_differ():
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU here")
    scores = torch.randn(2, 3, 50, 70, device="cuda").requires_grad_()
    incoming = torch.randn(2, 3, 50, 70, device="cuda")
    torch.autograd.grad(torch.softmax(scores, -1), scores, incoming)  # PyTorch's own first backward sets itself up
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = scaled_mask_softmax(scores, dropout_p=0.5)
        [gradient] = torch.autograd.grad(y, scores, incoming)
    exact = scores.detach().double().requires_grad_()
    seen = []
    for _ in range(3):
        graph.replay()
        kept = y != 0
        expected = reference.scaled_mask_softmax(exact) * kept * 2
        check(y, expected, torch.float32, 4)
        check(gradient, torch.autograd.grad(expected, exact, incoming.double())[0], torch.float32, 8)
        seen.append(kept)
    assert not torch.equal(seen[0], seen[1]) and not torch.equal(seen[1], seen[2])


def test_the_gpu_drops_what_the_cpu_drops():
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU here")
    for cols in (1, 7, 100, 1024, 5000, 40000):
        assert torch.equal(kept_of((5, cols), seed_of("cpu"), 0.3), kept_of((5, cols), seed_of("cuda"), 0.3).cpu())


def test_the_module_drops_in_training_alone(device):
    module = FusedScaleMaskSoftmax(attn_mask_type="causal", scale=0.3, dropout_p=0.5)
    scores = torch.randn(2, 3, 16, 24, device=device)
    plain = scaled_mask_softmax(scores, scale=0.3, mask_type="causal")
    assert torch.equal(module.eval()(scores), plain)
    torch.manual_seed(1)
    y = module.train()(scores)
    torch.manual_seed(1)
    assert torch.equal(y, scaled_mask_softmax(scores, scale=0.3, mask_type="causal", dropout_p=0.5))
    torch.testing.assert_close(y, 2 * plain * (y != 0))
    assert not torch.equal(y, module(scores)) and "dropout_p=0.5" in repr(module)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_tiny_gpt_learns_with_dropout(dtype, device):
    def with_dropout(scores, padded):
        return scaled_mask_softmax(scores, head_dim=head_dim, mask_type="causal", dropout_p=0.1)

    whole, again, without = losses(with_dropout, device, 50, dtype), losses(with_dropout, device, 10, dtype), losses(causal_of_smx, device, 2, dtype)
    assert whole[-1] < whole[0] - 1
    assert whole[:10] == again and whole[:2] != without
