#!/usr/bin/env python3
"""Draws what bars and crossover (or tune) wrote as JSON, a picture for each question.

    plot.py bars.json crossover.json [--out FOLDER]

columns.svg    share of copy against columns, without a mask, for each type
masks.svg      the same under one mask, and 2048 x 2048 scores under every mask
causal.svg     causal rows: share of copy, and their time beside that of rows without a mask
decode.svg     few rows, cold, against a copy of their size
backward.svg   the backward pass: share of a stream of two reads and a write
crossover.svg  the same rows run by every family of kernels

A grey step is the bar, a cross the best known peer. Needs matplotlib.
"""
import argparse
import json
import pathlib
import sys

try:
    import matplotlib
except ImportError:
    print("left out: plot.py needs matplotlib")
    sys.exit(77)

matplotlib.use("Agg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "smx", "font.size": 9, "axes.grid": True, "grid.linewidth": 0.3})
import matplotlib.pyplot as plt  # noqa: E402

DTYPES = {"half": "#0072b2", "bfloat16": "#009e73", "float": "#d55e00"}
MASKS = {"causal": "causal", "flags": "byte mask", "bits": "bit mask", "bias": "additive mask"}
EVERY_MASK = ["none", "bias", "flags", "bits", "causal", "causal+bits", "causal+bias", "bias+flags", "causal+lengths+flags", "all"]
FAMILIES = {"thread": "#0072b2", "part of warp": "#56b4e9", "warp": "#009e73", "block": "#d55e00", "cluster": "#cc79a7", "staged": "#e69f00",
            "online": "#777777"}


def cases_of(report):
    """One entry a case, by name; its `bar` is that of the last step which has one."""
    cases = {}
    for entry in report["bars"] + report["without_bar"]:
        if entry["value"] is None:
            continue
        known = cases.get(entry["name"])
        if known is None or entry.get("stage", 0) > known.get("stage", 0):
            cases[entry["name"]] = entry
    return cases


def by_columns(cases, kind, dtype):
    """The cases named kind/dtype/columns, shortest row first."""
    names = [name.split("/") for name in cases]
    found = sorted(int(parts[2]) for parts in names if parts[:2] == [kind, dtype] and len(parts) == 3 and parts[2].isdigit())
    return [cases[f"{kind}/{dtype}/{cols}"] for cols in found]


def peer_of(case):
    return (case.get("peer") or {}).get("share")


def draw_bars(ax, places, cases):
    goal = [(place, case["bar"]) for place, case in zip(places, cases) if "bar" in case]
    if goal:
        ax.step([g[0] for g in goal], [g[1] for g in goal], where="mid", color="0.6", linewidth=1, label="bar", zorder=1)


def draw_peers(ax, places, cases):
    known = [(place, peer_of(case)) for place, case in zip(places, cases) if peer_of(case)]
    if known:
        ax.plot([k[0] for k in known], [k[1] for k in known], "x", color="0.25", markersize=4, label="best known peer", zorder=2)


def draw_line(ax, cases, colour, label):
    cols = [case["cols"] for case in cases]
    draw_bars(ax, cols, cases)
    draw_peers(ax, cols, cases)
    ax.plot(cols, [case["value"] for case in cases], "o-", color=colour, markersize=2.5, linewidth=1, label=label, zorder=3)


def label_axes(ax, title, over_columns=True):
    ax.set_title(title, fontsize=9)
    if over_columns:
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_formatter("{x:.0f}")
        ax.tick_params(axis="x", labelsize=7)
        ax.set_xlabel("columns")
    ax.set_ylim(0, 1.08)


def panels(count, width=4.2):
    figure, axes = plt.subplots(1, count, figsize=(width * count, 3.6), sharey=True, squeeze=False)
    axes[0][0].set_ylabel("share of copy")
    return figure, axes[0]


def columns(cases):
    drawn = [dtype for dtype in DTYPES if by_columns(cases, "dense", dtype)]
    if not drawn:
        return None
    figure, axes = panels(len(drawn))
    for ax, dtype in zip(axes, drawn):
        label_axes(ax, f"{dtype}, no mask")
        draw_line(ax, by_columns(cases, "dense", dtype), DTYPES[dtype], "smx")
    axes[0].legend(loc="lower left", fontsize=8)
    return figure


def masks(cases):
    drawn = [kind for kind in MASKS if by_columns(cases, kind, "half")]
    article = [mask for mask in EVERY_MASK if any(f"article/{dtype}/{mask}" in cases for dtype in DTYPES)]
    if not drawn and not article:
        return None
    figure, axes = panels(len(drawn) + bool(article), width=3.6)
    for ax, kind in zip(axes, drawn):
        label_axes(ax, f"half, {MASKS[kind]}")
        draw_line(ax, by_columns(cases, kind, "half"), DTYPES["half"], "smx")
    if article:
        ax = axes[-1]
        label_axes(ax, "B x 32 x 2048 x 2048", over_columns=False)
        for dtype, colour in DTYPES.items():
            mine = [(place, cases[f"article/{dtype}/{mask}"]) for place, mask in enumerate(article) if f"article/{dtype}/{mask}" in cases]
            if dtype == "half":
                draw_bars(ax, [m[0] for m in mine], [m[1] for m in mine])
            draw_peers(ax, [m[0] for m in mine], [m[1] for m in mine])
            ax.plot([m[0] for m in mine], [m[1]["value"] for m in mine], "o", color=colour, markersize=4, label=dtype, zorder=3)
        ax.set_xticks(range(len(article)), article, rotation=40, ha="right", fontsize=7)
    for ax in axes:
        label_once(ax)
    return figure


def causal(cases):
    mine = by_columns(cases, "causal", "half")
    if not mine:
        return None
    figure, axes = panels(2)
    label_axes(axes[0], "half, causal; the floor reads the visible half")
    draw_line(axes[0], mine, DTYPES["half"], "smx")
    beside = [(case, cases[f"dense/half/{case['cols']}"]) for case in mine if f"dense/half/{case['cols']}" in cases]
    label_axes(axes[1], "time of causal rows over that of rows without a mask")
    cols = [case["cols"] for case, _ in beside]
    axes[1].plot(cols, [case["floor_bytes"] / dense["floor_bytes"] for case, dense in beside], "--", color="0.6", linewidth=1, label="bytes")
    axes[1].plot(cols, [case["microseconds"] / dense["microseconds"] for case, dense in beside], "o-", color=DTYPES["half"], markersize=2.5,
                 linewidth=1, label="time")
    axes[1].set_ylim(0, None)
    axes[1].set_ylabel("ratio")
    for ax in axes:
        label_once(ax)
    return figure


def decode(cases):
    shapes = {}
    for name in cases:
        parts = name.split("/")
        if parts[0] == "decode":
            rows, cols = parts[2].split("x")
            shapes[parts[2]] = (int(cols), int(rows))
    if not shapes:
        return None
    order = sorted(shapes, key=shapes.get)
    drawn = [dtype for dtype in DTYPES if any(f"decode/{dtype}/{shape}" in cases for shape in order)]
    figure, axes = panels(len(drawn))
    for ax, dtype in zip(axes, drawn):
        label_axes(ax, f"{dtype}, few rows, cold, in a graph", over_columns=False)
        for suffix, filled, label in (("", "full", "alone"), ("/programmatic", "none", "programmatic launch")):
            mine = [(place, cases[f"decode/{dtype}/{shape}{suffix}"]) for place, shape in enumerate(order)
                    if f"decode/{dtype}/{shape}{suffix}" in cases]
            if not suffix:
                draw_bars(ax, [m[0] for m in mine], [m[1] for m in mine])
                draw_peers(ax, [m[0] for m in mine], [m[1] for m in mine])
            ax.plot([m[0] for m in mine], [m[1]["value"] for m in mine], "o", fillstyle=filled, color=DTYPES[dtype], markersize=5, label=label,
                    zorder=3)
        ax.set_xticks(range(len(order)), [shape.replace("x", " x ") for shape in order], rotation=40, ha="right", fontsize=7)
        label_once(ax)
    axes[0].set_ylabel("time of a copy over time")
    return figure


def backward(cases):
    drawn = [dtype for dtype in DTYPES if by_columns(cases, "backward", dtype)]
    if not drawn:
        return None
    figure, axes = panels(len(drawn))
    for ax, dtype in zip(axes, drawn):
        label_axes(ax, f"{dtype}, gradients, no mask")
        draw_line(ax, by_columns(cases, "backward", dtype), DTYPES[dtype], "smx")
        label_once(ax)
    axes[0].set_ylabel("share of stream")
    return figure


def crossover(report):
    kernels = [k for k in report["kernels"] if k.get("mask", "none") == "none" and k.get("rows", 0) == 0]
    drawn = [dtype for dtype in DTYPES if any(k["dtype"] == dtype for k in kernels)]
    if not drawn:
        return None
    figure, axes = panels(len(drawn), width=5.2)
    for ax, dtype in zip(axes, drawn):
        label_axes(ax, f"{dtype}: the same rows by the best kernel of each family")
        for family, colour in FAMILIES.items():
            best = {}
            for k in kernels:
                if k["dtype"] == dtype and k["family"] == family:
                    best[k["cols"]] = max(best.get(k["cols"], 0), k["share"])
            if best:
                ax.plot(sorted(best), [best[cols] for cols in sorted(best)], "o-", color=colour, markersize=2.5, linewidth=1, label=family)
        chosen = sorted((k["cols"], k["share"]) for k in kernels if k["dtype"] == dtype and k["automatic"])
        ax.plot([c[0] for c in chosen], [c[1] for c in chosen], "s", color="k", fillstyle="none", markersize=6, label="launch_auto")
    axes[0].legend(loc="lower center", fontsize=7, ncols=2)
    return figure


def label_once(ax):
    handles = dict(zip(*reversed(ax.get_legend_handles_labels())))
    ax.legend(handles.values(), handles.keys(), loc="lower left", fontsize=7)


def save(figure, report, path):
    if figure is None:
        print(f"left out: {path.name}: the report has no such case")
        return
    copy = report["copy_gbs"]
    copy = max(copy.values()) if isinstance(copy, dict) else copy
    remark = f"{report['gpu']}, {report['date']}, copy {copy:.0f} GB/s" + (", small tensors" if report.get("quick") else "")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    figure.text(0.995, 0.005, remark, ha="right", fontsize=7, color="0.4")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", type=pathlib.Path, nargs="+")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for source in arguments.reports:
        report = json.loads(source.read_text())
        if "kernels" in report:
            save(crossover(report), report, arguments.out / "crossover.svg")
            continue
        cases = cases_of(report)
        for draw in (columns, masks, causal, decode, backward):
            save(draw(cases), report, arguments.out / f"{draw.__name__}.svg")


if __name__ == "__main__":
    main()
