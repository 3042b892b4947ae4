#!/usr/bin/env python3
"""Draws what bars and tune wrote as JSON: share of copy against columns, masks, and where one way to run a row overtakes another.

    plot.py bars.json [--tune tune.json] [--out FOLDER]

Needs matplotlib.
"""
import argparse
import json
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DTYPES = ["half", "bfloat16", "float"]
COLOURS = {"half": "#0072b2", "bfloat16": "#009e73", "float": "#d55e00"}
MASKS = {"dense": "no mask", "causal": "causal", "flags": "byte mask", "bits": "bit mask", "bias": "additive mask"}


def cases_of(report):
    """One entry a case: those with two bars are listed twice."""
    cases = {}
    for entry in report["bars"] + report["without_bar"]:
        case = cases.setdefault(entry["name"], dict(entry, bars={}))
        if "bar" in entry:
            case["bars"][entry["stage"]] = entry["bar"]
    return cases


def points(cases, kind, dtype):
    """(columns, value, bars, peer's share) of cases named kind/dtype/columns, shortest row first."""
    found = []
    for name, case in cases.items():
        parts = name.split("/")
        if parts[:2] == [kind, dtype] and len(parts) == 3 and parts[2].isdigit() and case["value"] is not None:
            peer = (case.get("peer") or {}).get("share")
            found.append((int(parts[2]), case["value"], case["bars"], peer))
    return sorted(found, key=lambda point: point[0])


def axes_of(ax, title):
    ax.set_xscale("log", base=2)
    ax.set_ylim(0, 1.08)
    ax.axhline(1.0, color="0.6", linewidth=0.8)
    ax.set_title(title)
    ax.set_xlabel("columns")
    ax.grid(True, linewidth=0.3)


def draw_columns(report, path):
    cases = cases_of(report)
    figure, axes = plt.subplots(1, len(DTYPES), figsize=(15, 4.5), sharey=True)
    for ax, dtype in zip(axes, DTYPES):
        axes_of(ax, f"{dtype}, no mask")
        line = points(cases, "dense", dtype)
        ax.plot([p[0] for p in line], [p[1] for p in line], "o-", color=COLOURS[dtype], markersize=3, linewidth=1, label="smx")
        peers = [p for p in line if p[3]]
        ax.plot([p[0] for p in peers], [p[3] for p in peers], "x", color="0.3", markersize=5, label="best known peer")
        goal = [p for p in line if 2 in p[2]]
        ax.plot([p[0] for p in goal], [p[2][2] for p in goal], "_", color="k", markersize=7, label="bar")
    axes[0].set_ylabel("share of copy bandwidth")
    axes[0].legend(loc="lower center", fontsize=8)
    finish(figure, report, path)


def draw_masks(report, path):
    cases = cases_of(report)
    figure, ax = plt.subplots(figsize=(7, 4.5))
    axes_of(ax, "half, one mask; floor: what must be read and written")
    for kind, label in MASKS.items():
        line = points(cases, kind, "half")
        if line:
            ax.plot([p[0] for p in line], [p[1] for p in line], "o-", markersize=3, linewidth=1, label=label)
    ax.set_ylabel("share of copy bandwidth")
    ax.legend(loc="lower center", fontsize=8)
    finish(figure, report, path)


def draw_crossover(report, path):
    dtypes = [d for d in DTYPES if any(k["dtype"] == d for k in report["kernels"])]
    figure, axes = plt.subplots(1, len(dtypes), figsize=(5 * len(dtypes), 4.5), sharey=True, squeeze=False)
    for ax, dtype in zip(axes[0], dtypes):
        axes_of(ax, f"{dtype}: the same rows, run in different ways")
        mine = [k for k in report["kernels"] if k["dtype"] == dtype]
        for family in dict.fromkeys(k["family"] for k in report["kernels"]):
            best = {}
            for k in mine:
                if k["family"] == family:
                    best[k["cols"]] = max(best.get(k["cols"], 0), k["share"])
            ax.plot(sorted(best), [best[c] for c in sorted(best)], "o-", markersize=3, linewidth=1, label=family)
        chosen = sorted((k["cols"], k["share"]) for k in mine if k["automatic"])
        ax.plot([c for c, _ in chosen], [s for _, s in chosen], "ks", fillstyle="none", markersize=6, label="launch_auto")
    axes[0][0].set_ylabel("share of copy bandwidth")
    axes[0][0].legend(loc="lower center", fontsize=8)
    finish(figure, report, path)


def finish(figure, report, path):
    copy = report["copy_gbs"]
    copy = max(copy.values()) if isinstance(copy, dict) else copy
    figure.text(0.995, 0.005, f"{report['gpu']}, copy {copy:.0f} GB/s{', ' + report['date'] if 'date' in report else ''}", ha="right",
                fontsize=7, color="0.4")
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    plt.close(figure)
    print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bars", type=pathlib.Path)
    parser.add_argument("--tune", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    report = json.loads(arguments.bars.read_text())
    draw_columns(report, arguments.out / "columns.png")
    draw_masks(report, arguments.out / "masks.png")
    if arguments.tune:
        draw_crossover(json.loads(arguments.tune.read_text()), arguments.out / "crossover.png")


if __name__ == "__main__":
    main()
