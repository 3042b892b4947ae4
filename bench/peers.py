#!/usr/bin/env python3
"""Measures what else does scaled mask softmax, on the shapes of bars and in the same way, and writes what bars shows beside its own numbers.

    peers.py [--list] [--peers=torch,cudnn,cub,compile] [--filter=REGEX] [--limit=540] [--out=FILE [--add]] [--all=FILE]

torch      PyTorch's own kernels, one after another: scale, mask, softmax; without a mask, softmax alone
cudnn      cudnnSoftmaxForward, ACCURATE: neither scale nor mask
cub        scale and mask, segmented reductions, normalize: peers/cub.cu, which nvcc compiles first
compile    what `torch` does, under torch.compile

Each peer is a process with a copy of its own, and shares are of that: events around each of 15 calls, the median, a pause of 0.3 s before; the
faster of two such rounds. Few rows run in a graph that goes round four times the L2, beside the fastest copy in such a graph. What is not
installed is left out, with a sentence; so is what a peer refuses. --out writes the fastest peer of each case as bars reads it, --add keeps from
that file what is faster or was not measured, --all writes every peer's line. --try runs small rows once, on the CPU too, and times nothing.
"""
import argparse
import ctypes
import dataclasses
import datetime
import math
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
DTYPES = {"half": 2, "bfloat16": 2, "float": 4}
COLUMNS = [2048, 32, 128, 512, 1024, 4096, 8192, 16384, 32768, 131072, 64, 200, 256, 500, 1000, 1023, 2047, 2050, 10000, 65536, 262144]
MASKED_COLUMNS = [32, 128, 500, 512, 1023, 2050, 8192, 32768, 131072]
MASKS = {"none": "", "causal": "c", "flags": "f", "bias": "b", "causal+lengths+flags": "clf", "causal+bias": "cb", "bias+flags": "bf",
         "all": "clfb"}
MOST_BATCHES = 64


