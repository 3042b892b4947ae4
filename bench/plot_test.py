#!/usr/bin/env python3
"""Draws every picture of plot.py from numbers made up here, and looks at what is in them. Exit status 77 without matplotlib."""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

PLOT = pathlib.Path(__file__).resolve().parent / "plot.py"
MOST_BYTES = 100_000


def entry(name, cols, value, stage=None, bar=None, peer=None):
    made = {"name": name, "cols": cols, "value": value, "microseconds": 250.0, "floor_bytes": 1e9}
    if stage:
        made.update(stage=stage, bar=bar, held=value >= bar)
    if peer:
        made["peer"] = {"name": "somebody", "share": peer, "microseconds": None}
    return made


def bars():
    listed = []
    for dtype in ("half", "bfloat16", "float"):
        for cols in (7, 32, 1000, 1024, 131072):
            listed += [entry(f"dense/{dtype}/{cols}", cols, 0.98, stage, bar, 0.7) for stage, bar in ((1, 0.9), (2, 0.95))]
        listed += [entry(f"backward/{dtype}/{cols}", cols, 0.99, 3, 0.98) for cols in (128, 2048)]
        for mask in ("none", "bias", "all"):
            listed.append(entry(f"article/{dtype}/{mask}", 2048, 0.9, 2, 0.95))
        for shape, cols in (("32x4096", 4096), ("64x131072", 131072)):
            listed += [entry(f"decode/{dtype}/{shape}{how}", cols, 0.8, 2, 0.7) for how in ("", "/programmatic")]
    for mask in ("causal", "flags", "bias"):
        listed += [entry(f"{mask}/half/{cols}", cols, 0.9, 1, 0.3) for cols in (32, 1024)]
    unmeasured = entry("dense/half/50", 50, None)
    return {"gpu": "a GPU", "date": "2026-11-30", "copy_gbs": {"before": 4000.0, "after": 3990.0}, "bars": listed,
            "without_bar": [unmeasured, entry("phases/half/2047", 2047, 0.9)]}


def kernels():
    listed = [{"dtype": dtype, "mask": "none", "rows": 0, "cols": cols, "family": family, "share": 0.9, "automatic": family == "block"}
              for dtype in ("half", "float") for cols in (64, 1024) for family in ("thread", "block", "online")]
    return {"gpu": "a GPU", "date": "2026-11-30", "copy_gbs": 4000.0, "kernels": listed}


EXPECTED = {"columns": ["half, no mask", "float, no mask", "bar", "best known peer", "a GPU, 2026-11-30, copy 4000 GB/s"],
            "masks": ["half, byte mask", "B x 32 x 2048 x 2048", "all"], "causal": ["half, causal; the floor reads the visible half"],
            "decode": ["64 x 131072", "programmatic launch"], "backward": ["half, gradients, no mask", "share of stream"], "crossover": ["thread", "block", "online", "launch_auto", "1024"]}


def main():
    if importlib.util.find_spec("matplotlib") is None:
        print("left out: matplotlib is not installed")
        return 77
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, report in (("bars.json", bars()), ("crossover.json", kernels())):
            (folder / name).write_text(json.dumps(report))
        subprocess.run([sys.executable, "-B", str(PLOT), str(folder / "bars.json"), str(folder / "crossover.json"), "--out", str(folder)], check=True)
        for name, labels in EXPECTED.items():
            picture = (folder / f"{name}.svg").read_text()
            texts = ["".join(t.itertext()).strip() for t in xml.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]
            wrong += [f"{name}.svg does not say '{label}'" for label in labels if label not in texts]
            if len(picture) > MOST_BYTES:
                wrong.append(f"{name}.svg has {len(picture)} bytes, more than {MOST_BYTES}")
    print("\n".join(wrong) or "six pictures, with what they have to say")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
