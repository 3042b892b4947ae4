#!/usr/bin/env python3
"""Runs softmax_npy as a user does: every option against a softmax written out here, and every kind of bad input. Then smx_demo.

    test_tool.py PATH_OF_SOFTMAX_NPY PATH_OF_SMX_DEMO
"""
import ast
import itertools
import math
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

TOOL = DEMO = None
DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
CODES = {"f2": "e", "f4": "f", "f8": "d", "b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q"}
TOLERANCE = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 1e-6, "f64": 1e-13}
NAN, INF = math.nan, math.inf


def npy(dtype, shape, data, fortran=False, version=(1, 0)):
    """The bytes of a .npy file; `shape` may be text, to write what numpy would not."""
    text = shape if isinstance(shape, str) else "(" + "".join(f"{n}," for n in shape) + ")"
    descr = dtype if dtype[0] in "<>|[=" else ("|" if dtype[1] == "1" else "<") + dtype
    descr = descr if descr[0] == "[" else repr(descr)
    header = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {text}, }}\n".encode()
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version[0] == 1 else "<I", len(header)) + header + data


def packed(dtype, values):
    return struct.pack(f"<{len(values)}{CODES[dtype]}", *values)


def save(path, dtype, shape, values):
    if dtype == "bf16":
        dtype, values = "u2", [bfloat16_bits(v) for v in values]
    path.write_bytes(npy(dtype, shape, packed(dtype, values)))


def load(path):
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    end = 10 + struct.unpack("<H", data[8:10])[0]
    assert end % 64 == 0, "elements start at a multiple of 64"
    header = ast.literal_eval(data[10:end].decode())
    assert header["fortran_order"] is False
    dtype = header["descr"][1:]
    return dtype, header["shape"], list(struct.unpack(f"<{math.prod(header['shape'])}{CODES[dtype]}", data[end:]))


