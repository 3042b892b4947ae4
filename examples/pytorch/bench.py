#!/usr/bin/env python3
"""Measures smx_torch beside PyTorch's own operators, torch.compile and the math path of scaled_dot_product_attention, all in one run on one GPU.

    bench.py [--out=FOLDER] [--filter=REGEX] [--try] [--from=bench.json]

Three tables: the operator (scores in, probabilities out), forward and forward with backward, against the same written with PyTorch's operators, as it is
and compiled; attention (queries, keys and values in), with smx between the two products, against scaled_dot_product_attention's math path; and what a
call costs from Python. A time is the median of 15 samples, each of as many calls as take 2 ms, which wait behind a kernel that sleeps until all of
them are queued. Memory is the peak during a call beyond what was there before, results included.
FOLDER gets bench.json, bench.md and, where there is matplotlib, bench.svg; --from writes the latter two again from the first. --try runs tiny shapes, on the CPU where there is no GPU, and times nothing worth keeping.
"""
import argparse
import dataclasses
import datetime
import json
import math
import pathlib
import re
import statistics
import sys
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.append(str(pathlib.Path(__file__).resolve().parent))
import smx_torch  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    batch: int
    heads: int
    queries: int
    keys: int
    head_dim: int
    mask: str  # none, causal, padding, tensor, bias or both: causal and a tensor
    dtype: torch.dtype = torch.float16
    dropout_p: float = 0.0


cases = [
    *(Case(f"8x32x2048x2048, {mask}", 8, 32, 2048, 2048, 64, mask) for mask in ("none", "causal", "padding", "tensor", "bias", "both")),
    Case("BERT base, 32x12x128x128, padding", 32, 12, 128, 128, 64, "padding"),
    Case("BERT large, 16x16x512x512, padding", 16, 16, 512, 512, 64, "padding"),
    Case("BERT large, 16x16x512x512, tensor", 16, 16, 512, 512, 64, "tensor"),
    Case("GPT-2, 8x12x1024x1024, causal", 8, 12, 1024, 1024, 64, "causal"),
    Case("GPT-2, 8x12x1024x1024, causal, dropout", 8, 12, 1024, 1024, 64, "causal", dropout_p=0.1),
    Case("BERT large, 16x16x512x512, padding, dropout", 16, 16, 512, 512, 64, "padding", dropout_p=0.1),
    Case("GPT-2, 8x12x1024x1024, both", 8, 12, 1024, 1024, 64, "both"),
    Case("Llama, 1x32x4096x4096 of bfloat16, causal", 1, 32, 4096, 4096, 128, "causal", torch.bfloat16),
    Case("decode, 64x32x1x4096, none", 64, 32, 1, 4096, 128, "none"),
    Case("decode, 64x32x1x4096, padding", 64, 32, 1, 4096, 128, "padding"),
]


class Masks:
    """The mask of a case as smx takes it, and as PyTorch does."""

    def __init__(self, case, device):
        self.arguments = {}
        self.visible = self.hidden = self.bias = None
        if case.mask == "padding":
            lengths = torch.arange(case.batch, device=device, dtype=torch.int32) % 4 * case.keys // 8 + case.keys // 2
            self.arguments = dict(mask_type="padding", lengths=lengths)
            self.visible = (torch.arange(case.keys, device=device) < lengths[:, None])[:, None, None]
        if case.mask in ("tensor", "both"):
            self.visible = torch.rand(case.batch, 1, case.queries, case.keys, device=device) < 0.9
            self.visible[..., 0] = True  # a row that sees nothing is NaN to PyTorch's operators
            self.arguments = dict(mask=self.visible)
        if case.mask == "bias":
            self.bias = torch.randn(1, case.heads, case.queries, case.keys, device=device).to(case.dtype)
            self.arguments = dict(bias=self.bias)
        if case.mask in ("causal", "both"):
            causal = torch.ones(case.queries, case.keys, dtype=torch.bool, device=device).tril(case.keys - case.queries)
            self.visible = causal if self.visible is None else causal & self.visible
            self.arguments["mask_type"] = "causal"
        if self.visible is not None:
            self.hidden = ~self.visible

    def for_attention(self):
        return self.bias if self.visible is None else self.visible


def with_operators(scores, scale, hidden, bias, dropout_p=0.0):
    x = scores * scale
    if bias is not None:
        x = x + bias
    if hidden is not None:
        x = x.masked_fill(hidden, -math.inf)
    y = torch.softmax(x, -1)
    return torch.nn.functional.dropout(y, dropout_p) if dropout_p else y