@dataclasses.dataclass(frozen=True)
class Case:
    """A case of bars by its name, and the shape that bars gives it."""
    name: str
    kind: str  # dense, article, masked, decode or small
    dtype: str
    mask: str  # letters: causal, lengths, flags, bias
    batch: int
    heads: int
    queries: int
    keys: int

    @property
    def rows(self):
        return self.batch * self.heads * self.queries

    @property
    def bytes(self):
        return self.rows * self.keys * DTYPES[self.dtype]

    @property
    def in_graph(self):
        return self.kind in ("decode", "small")

    def lengths(self):
        return [self.keys - self.keys * (b % 16) // 16 for b in range(self.batch)]

    def floor_bytes(self):
        """What the masks' structure lets a row see, read once; masks that rows share, once; all of y."""
        size = DTYPES[self.dtype]
        if not self.mask:
            return 2 * self.bytes
        scores = flags = biases = 0
        lengths = self.lengths() if "l" in self.mask else [self.keys] * self.batch
        for q in range(self.queries) if "c" in self.mask else [self.keys]:
            seen = [min(q + 1, length) for length in lengths]
            times = 1 if "c" in self.mask else self.queries
            scores += times * sum(seen) * self.heads
            flags += times * sum(seen) if "f" in self.mask else 0
            biases += times * max(seen) if "b" in self.mask else 0
        return (scores + biases) * size + flags + self.bytes


def all_cases(megabytes):
    cases = []
    for dtype, size in DTYPES.items():
        elements = (megabytes << 20) // size
        article = max(1, min(MOST_BATCHES, elements // (32 * 2048 * 2048)))
        cases += [Case(f"article/{dtype}/{name}", "article", dtype, mask, article, 32, 2048, 2048) for name, mask in MASKS.items()]
        cases += [Case(f"dense/{dtype}/{cols}", "dense", dtype, "", 1, 1, elements // cols, cols) for cols in COLUMNS]
        cases += [Case(f"decode/{dtype}/{rows}x{cols}", "decode", dtype, "", 1, 1, rows, cols) for cols in (4096, 32768, 131072)
                  for rows in (32, 64, 256)]
    elements = (megabytes << 20) // 2
    for name in ("none", "causal", "flags", "bias"):
        cases.append(Case(f"small/half/{name}", "small", "half", MASKS[name], 1, 12, 128, 128))
    for name in ("causal", "flags", "bias"):
        for cols in MASKED_COLUMNS:
            queries = min(cols, elements // cols) if name == "causal" else max(1, elements // (32 * cols))
            heads = max(1, elements // (cols * queries)) if name == "causal" else 32
            cases.append(Case(f"{name}/half/{cols}", "masked", "half", MASKS[name], 1, heads, queries, cols))
    return cases


class LeftOut(Exception):
    """Why a peer, or a case of it, is not measured."""


# What runs in a peer's own process.


class Masks:
    """The masks of a case as tensors, True = hidden as PyTorch has it; `hides` may be computed from indices instead."""

    def __init__(self, torch, case, device):
        self.flags = self.bias = self.lengths = self.hides = None
        kind = dtype_of(torch, case.dtype)
        if "f" in case.mask:
            self.flags = torch.rand(case.batch, 1, case.queries, case.keys, device=device) <= 0.5
        if "b" in case.mask:
            self.bias = torch.randn(1, 1, case.queries, case.keys, device=device).to(kind)
        if "l" in case.mask:
            self.lengths = torch.tensor(case.lengths(), device=device).view(-1, 1, 1, 1)
        self.causal = "c" in case.mask
        parts = [] if self.flags is None else [~self.flags]
        parts += [hidden_by_place(torch, case, device, self.causal, self.lengths)] if self.causal or self.lengths is not None else []
        for part in parts:
            self.hides = part if self.hides is None else self.hides | part


def hidden_by_place(torch, case, device, causal, lengths):
    key = torch.arange(case.keys, device=device)
    hides = key > torch.arange(case.queries, device=device).view(-1, 1) if causal else None
    if lengths is not None:
        hides = key >= lengths if hides is None else hides | (key >= lengths)
    return hides


def dtype_of(torch, name):
    return {"half": torch.float16, "bfloat16": torch.bfloat16, "float": torch.float32}[name]


class Torch:
    """Scale, mask, softmax, each a kernel."""
    name = "torch"

    def __init__(self, torch, device):
        self.torch = torch

    def prepare(self, case, masks, x, y):
        torch = self.torch

        def call(x, y):
            if not case.mask:
                return torch.softmax(x, -1)
            scores = x * 1.0
            if masks.bias is not None:
                scores = scores + masks.bias
            if masks.hides is not None:
                scores = scores.masked_fill(masks.hides, -math.inf)
            return torch.softmax(scores, -1)
        return call


class Compile:
    """The same in one function, whose hidden places are computed; a factor that no compiler can leave out."""
    name = "compile"

    def __init__(self, torch, device):
        self.torch, self.device = torch, device

    def prepare(self, case, masks, x, y):
        torch, device = self.torch, self.device
        flags, bias, lengths, causal = masks.flags, masks.bias, masks.lengths, masks.causal

        def softmax(x, factor):
            scores = x * factor
            if bias is not None:
                scores = scores + bias
            if flags is not None:
                scores = scores.masked_fill(~flags, -math.inf)
            if causal or lengths is not None:
                scores = scores.masked_fill(hidden_by_place(torch, case, device, causal, lengths), -math.inf)
            return torch.softmax(scores, -1)
        torch._dynamo.reset()
        compiled = torch.compile(softmax, dynamic=False)
        factor = torch.ones((), dtype=x.dtype, device=device)
        return lambda x, y: compiled(x, factor)


class Cudnn:
    """Descriptors of rows x columns x 1 x 1, softmax over the columns."""
    name = "cudnn"

    def __init__(self, torch, device):
        if device != "cuda":
            raise LeftOut("it needs a GPU")
        self.torch = torch
        try:
            self.library = ctypes.CDLL("libcudnn.so.9")
        except OSError as problem:
            raise LeftOut(f"it is not installed: {problem}") from None
        self.handle = ctypes.c_void_p()
        self.must(self.library.cudnnCreate(ctypes.byref(self.handle)))

    def must(self, status):
        if status != 0:
            self.library.cudnnGetErrorString.restype = ctypes.c_char_p
            raise LeftOut(self.library.cudnnGetErrorString(status).decode())

    def prepare(self, case, masks, x, y):
        if case.mask:
            raise LeftOut("it takes no mask")
        packed_rows, accurate, of_instance = 0, 1, 0  # CUDNN_TENSOR_NCHW, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE
        element = {"float": 0, "half": 2, "bfloat16": 9}[case.dtype]
        shape = ctypes.c_void_p()
        self.must(self.library.cudnnCreateTensorDescriptor(ctypes.byref(shape)))
        self.must(self.library.cudnnSetTensor4dDescriptor(shape, packed_rows, element, case.rows, case.keys, 1, 1))
        one, zero = ctypes.c_float(1), ctypes.c_float(0)

        def call(x, y):
            stream = self.torch.cuda.current_stream().cuda_stream
            self.must(self.library.cudnnSetStream(self.handle, ctypes.c_void_p(stream)))
            self.must(self.library.cudnnSoftmaxForward(self.handle, accurate, of_instance, ctypes.byref(one), shape, ctypes.c_void_p(x.data_ptr()),
                                                       ctypes.byref(zero), shape, ctypes.c_void_p(y.data_ptr())))
            return y
        return call


class Cub:
    name = "cub"

    def __init__(self, torch, device):
        if device != "cuda":
            raise LeftOut("it needs a GPU")
        nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
        if nvcc is None:
            raise LeftOut("it needs nvcc, which is not on PATH")
        self.torch = torch
        major, minor = torch.cuda.get_device_capability()
        with tempfile.TemporaryDirectory() as folder:
            library = pathlib.Path(folder) / "libcub_softmax.so"
            command = [nvcc, "-std=c++17", "-O3", f"-arch=sm_{major}{minor}", "-Xcompiler=-fPIC", "-shared", "-o", str(library),
                       str(HERE / "peers" / "cub.cu")]
            made = subprocess.run(command, capture_output=True, text=True)
            if made.returncode != 0:
                raise LeftOut("nvcc could not compile it: " + (made.stderr.strip().splitlines() or [""])[0])
            self.softmax = ctypes.CDLL(str(library)).cub_softmax

    def prepare(self, case, masks, x, y):
        if "l" in case.mask:
            raise LeftOut("its kernel for masks has no lengths")
        element = {"half": 0, "bfloat16": 1, "float": 2}[case.dtype]
        needed = ctypes.c_size_t(0)

        def start(workspace, x, y, stream):
            def pointer(tensor):
                return ctypes.c_void_p(None if tensor is None else tensor.data_ptr())
            return self.softmax(pointer(workspace), ctypes.byref(needed), element, pointer(x), pointer(y), *map(ctypes.c_longlong, (case.rows, case.heads, case.queries, case.keys)),
                                ctypes.c_float(1), pointer(masks.flags), pointer(masks.bias), int(masks.causal), ctypes.c_void_p(stream))
        if start(None, x, y, 0) != 0:
            raise LeftOut("CUB refuses the shape")
        workspace = self.torch.empty(needed.value, dtype=self.torch.uint8, device=x.device)

        def call(x, y):
            error = start(workspace, x, y, self.torch.cuda.current_stream().cuda_stream)
            if error != 0:
                raise LeftOut(f"CUDA error {error}")
            return y
        return call


PEERS = {peer.name: peer for peer in (Torch, Cudnn, Cub, Compile)}


class Stopwatch:
    def __init__(self, torch):
        self.torch = torch

    def seconds(self, launch, calls=1, launches=15, rounds=2):
        cuda = self.torch.cuda
        best = math.inf
        for _ in range(rounds):
            time.sleep(0.3)
            for _ in range(3):
                launch()
            cuda.synchronize()
            marks = [cuda.Event(enable_timing=True) for _ in range(launches + 1)]
            cuda._sleep(20_000_000)  # cycles, some 10 ms: a head start for the host
            marks[0].record()
            for mark in marks[1:]:
                launch()
                mark.record()
            cuda.synchronize()
            best = min(best, statistics.median(a.elapsed_time(b) for a, b in zip(marks, marks[1:])))
        return best * 1e-3 / calls

    def in_graph(self, call, calls, keep):
        """Seconds of one of `calls` calls; what they give is kept apart, or each writes where the one before did."""
        cuda = self.torch.cuda
        side = cuda.Stream()
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            for i in range(min(3, calls)):
                call(i)
        cuda.current_stream().wait_stream(side)
        graph, kept = cuda.CUDAGraph(), []
        with cuda.graph(graph):
            for i in range(calls):
                result = call(i)
                if keep:
                    kept.append(result)
        return self.seconds(graph.replay, calls)


class Bench:
    """The tensors of a process, and the copy that its shares are of."""

    def __init__(self, torch, device, megabytes, small):
        self.torch, self.device, self.small = torch, device, small
        self.watch = Stopwatch(torch)
        self.bytes = megabytes << 20
        self.x = torch.empty(self.bytes, dtype=torch.uint8, device=device)
        self.y = torch.empty_like(self.x)
        self.x.view(torch.int32).random_()  # zeros are cheaper to move
        self.filled = None
        self.copies = {}
        self.copy = math.nan if small else 2 * self.bytes / min(self.watch.seconds(lambda way=way: way(self.x, self.y)) for way in self.ways())

    def ways(self):
        """Plain copies: the driver's, and a kernel that reads and writes every word once."""
        return [lambda x, y: y.copy_(x), lambda x, y: self.torch.neg(x.view(self.torch.int32), out=y.view(self.torch.int32))]

    def tensors(self, case):
        kind = dtype_of(self.torch, case.dtype)
        if self.filled != kind:
            self.x.view(kind).normal_(0, 1.8)
            self.filled = kind
        shape = (case.batch, case.heads, case.queries, case.keys)
        count = case.rows * case.keys

        def at(i):
            return tuple(t.view(kind)[i * count:(i + 1) * count].view(shape) for t in (self.x, self.y))
        return at

    def check(self, case, masks, x, y):
        """The last matrix's first and last rows against softmax in double: what rounds scores to 16 bits is off by percents."""
        picked = [0, case.queries - 1]
        scores = x[-1:, -1:, picked].double()
        if masks.bias is not None:
            scores = scores + masks.bias[:, :, picked].double()
        if masks.hides is not None:
            hides = masks.hides[-1:] if masks.hides.dim() == 4 else masks.hides
            scores = scores.masked_fill(hides[..., picked, :], -math.inf)
        expected = self.torch.softmax(scores, -1)
        if not self.torch.allclose(y[-1:, -1:, picked].double(), expected, rtol=0.05, atol=1e-6, equal_nan=True):
            raise LeftOut("it gives something else")

    def measure(self, peer, case):
        """(seconds, share of copy or None)"""
        torch = self.torch
        if case.bytes > self.bytes:
            raise LeftOut("such rows do not fit: more --megabytes")
        at = self.tensors(case)
        masks = Masks(torch, case, self.device)
        x, y = at(0)
        call = peer.prepare(case, masks, x, y)
        self.check(case, masks, x, call(x, y))
        if self.small:
            return math.nan, None
        if not case.in_graph:
            seconds = self.watch.seconds(lambda: call(x, y))
            return seconds, case.floor_bytes() / seconds / self.copy
        if case.kind == "small":
            return self.watch.in_graph(lambda i: call(x, y), 200, keep=False), None
        l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        calls = min(max(8, 4 * l2_bytes // (2 * case.bytes) + 1), self.bytes // case.bytes)
        if case.bytes not in self.copies:
            flat = [[t.view(-1).view(torch.uint8) for t in at(i)] for i in range(calls)]
            self.copies[case.bytes] = min(self.watch.in_graph(lambda i, way=way: way(*flat[i]), calls, keep=False) for way in self.ways())
        seconds = self.watch.in_graph(lambda i: call(*at(i)), calls, keep=True)
        return seconds, self.copies[case.bytes] / seconds


def work(name, cases, megabytes, limit, small):
    """Measures one peer; a line on stdout for each case as soon as it is done."""
    end = time.monotonic() + limit
    try:
        import torch
    except ImportError as problem:
        print(f"left out,{name}: PyTorch cannot be imported, which times every peer: {problem}", flush=True)
        return
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not small:
        print(f"left out,{name}: PyTorch finds no GPU", flush=True)
        return
    try:
        peer = PEERS[name](torch, device)
        bench = Bench(torch, device, megabytes, small)
    except LeftOut as why:
        print(f"left out,{name}: {why}", flush=True)
        return
    gpu = torch.cuda.get_device_name() if device == "cuda" else "no GPU"
    print(f"run,{gpu},{bench.copy * 1e-9:.0f},{torch.__version__}", flush=True)
    for i, case in enumerate(cases):
        if time.monotonic() > end:
            print(f"left out,{name}: {len(cases) - i} cases, from {case.name} on: the time was up", flush=True)
            return
        try:
            seconds, share = bench.measure(peer, case)
            print(f"case,{case.name},{seconds * 1e6:.3f},{'' if share is None else format(share, '.4f')}", flush=True)
            print(f"[{i + 1}/{len(cases)}] {name} {case.name}: {seconds * 1e6:.2f} µs" + ("" if share is None else f", {share:.3f}"), file=sys.stderr)
        except LeftOut as why:
            print(f"left out,{name} {case.name}: {why}", flush=True)
        except Exception as problem:  # a peer's failure is its own, whatever its type
            first = (str(problem).strip().splitlines() or [""])[0][:160]
            print(f"left out,{name} {case.name}: {type(problem).__name__}: {first}", flush=True)
            if "CUDA error" in str(problem) or "illegal" in str(problem):
                print(f"left out,{name}: the cases after {case.name}: the GPU's context is lost", flush=True)
                return


# What runs in the process that starts them.


def run_peer(name, options, limit):
    """The lines of a peer's process, which gets no more than its time."""
    command = [sys.executable, "-B", str(pathlib.Path(__file__).resolve()), f"--work={name}", f"--limit={limit:.0f}", f"--filter={options.filter}",
               f"--megabytes={options.megabytes}"] + (["--try"] if options.small else [])
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=said, start_new_session=True)
        late = False
        try:
            code = process.wait(timeout=limit + 60)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            late = True
            os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        said.seek(0)
        lines = said.read().splitlines()
    if late:
        lines.append(f"left out,{name}: what is not listed: it did not end in time")
    elif code != 0:
        lines.append(f"left out,{name}: what is not listed: its process ended with {code}")
    return lines


HEADER = "case,peer,microseconds,share,gpu,date"


def csv_line(found, every):
    """Times of large tensors depend on how large: bars shows them for those of one size alone."""
    microseconds = found["microseconds"] if every or found["case"].split("/")[0] in ("decode", "small") else ""
    return ",".join([found["case"], found["peer"], microseconds, found["share"], found["gpu"], found["date"]])


def is_faster(a, b):
    if a["share"] and b["share"]:
        return float(a["share"]) > float(b["share"])
    return float(a["microseconds"] or "inf") < float(b["microseconds"] or "inf")


def known_lines(path):
    if not path.exists():
        return []
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#") and line != HEADER]
    return [dict(zip(HEADER.split(","), line.split(","))) for line in lines]


def remarks_of(path):
    return [line for line in path.read_text().splitlines() if line.startswith("#")] if path.exists() else []


def write(path, lines, remarks):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*remarks, HEADER, *lines]) + "\n")
    print(f"{path}: {len(lines)} lines")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--filter", default="")
    parser.add_argument("--limit", type=float, default=540, help="seconds for all of them")
    parser.add_argument("--megabytes", type=int, default=512, help="of x, and of y")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--all", type=pathlib.Path)
    parser.add_argument("--add", action="store_true")
    parser.add_argument("--try", action="store_true", dest="small")
    parser.add_argument("--work", choices=list(PEERS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.small:
        options.megabytes = 4
    cases = [case for case in all_cases(options.megabytes) if re.search(options.filter, case.name)]
    if options.small:  # the least of each shape that a CPU has done with at once
        cases = [dataclasses.replace(case, batch=min(case.batch, 2), heads=min(case.heads, 2), queries=min(case.queries, 8), keys=min(case.keys, 64))
                 for case in cases]
    if options.work:
        work(options.work, cases, options.megabytes, options.limit, options.small)
        return 0
    names = options.peers.split(",")
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        parser.error(f"no such peer: {', '.join(unknown)}; there are {', '.join(PEERS)}")
    if options.list:
        for case in cases:
            print(f"{case.name:40} {case.batch} x {case.heads} x {case.queries} x {case.keys}, at least {case.floor_bytes() / 1e6:.1f} MB")
        return 0

    end = time.monotonic() + options.limit
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    found, copies = [], []
    for name in names:
        left = end - time.monotonic()
        if left < 10:
            print(f"left out: {name}: the time was up")
            continue
        gpu = ""
        for line in run_peer(name, options, left):
            kind, _, rest = line.partition(",")
            if kind == "run":
                gpu, copy, version = rest.split(",")
                copies.append(f"{name} {copy} GB/s (torch {version})")
            elif kind == "case":
                case, microseconds, share = rest.split(",")
                found.append({"case": case, "peer": name, "microseconds": microseconds, "share": share, "gpu": gpu, "date": date})
            elif kind == "left out":
                print(f"left out: {rest}")
    if options.small:
        print(f"{len(found)} cases tried")
        return 0
    remark = f"# {date}, shares of the copy of the same process: " + ", ".join(copies) + "."
    if options.all and found:
        write(options.all, [csv_line(line, every=True) for line in found], [remark])
    if options.out and found:
        best = {}
        for line in (known_lines(options.out) if options.add else []) + found:
            if line["case"] not in best or is_faster(line, best[line["case"]]):
                best[line["case"]] = line
        write(options.out, [csv_line(line, every=False) for line in best.values()],
              (remarks_of(options.out) if options.add else []) + [remark])
    if not found:
        print("nothing was measured")
    return 0


if __name__ == "__main__":
    sys.exit(main())