def bfloat16_bits(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return 0x7FC0 if value != value else (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def bfloat16(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def rounded(kind, values):
    """The values as a file of this dtype holds them."""
    if kind == "bf16":
        return [bfloat16(bfloat16_bits(v)) for v in values]
    code = CODES[{"f16": "f2", "f32": "f4", "f64": "f8"}[kind]]
    return [struct.unpack("<" + code, struct.pack("<" + code, v))[0] for v in values]


def broadcast(shape, values, to):
    """values[index] for every index of `to`, by NumPy's rules."""
    padded = [1] * (len(to) - len(shape)) + list(shape)
    spread = []
    for index in itertools.product(*map(range, to)):
        flat = 0
        for place, extent in zip(index, padded):
            flat = flat * extent + (place if extent != 1 else 0)
        spread.append(values[flat])
    return spread


def reference(shape, scores, scale=1.0, visible=None, bias=None, empty="zeros"):
    """Probabilities and log-sum-exp in double precision."""
    keys = shape[-1]
    probabilities, log_sums = [], []
    for index in range(math.prod(shape[:-1])):
        row = []
        for i in range(index * keys, (index + 1) * keys):
            added = bias[i] if bias else 0.0
            hidden = (visible is not None and not visible[i]) or added == -INF
            row.append(-INF if hidden else scores[i] * scale + added)
        top = max((x for x in row if x == x), default=-INF)
        if any(x != x for x in row):
            probabilities += [NAN if x > -INF or x != x else 0.0 for x in row]
            log_sums.append(NAN)
        elif top == -INF:
            probabilities += [{"zeros": 0.0, "uniform": 1.0 / (keys or 1), "nan": NAN}[empty]] * keys
            log_sums.append(-INF)
        else:
            total = math.fsum(math.exp(x - top) for x in row)
            probabilities += [math.exp(x - top) / total for x in row]
            log_sums.append(top + math.log(total))
    return probabilities, log_sums


def gauss(count, seed=1, spread=1.8):
    generator = random.Random(seed)
    return [generator.gauss(0, spread) for _ in range(count)]


def flags(count, seed=2):
    generator = random.Random(seed)
    return [generator.random() < 0.6 for _ in range(count)]


class ToolTest(unittest.TestCase):
    devices = ["cpu"]

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.at = pathlib.Path(self.folder.name)
        self.out = self.at / "p.npy"

    def run_tool(self, *words):
        return subprocess.run([TOOL, *map(str, words)], cwd=self.at, capture_output=True, text=True, timeout=60, check=False)

    def succeed(self, *words):
        done = self.run_tool(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        self.assertRegex(done.stdout, r"\A\[[0-9,]*\] \w+ -> \w+(, .+)?, .+, \d+\.\d{3} ms, \d+\.\d{2} GB/s\n\Z")
        return done.stdout

    def assert_close(self, got, wanted, tolerance, hint=""):
        self.assertEqual(len(got), len(wanted), hint)
        for i, (a, b) in enumerate(zip(got, wanted)):
            same = a == b or (a != a and b != b) or abs(a - b) <= tolerance * max(1.0, abs(b))
            self.assertTrue(same, f"{hint} element {i}: {a} instead of {b}")

    def check(self, shape, *options, kind="f32", out_kind=None, scores=None, **expected):
        """Runs the tool on every device and compares both outputs with the reference."""
        scores = gauss(math.prod(shape)) if scores is None else scores
        save(self.at / "s.npy", {"f16": "f2", "f32": "f4", "f64": "f8"}.get(kind, kind), shape, scores)
        wanted, wanted_lse = reference(shape, rounded(kind, scores), **expected)
        out_kind = out_kind or kind
        for device in self.devices:
            hint = f"{device} {shape} {options}"
            line = self.succeed("--scores", "s.npy", "--out", self.out, "--lse", "e.npy", "--device", device, *options)
            self.assertIn(f" {kind} -> {out_kind}", line)
            dtype, out_shape, got = load(self.out)
            self.assertEqual((dtype, out_shape), ({"f16": "f2", "bf16": "u2", "f32": "f4", "f64": "f8"}[out_kind], tuple(shape)))
            got = list(map(bfloat16, got)) if out_kind == "bf16" else got
            self.assert_close(got, wanted, max(TOLERANCE[out_kind], 1e-13 if kind == "f64" else 1e-6), hint)
            dtype, lse_shape, lse = load(self.at / "e.npy")
            self.assertEqual((dtype, lse_shape), ("f8" if kind == "f64" else "f4", tuple(shape[:-1])))
            self.assert_close(lse, wanted_lse, 1e-13 if kind == "f64" else 2e-6, hint)

    def visible(self, shape, sees):
        return [sees(*index) for index in itertools.product(*map(range, shape))]

    def test_every_pair_of_dtypes(self):
        for kind, out_kind in itertools.product(TOLERANCE, TOLERANCE):
            words = ["--out-dtype", out_kind] + (["--scores-dtype", "bf16"] if kind == "bf16" else [])
            self.check((1, 2, 3, 17), *words, kind=kind, out_kind=out_kind)

    def test_out_dtype_is_that_of_the_scores(self):
        for kind in ("f16", "f32", "f64"):
            self.check((2, 5), kind=kind)

    def test_row_lengths(self):
        for cols in (1, 2, 3, 7, 8, 31, 33, 64, 255, 1000, 4099, 20000):
            self.check((3, cols))

    def test_scale(self):
        for scale in ("0.5", "-2", "0", "1e-3"):
            self.check((2, 9), "--scale", scale, scale=float(scale))
        self.check((2, 9), "--head-dim", "32", scale=32**-0.5)

    def test_causal(self):
        for queries, keys in ((4, 7), (7, 4), (5, 5)):
            shape = (2, 1, queries, keys)
            for where, offset in (("top-left", 0), ("bottom-right", keys - queries), ("2", 2), ("-3", -3), ("1000000", 1000000)):
                sees = self.visible(shape, lambda b, h, q, k, offset=offset: k <= q + offset)
                self.check(shape, "--causal", where, visible=sees)

    def test_lengths(self):
        shape, lengths = (4, 2, 3, 11), [11, 0, 5, 1]
        for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
            save(self.at / "l.npy", dtype, (4,), lengths)
            self.check(shape, "--lengths", "l.npy", visible=self.visible(shape, lambda b, h, q, k: k < lengths[b]))
            self.check(shape, "--lengths", "l.npy", "--left", visible=self.visible(shape, lambda b, h, q, k: k >= 11 - lengths[b]))

    def test_mask_broadcasts(self):
        shape = (2, 3, 4, 13)
        for small in ((13,), (4, 13), (3, 1, 13), (2, 1, 1, 13), (2, 1, 4, 13), (1, 1, 4, 13), (2, 3, 4, 13), (4, 1), (3, 1, 1), (2, 1, 1, 1), (1,), ()):
            values = flags(math.prod(small), seed=len(small))
            save(self.at / "m.npy", "b1", small, values)
            self.check(shape, "--mask", "m.npy", visible=broadcast(small, values, shape))

    def test_mask_dtypes(self):
        # Nonzero is visible, also where the low bytes are zero or the sign is set.
        for dtype, set_value in (("i1", -1), ("u1", 128), ("i2", 256), ("u2", 0x8000), ("i4", 1 << 16), ("u4", 1 << 31), ("i8", 1 << 32), ("u8", 1 << 63)):
            values = flags(12, seed=5)
            save(self.at / "m.npy", dtype, (12,), [set_value if v else 0 for v in values])
            self.check((5, 12), "--mask", "m.npy", visible=broadcast((12,), values, (5, 12)))

    def test_bias_broadcasts(self):
        shape = (2, 3, 4, 13)
        for small in ((13,), (4, 13), (2, 1, 4, 13), (1, 3, 4, 13), (3, 1, 1), (2, 3, 4, 13), ()):
            values = [-INF if v < -2 else v for v in rounded("f16", gauss(math.prod(small), seed=3))]
            for dtype in ("f2", "f4", "f8"):
                save(self.at / "b.npy", dtype, small, values)
                self.check(shape, "--bias", "b.npy", "--scale", "0.5", scale=0.5, bias=broadcast(small, values, shape))

    def test_bias_keeps_the_precision_of_double_scores(self):
        values = gauss(9, seed=4)
        save(self.at / "b.npy", "f8", (9,), values)
        self.check((2, 9), "--bias", "b.npy", kind="f64", bias=broadcast((9,), values, (2, 9)))

    def test_everything_together(self):
        shape, lengths = (3, 2, 5, 37), [37, 20, 4]
        mask, bias = flags(5 * 37), gauss(2 * 5 * 37, seed=7)
        save(self.at / "l.npy", "i4", (3,), lengths)
        save(self.at / "m.npy", "u1", (5, 37), mask)
        save(self.at / "b.npy", "f4", (2, 5, 37), bias)
        marks = broadcast((5, 37), mask, shape)
        sees = [m and v for m, v in zip(marks, self.visible(shape, lambda b, h, q, k: k <= q + 30 and k < lengths[b]))]
        words = ["--causal", "30", "--lengths", "l.npy", "--mask", "m.npy", "--bias", "b.npy", "--head-dim", "64"]
        for kind in ("f32", "f64"):
            spread = broadcast((2, 5, 37), rounded("f32", bias), shape)
            self.check(shape, *words, kind=kind, scale=0.125, visible=sees, bias=spread)

    def test_empty_rows(self):
        for empty in ("zeros", "uniform", "nan"):
            save(self.at / "m.npy", "b1", (3, 1), [True, False, True])
            sees = broadcast((3, 1), [True, False, True], (3, 8))
            self.check((3, 8), "--mask", "m.npy", "--empty", empty, visible=sees, empty=empty)

    def test_two_dimensions(self):
        save(self.at / "l.npy", "i4", (1,), [6])
        save(self.at / "m.npy", "b1", (9,), [k != 2 for k in range(9)])
        sees = self.visible((4, 9), lambda q, k: k <= q + 5 and k < 6 and k != 2)
        self.check((4, 9), "--causal", "bottom-right", "--lengths", "l.npy", "--mask", "m.npy", visible=sees)

    def test_hidden_scores_do_not_leak(self):
        scores = gauss(16)
        scores[6], scores[7], scores[15] = NAN, INF, NAN
        save(self.at / "l.npy", "u1", (2,), [6, 6])
        self.check((2, 1, 1, 8), "--lengths", "l.npy", scores=scores, visible=self.visible((2, 1, 1, 8), lambda b, h, q, k: k < 6))

    def test_a_visible_nan_stays_in_its_row(self):
        scores = gauss(24)
        scores[10] = NAN
        self.check((3, 8), scores=scores)

    def test_tensors_without_elements(self):
        for shape in ((0, 5), (5, 0), (2, 3, 0, 4), (0, 0), (2, 0, 3, 0)):
            self.check(shape, scores=[])

    def test_extents_without_elements_cost_nothing(self):
        (self.at / "s.npy").write_bytes(npy("f4", (1 << 40, 0), b""))
        self.succeed("--scores", "s.npy", "--out", "p.npy")
        self.assertEqual(load(self.out), ("f4", (1 << 40, 0), []))

    def test_the_output_may_replace_the_scores(self):
        scores = gauss(20)
        save(self.at / "s.npy", "f4", (4, 5), scores)
        self.succeed("--scores", "s.npy", "--out", "s.npy")
        self.assert_close(load(self.at / "s.npy")[2], reference((4, 5), rounded("f32", scores))[0], 1e-6)
        self.assertEqual(os.listdir(self.at), ["s.npy"])

    def test_a_link_stays_a_link(self):
        save(self.at / "s.npy", "f4", (4, 5), gauss(20))
        (self.at / "target.npy").write_bytes(b"old")
        self.out.symlink_to("target.npy")
        self.succeed("--scores", "s.npy", "--out", "p.npy")
        self.assertTrue(self.out.is_symlink())
        self.assertEqual(load(self.at / "target.npy")[1], (4, 5))

    def test_a_device_is_not_replaced(self):
        save(self.at / "s.npy", "f4", (4, 5), gauss(20))
        self.succeed("--scores", "s.npy", "--out", "/dev/null")
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())

    def test_what_numpy_may_write(self):
        scores = gauss(6)
        for version, descr in (((1, 0), "<f4"), ((2, 0), "<f4"), ((3, 0), "=f4")):
            (self.at / "s.npy").write_bytes(npy(descr, (2, 3), packed("f4", scores), version=version))
            self.succeed("--scores", "s.npy", "--out", "p.npy")
            self.assert_close(load(self.out)[2], reference((2, 3), rounded("f32", scores))[0], 1e-6)

    def test_help(self):
        for words in (["--help"], []):
            done = self.run_tool(*words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith("usage: "))
            for option in ("--scores", "--scores-dtype", "--out", "--out-dtype", "--lse", "--scale", "--head-dim", "--causal", "--lengths",
                           "--left", "--mask", "--bias", "--empty", "--device"):
                self.assertIn(option, done.stdout)

    def refuse(self, wanted, *words):
        """Exit 1, one sentence, nothing written."""
        before = {name: (self.at / name).read_bytes() for name in os.listdir(self.at) if (self.at / name).is_file()}
        done = self.run_tool(*words)
        self.assertEqual((done.returncode, done.stdout), (1, ""), words)
        self.assertRegex(done.stderr, r"\Asoftmax_npy: [^\n]+\n\Z", words)
        self.assertRegex(done.stderr, wanted)
        after = {name: (self.at / name).read_bytes() for name in os.listdir(self.at) if (self.at / name).is_file()}
        self.assertEqual(after, before, words)

    def test_bad_command_lines(self):
        save(self.at / "s.npy", "f4", (2, 3, 4, 5), gauss(120))
        self.out.write_bytes(b"keep me")
        base = ["--scores", "s.npy", "--out", "p.npy"]
        self.refuse("--scores is missing", "--out", "p.npy")
        self.refuse("--out is missing", "--scores", "s.npy")
        self.refuse("unknown option 's.npy'", "s.npy", "p.npy")
        self.refuse("unknown option '--sclae'", *base, "--sclae", "2")
        self.refuse("--scale needs a value", *base, "--scale")
        self.refuse("--scale is given twice", *base, "--scale", "1", "--scale", "2")
        for value in ("abc", "", "nan", "inf", "1e999", "1.5x"):
            self.refuse("--scale must be a finite number", *base, "--scale", value)
        self.refuse("too large for float", *base, "--scale", "1e300")
        self.refuse("exclude each other", *base, "--scale", "1", "--head-dim", "4")
        for value in ("0", "-4", "2.5", "", "99999999999999999999"):
            self.refuse("--head-dim must be a positive integer", *base, "--head-dim", value)
        for value in ("middle", "1.5", "", "99999999999999999999"):
            self.refuse("--causal must be top-left, bottom-right or an integer", *base, "--causal", value)
        self.refuse("--left needs --lengths", *base, "--left")
        self.refuse("--empty must be zeros, uniform or nan, not 'ones'", *base, "--empty", "ones")
        self.refuse("--out-dtype must be f32, f16, bf16 or f64", *base, "--out-dtype", "f8")
        self.refuse("--scores-dtype must be bf16", *base, "--scores-dtype", "f16")
        self.refuse("--device must be auto, cpu or gpu", *base, "--device", "tpu")
        self.refuse("name the same file", *base, "--lse", "./p.npy")
        if "gpu" not in self.devices:
            self.refuse("--device gpu: .", *base, "--device", "gpu")

    def test_bad_outputs(self):
        save(self.at / "s.npy", "f4", (2, 3), gauss(6))
        (self.at / "folder").mkdir()
        self.refuse("nowhere/p.npy: cannot be written: No such file", "--scores", "s.npy", "--out", "nowhere/p.npy")
        self.refuse("folder: is a directory", "--scores", "s.npy", "--out", "folder")
        self.refuse("nowhere/e.npy: cannot be written", "--scores", "s.npy", "--out", "p.npy", "--lse", "nowhere/e.npy")
        if pathlib.Path("/dev/full").exists():
            self.refuse("/dev/full: cannot be written: No space left", "--scores", "s.npy", "--out", "/dev/full")
            self.refuse("/dev/full: cannot be written: No space left", "--scores", "s.npy", "--out", "p.npy", "--lse", "/dev/full")

    def test_bad_scores(self):
        (self.at / "folder").mkdir()
        self.refuse("none.npy: cannot be opened: No such file", "--scores", "none.npy", "--out", "p.npy")
        self.refuse("folder: is a directory", "--scores", "folder", "--out", "p.npy")
        self.refuse("/dev/zero: is a device", "--scores", "/dev/zero", "--out", "p.npy")
        good = npy("f4", (2, 3), packed("f4", gauss(6)))
        for wanted, data in (
            ("not a .npy file", b""),
            ("not a .npy file", b"PK\x03\x04" + bytes(100)),
            ("ends inside the header", good[:9]),
            ("ends inside the header", good[:40]),
            ("ends inside the header", good[:8] + b"\xff\xff" + good[10:]),
            ("version 9 is not known", npy("f4", (2, 3), bytes(24), version=(9, 0))),
            ("needs 24 bytes of data and the file has 23", good[:-1]),
            ("needs 24 bytes of data and the file has 25", good + b"x"),
            ("header is malformed: '\\)' is missing", npy("f4", "(2, 3; 4)", bytes(24))),
            ("negative dimension", npy("f4", "(2, -3)", bytes(24))),
            ("dimension that is too large", npy("f4", "(99999999999999999999, 1)", bytes(24))),
            ("too many elements", npy("f4", "(4294967296, 4294967296)", b"")),
            ("big-endian", npy(">f4", (2, 3), bytes(24))),
            ("Fortran order", npy("f4", (2, 3), bytes(24), fortran=True)),
            ("structured dtypes", npy("[('a', '<f4')]", (2, 3), bytes(24))),
            ("dtype '<c8' is not supported", npy("<c8", (2, 3), bytes(48))),
            ("scores must be f2, f4 or f8, and the dtype is i4", npy("i4", (2, 3), bytes(24))),
            ("add --scores-dtype bf16", npy("u2", (2, 3), bytes(12))),
            (r"must have the shape .*, not \[6\]", npy("f4", (6,), bytes(24))),
            (r"must have the shape .*, not \[1,2,3\]", npy("f4", (1, 2, 3), bytes(24))),
            (r"must have the shape .*, not \[\]", npy("f4", (), bytes(4))),
            ("a row has 2147483647 columns", npy("f4", (0, 2147483647), b"")),
        ):
            (self.at / "s.npy").write_bytes(data)
            self.refuse("s.npy: .*" + wanted, "--scores", "s.npy", "--out", "p.npy")
        (self.at / "s.npy").write_bytes(good)
        self.refuse("stored as u2, and the dtype is f4", "--scores", "s.npy", "--out", "p.npy", "--scores-dtype", "bf16")

    def test_bad_masks(self):
        save(self.at / "s.npy", "f4", (2, 3, 4, 5), gauss(120))
        base = ["--scores", "s.npy", "--out", "p.npy"]
        for wanted, dtype, shape in (
            ("must be bool or integer, and the dtype is f4; a float mask of 0 and -inf is a --bias", "f4", (5,)),
            (r"\[4\] does not broadcast to the scores' \[2,3,4,5\]", "b1", (4,)),
            (r"\[2,1,1\] does not broadcast", "b1", (2, 1, 1)),
            (r"\[0\] does not broadcast", "b1", (0,)),
            (r"\[1,2,3,4,5\] does not broadcast", "b1", (1, 2, 3, 4, 5)),
        ):
            save(self.at / "m.npy", dtype, shape, [0] * math.prod(shape))
            self.refuse("m.npy: .*" + wanted, *base, "--mask", "m.npy")
        for wanted, dtype, shape in (
            ("must be f2, f4 or f8, and the dtype is i4", "i4", (5,)),
            (r"\[4\] does not broadcast", "f4", (4,)),
            (r"\[3,3,4,5\] does not broadcast", "f4", (3, 3, 4, 5)),
        ):
            save(self.at / "b.npy", dtype, shape, [0] * math.prod(shape))
            self.refuse("b.npy: .*" + wanted, *base, "--bias", "b.npy")
        for wanted, dtype, shape, values in (
            (r"must have the shape \[2\], one a batch, not \[3\]", "i4", (3,), [1, 2, 3]),
            (r"must have the shape \[2\], one a batch, not \[2,1\]", "i4", (2, 1), [1, 2]),
            (r"must have the shape \[2\], one a batch, not \[\]", "i4", (), [1]),
            ("must be integers, and the dtype is f4", "f4", (2,), [1, 2]),
            ("must be integers, and the dtype is b1", "b1", (2,), [1, 0]),
            ("length -1 of batch 1 is not within 0 and the 5 keys", "i4", (2,), [1, -1]),
            ("length 6 of batch 0 is not within 0 and the 5 keys", "i8", (2,), [6, 1]),
            ("length 18446744073709551615 of batch 0", "u8", (2,), [2**64 - 1, 1]),
        ):
            save(self.at / "l.npy", dtype, shape, values)
            self.refuse("l.npy: " + ".*" + wanted, *base, "--lengths", "l.npy")
        self.refuse("none.npy: cannot be opened", *base, "--mask", "none.npy")


class DemoTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.picture = pathlib.Path(self.folder.name) / "head.png"

    def run_demo(self, data):
        return subprocess.run([DEMO, data, self.picture], capture_output=True, text=True, timeout=120, check=False)

    def test_every_row_is_within_its_bound(self):
        done = self.run_demo(DATA)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = re.findall(r"^\S.* (f32|f16) +\[6,12,43,43\] .* (\S+) (1e-0[36])  (?:the model|double)$", done.stdout, re.MULTILINE)
        self.assertEqual(len(rows), 12 * len(ToolTest.devices), done.stdout)
        for dtype, error, bound in rows:
            self.assertEqual(bound, "1e-06" if dtype == "f32" else "1e-03")
            self.assertLessEqual(float(error), float(bound))
        self.assertIn(str(self.picture), done.stdout)

    def test_the_picture_is_a_png(self):
        self.run_demo(DATA)
        data = self.picture.read_bytes()
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        chunks, at = {}, 8
        while at < len(data):
            size = struct.unpack(">I", data[at : at + 4])[0]
            name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
            self.assertEqual(zlib.crc32(name + body), struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0], name)
            chunks[name] = body
            at += 12 + size
        self.assertEqual(list(chunks), [b"IHDR", b"PLTE", b"IDAT", b"IEND"])
        width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
        pixels = zlib.decompress(chunks[b"IDAT"])
        self.assertEqual(len(pixels), height * (width + 1))
        self.assertEqual(set(pixels[:: width + 1]), {0}, "no line is filtered")
        self.assertLess(max(pixels), len(chunks[b"PLTE"]) // 3)
        self.assertGreater(len(set(pixels)), 100, "a picture has many shades")

    def test_a_wrong_answer_is_an_error(self):
        data = pathlib.Path(self.folder.name) / "data"
        shutil.copytree(DATA, data)
        dtype, shape, values = load(data / "probabilities.npy")
        values[1000] += 2e-3
        save(data / "probabilities.npy", dtype, shape, values)
        done = self.run_demo(data)
        self.assertEqual((done.returncode, done.stderr), (1, "smx_demo: an error exceeds its bound\n"))
        self.assertEqual(done.stdout.count("TOO LARGE"), 6 * len(ToolTest.devices))

    def test_missing_data_is_an_error(self):
        done = self.run_demo(self.folder.name)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\Asmx_demo: .*scores.npy: cannot be opened: [^\n]+\n\Z")


def gpu_runs():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        save(path / "s.npy", "f4", (1, 1), [0.0])
        done = subprocess.run([TOOL, "--scores", path / "s.npy", "--out", path / "p.npy", "--device", "gpu"],
                              capture_output=True, text=True, check=False)
        print("GPU:", "used" if done.returncode == 0 else f"left out ({re.sub('^[^:]*: ', '', done.stderr.strip())})")
        return done.returncode == 0


if __name__ == "__main__":
    TOOL, DEMO = (str(pathlib.Path(sys.argv.pop(1)).resolve()) for _ in range(2))
    if gpu_runs():
        ToolTest.devices = ["cpu", "gpu"]
    unittest.main()