class Clock:
    def __init__(self, device, is_try):
        self.device, self.is_try = device, is_try

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def seconds(self, call):
        """The median time of a call."""
        for _ in range(3):
            call()
        self.wait()
        if self.is_try:
            return math.nan
        start = time.perf_counter()
        call()
        self.wait()
        once = time.perf_counter() - start
        calls = max(1, min(50, round(2e-3 / once)))
        samples = []
        for _ in range(15):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda._sleep(calls * 600_000)  # 0.3 ms a call: until Python has queued them
            begin.record()
            for _ in range(calls):
                call()
            end.record()
            self.wait()
            samples.append(begin.elapsed_time(end) / 1e3 / calls)
        return statistics.median(samples)

    def bytes(self, call):
        """The peak of a call's memory, beyond what was there."""
        if self.device != "cuda":
            return 0
        call()
        self.wait()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        result = call()
        self.wait()
        peak = torch.cuda.max_memory_allocated() - before
        del result
        return peak


def measured(clock, forward, inputs):
    """Time and memory of forward(*inputs), and of it with backward."""
    result = {}
    with torch.no_grad():
        result["forward"] = clock.seconds(lambda: forward(*inputs))
        result["forward_bytes"] = clock.bytes(lambda: forward(*inputs))
        incoming = torch.randn_like(forward(*inputs))
    leaves = [x.detach().requires_grad_() for x in inputs]

    def both():
        return torch.autograd.grad(forward(*leaves), leaves, incoming)

    result["both"] = clock.seconds(both)
    result["both_bytes"] = clock.bytes(both)
    return result


def operator(case, clock, device):
    masks = Masks(case, device)
    scale = case.head_dim ** -0.5
    scores = torch.randn(case.batch, case.heads, case.queries, case.keys, device=device).to(case.dtype)
    torch._dynamo.reset()
    compiled = torch.compile(with_operators)
    ways = {
        "smx": lambda x: smx_torch.scaled_mask_softmax(x, scale=scale, dropout_p=case.dropout_p, **masks.arguments),
        "operators": lambda x: with_operators(x, scale, masks.hidden, masks.bias, case.dropout_p),
        "compiled": lambda x: compiled(x, scale, masks.hidden, masks.bias, case.dropout_p),
    }
    if not case.dropout_p:
        torch.testing.assert_close(ways["smx"](scores), ways["operators"](scores), rtol=1e-2, atol=1e-2)
    return {name: measured(clock, way, [scores]) for name, way in ways.items()}


def attention(case, clock, device):
    masks = Masks(case, device)
    q, k, v = (torch.randn(case.batch, case.heads, length, case.head_dim, device=device).to(case.dtype) for length in (case.queries, case.keys, case.keys))

    def by_smx(q, k, v):
        return smx_torch.scaled_mask_softmax(q @ k.transpose(-1, -2), head_dim=case.head_dim, dropout_p=case.dropout_p, **masks.arguments) @ v

    def by_math(q, k, v):
        with sdpa_kernel(SDPBackend.MATH):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=masks.for_attention(), dropout_p=case.dropout_p)

    return {"smx": measured(clock, by_smx, [q, k, v]), "math": measured(clock, by_math, [q, k, v])}


def calls(clock, device):
    """Microseconds of Python's time for one call that is not waited for."""
    scores = torch.randn(1, 2, 8, 64, device=device).half()
    leaf = scores.clone().requires_grad_()
    visible = torch.ones(8, 64, dtype=torch.bool, device=device)
    ways = {
        "smx_torch.scaled_mask_softmax, without grad": (scores, lambda x: smx_torch.scaled_mask_softmax(x, visible, head_dim=64)),
        "smx_torch.scaled_mask_softmax, with grad": (leaf, lambda x: smx_torch.scaled_mask_softmax(x, visible, head_dim=64)),
        "smx_torch.scaled_mask_softmax with dropout, with grad": (leaf, lambda x: smx_torch.scaled_mask_softmax(x, visible, head_dim=64, dropout_p=0.1)),
        "torch.ops.smx.scaled_mask_softmax, without grad": (scores, lambda x: torch.ops.smx.scaled_mask_softmax.default(x, visible, None, None, 0.125)),
        "torch.softmax, without grad": (scores, lambda x: torch.softmax(x, -1)),
        "PyTorch's operators, without grad": (scores, lambda x: with_operators(x, 0.125, ~visible, None)),
    }
    result = {}
    for name, (x, way) in ways.items():
        samples = []
        for _ in range(3 if clock.is_try else 15):
            clock.wait()
            start = time.perf_counter()
            for _ in range(200):
                way(x)
            samples.append((time.perf_counter() - start) / 200 * 1e6)
        result[name] = statistics.median(samples)
    return result


def table(title, rows, headers):
    lines = [f"**{title}**", "", "| " + " | ".join(headers) + " |", "|---" * len(headers) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def as_markdown(report):
    def row(name, ways, key, order):
        best = min(way[key] for way in ways.values())
        times = [f"**{ways[way][key] * 1e6:.1f}**" if ways[way][key] == best else f"{ways[way][key] * 1e6:.1f}" for way in order]
        return [name, *times, *(f"{ways[way][key + '_bytes'] / 2**20:.0f}" for way in order)]

    parts = [f"{report['device']}, PyTorch {report['torch']}, CUDA {report['cuda']}, {report['date']}. Microseconds, the fastest in bold; MiB.\n"]
    for kind, order in (("operator", ["smx", "operators", "compiled"]), ("attention", ["smx", "math"])):
        for key, what in (("forward", "forward"), ("both", "forward and backward")):
            names = {"smx": "smx", "operators": "operators", "compiled": "torch.compile", "math": "math path"}
            headers = [what, *(f"{names[way]}, us" for way in order), *(f"{names[way]}, MiB" for way in order)]
            parts.append(table(f"{kind}, {what}", [row(name, ways, key, order) for name, ways in report[kind].items()], headers))
    parts.append(table("a call from Python", [[name, f"{us:.1f}"] for name, us in report["calls"].items()], ["call", "us"]))
    return "\n".join(parts)


def draw(report, file):
    """Times of the operator by PyTorch, as multiples of smx's."""
    try:
        import matplotlib
    except ImportError:
        print("left out: the picture needs matplotlib")
        return
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "smx", "font.size": 9})
    import matplotlib.pyplot as plt

    names = list(report["operator"])
    figure, axes = plt.subplots(1, 2, figsize=(11, 0.4 * len(names) + 1.2), sharey=True)
    for ax, key, title in zip(axes, ("forward", "both"), ("forward", "forward and backward")):
        for place, (way, label, colour) in enumerate((("operators", "PyTorch's operators", "#777777"), ("compiled", "torch.compile", "#0072b2"))):
            times = [report["operator"][name][way][key] / report["operator"][name]["smx"][key] for name in names]
            ax.barh([i + 0.35 * place for i in range(len(names))], times, 0.35, label=label, color=colour)
        ax.axvline(1, color="#d55e00", label="smx")
        ax.set_title(title)
        ax.set_xlabel("time, smx = 1")
        ax.set_yticks([i + 0.175 for i in range(len(names))], names)
    axes[0].invert_yaxis()
    axes[1].legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def keep(report, folder):
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "bench.json").write_text(json.dumps(report, indent=1))


def measure(options):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not options.is_try:
        sys.exit("bench.py: PyTorch finds no GPU here; --try runs tiny shapes on the CPU")
    clock = Clock(device, options.is_try)
    report = {"device": torch.cuda.get_device_name() if device == "cuda" else "CPU", "torch": torch.__version__, "cuda": torch.version.cuda,
              "date": datetime.date.today().isoformat(), "operator": {}, "attention": {}, "calls": {}}
    keep(report, options.out)
    for case in cases:
        if not re.search(options.filter, case.name):
            continue
        if options.is_try:
            case = dataclasses.replace(case, batch=min(case.batch, 4), heads=2, queries=min(case.queries, 16), keys=24)
        print(case.name, flush=True)
        report["operator"][case.name] = operator(case, clock, device)
        report["attention"][case.name] = attention(case, clock, device)
        keep(report, options.out)  # what a run that is cut off has measured
    report["calls"] = calls(clock, device)
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--filter", default="")
    parser.add_argument("--try", dest="is_try", action="store_true")
    parser.add_argument("--from", dest="measured", type=pathlib.Path)
    options = parser.parse_args()
    report = json.loads(options.measured.read_text()) if options.measured else measure(options)
    text = as_markdown(report)
    print(text)
    keep(report, options.out)
    if options.out:
        (options.out / "bench.md").write_text(text)
        draw(report, options.out / "bench.svg")


if __name__ == "__main__":
    main()
