"""The plots of docs/results/corpus.md: standalone SVG on white, readable on light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foretell.report.svg import Scale, drawing, element, line, path, words

FOLDER = Path("docs/images")
STATUSES = ("ok", "wrong", "compile_error", "launch_error", "crash", "timeout")
LANGUAGES = {"triton": "Triton", "cuda": "CUDA", "cpp": "C++"}
_UNITS = {
    "block": "block (elements per program)",
    "warps": "warps (per program)",
    "vector": "vector (elements per access)",
    "stages": "stages (of the pipeline)",
    "threads": "threads (per block)",
    "splits": "splits (parts a column is cut into)",
}
_STYLE = """
text { font: 12px "DejaVu Sans", Verdana, Arial, sans-serif; fill: #333; }
text.title { font-size: 15px; font-weight: bold; fill: #111; }
text.sub { font-size: 12px; fill: #555; }
text.axis { fill: #111; }
text.small { font-size: 10px; }
text.bar { font-size: 10px; fill: #fff; }
text.head { font-weight: bold; fill: #111; }
line.grid { stroke: #ddd; }
line.one { stroke: #555; stroke-dasharray: 4 3; }
line.whisker { stroke: #2166ac; stroke-width: 1.5; }
line.join { stroke: #bbb; }
rect.box { fill: #92c5de; stroke: #2166ac; }
line.median { stroke: #b2182b; stroke-width: 2.5; }
path.group { fill: none; stroke: #2166ac; stroke-opacity: 0.35; stroke-width: 1.2; }
circle.point { fill: #2166ac; fill-opacity: 0.5; }
circle.memory { fill: #2166ac; }
circle.compute { fill: #b2182b; }
circle.eager { fill: #fff; stroke: #777; stroke-width: 1.3; }
.ok { fill: #5aae61; }
.wrong { fill: #b2182b; }
.compile_error { fill: #2166ac; }
.launch_error { fill: #e08214; }
.crash { fill: #762a83; }
.timeout { fill: #444; }
"""


def standalone(name: str, title: str, under: str, width: float, height: float, *parts: str) -> None:
    """Write one plot with its title; what stands under the title is also what a screen reader says."""
    text = drawing(
        name,
        title,
        under,
        width,
        height,
        element("style", _STYLE),
        element("rect", width=width, height=height, fill="#fff"),
        words(title, 14, 22, "title"),
        words(under, 14, 40, "sub"),
        *parts,
    )
    size = f'xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}"'
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"corpus_{name}.svg").write_text(text.replace("<svg ", f"<svg {size} ", 1) + "\n")


def _x_axis(x: Scale, ticks: Sequence[float], top: float, bottom: float, unit: str = "×") -> list[str]:
    parts = []
    for tick in ticks:
        at = x(math.log2(tick))
        parts += [
            line(at, top, at, bottom, "one" if tick == 1 else "grid"),
            words(f"{tick:g}{unit}", at, bottom + 15, "tick", "middle"),
        ]
    return parts


def families(data: Mapping[str, Any]) -> None:
    rows = sorted(data["families"].items(), key=lambda item: -item[1]["quantiles"][2])
    left, right, top, step = 150.0, 860.0, 62.0, 22.0
    bottom = top + step * len(rows)
    x = Scale(math.log2(1 / 16), math.log2(16), left, right)
    parts = _x_axis(x, (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16), top, bottom)
    for i, (name, each) in enumerate(rows):
        y = top + step * (i + 0.5)
        q = [x(math.log2(v)) for v in each["quantiles"]]
        parts += [
            words(name, left - 10, y + 4, "tick", "end"),
            line(q[0], y, q[4], y, "whisker"),
            element("rect", x=q[1], y=y - 6, width=q[3] - q[1], height=12.0, class_="box"),
            line(q[2], y - 7, q[2], y + 7, "median"),
            words(f"{each['candidates']:,}", right + 58, y + 4, "tick", "end"),
        ]
    parts += [
        words("correct", right + 58, top - 16, "small", "end"),
        words("candidates", right + 58, top - 5, "small", "end"),
        words("speedup over PyTorch eager (log scale)", (left + right) / 2, bottom + 36, "axis", "middle"),
    ]
    under = "Lines: 10 % to 90 % of the correct candidates; boxes: 25 % to 75 %; red: median. NVIDIA H200."
    standalone("families", "Speedup of candidates, by family", under, 940, bottom + 50, *parts)


def _stacks(
    rows: Sequence[tuple[str, Mapping[str, float], str]], x: Scale, top: float, step: float, statuses: Sequence[str]
) -> list[str]:
    """Horizontal bars, one part for each status, the number in it where there is room."""
    parts = []
    for i, (name, amounts, note) in enumerate(rows):
        y, at = top + step * i, 0.0
        parts.append(words(name, x.start - 10, y + step / 2 + 4, "tick", "end"))
        for status in statuses:
            amount = amounts.get(status, 0)
            a, b = x(at), x(at + amount)
            if amount:
                parts.append(element("rect", x=a, y=y + 2, width=max(0.6, b - a), height=step - 4, class_=status))
            if b - a > 30:
                text = f"{amount:,}" if isinstance(amount, int) else f"{amount:.1%}"
                parts.append(words(text, (a + b) / 2, y + step / 2 + 4, "bar", "middle"))
            at += amount
        parts.append(words(note, x(at) + 8, y + step / 2 + 4, "tick"))
    return parts


def _legend(statuses: Sequence[str], x: float, y: float, named: Mapping[str, str] | None = None) -> list[str]:
    parts = []
    for status in statuses:
        text = (named or {}).get(status, status)
        parts += [
            element("rect", x=x, y=y - 10, width=12.0, height=12.0, class_=status),
            words(text, x + 17, y, "tick"),
        ]
        x += 34 + 7.4 * len(text)
    return parts


def failures(data: Mapping[str, Any]) -> None:
    names = {
        "triton template": "Triton, template",
        "cuda template": "CUDA, template",
        "triton model": "Triton, language model",
        "cuda model": "CUDA, language model",
        "cpp template": "C++ (CPU), template",
    }
    rows = []
    for key, counts in (data["failures"]["by_author"] | data["cpu_failures"]["by_author"]).items():
        total = sum(counts.values())
        failed = {k: v / total for k, v in counts.items() if k != "ok"}
        rows.append((names[key], failed, f"{sum(failed.values()):.1%} of {total:,}"))
    x = Scale(0.0, 0.16, 190.0, 760.0)
    top, step = 84.0, 30.0
    bottom = top + step * len(rows)
    parts = []
    for tick in (0.0, 0.04, 0.08, 0.12, 0.16):
        parts += [
            line(x(tick), top, x(tick), bottom, "grid"),
            words(f"{tick:.0%}", x(tick), bottom + 15, "tick", "middle"),
        ]
    parts += _stacks(rows, x, top, step, STATUSES[1:])
    parts += _legend(STATUSES[1:], 190, 66)
    parts.append(
        words("failures, share of the candidates of each row", (x.start + x.stop) / 2, bottom + 36, "axis", "middle")
    )
    under = "By language and author. Most failures of templates are mistakes made on purpose."
    standalone("failures", "How candidates fail", under, 900, bottom + 50, *parts)


def slips(data: Mapping[str, Any], shown: int = 24) -> None:
    found = data["failures"]["slips"]
    first, rest = list(found.items())[:shown], list(found.items())[shown:]
    others: dict[str, int] = {}
    for _, counts in rest:
        for status, n in counts.items():
            others[status] = others.get(status, 0) + n
    rows = [(name, counts, f"{sum(counts.values()):,}") for name, counts in first]
    rows.append((f"{len(rest)} other kinds", others, f"{sum(others.values()):,}"))
    unmarked = data["failures"]["unmarked"]
    rows.append(("no slip named", unmarked, f"{sum(unmarked.values()):,} failures"))
    most = max(sum(c.values()) for _, c, _ in rows)
    x = Scale(0.0, 100.0 * math.ceil(most / 100), 150.0, 800.0)
    top, step = 84.0, 20.0
    bottom = top + step * len(rows)
    parts = []
    for tick in range(0, int(x.high) + 1, 200):
        parts += [
            line(x(tick), top, x(tick), bottom, "grid"),
            words(f"{tick:,}", x(tick), bottom + 15, "tick", "middle"),
        ]
    parts += _stacks(rows, x, top, step, STATUSES[::-1])
    parts += _legend(STATUSES[::-1], 150, 66, {"ok": "passed all checks"})
    parts.append(words("candidates", (x.start + x.stop) / 2, bottom + 36, "axis", "middle"))
    under = "Templates for the GPU whose `slip` knob makes a mistake on purpose: how they ended."
    standalone("slips", "What became of the mistakes", under, 900, bottom + 50, *parts)


def roofline(data: Mapping[str, Any]) -> None:
    rows = sorted(data["gpu_operations"].items(), key=lambda item: item[1]["best_over_floor"])
    columns, step, top = 2, 14.0, 108.0
    each = math.ceil(len(rows) / columns)
    wide, label = 430.0, 160.0
    bottom = top + step * each
    parts = []
    for c in range(columns):
        x = Scale(math.log2(0.7), math.log2(100), 14 + wide * c + label, 14 + wide * (c + 1) - 22)
        parts += _x_axis(x, (1, 2, 4, 8, 16, 32, 64), top - 4, bottom)
        parts.append(words("time / roofline floor (log scale)", (x.start + x.stop) / 2, bottom + 34, "axis", "middle"))
        for i, (name, op) in enumerate(rows[each * c : each * (c + 1)]):
            y = top + step * (i + 0.5)
            best, eager = x(math.log2(op["best_over_floor"])), x(math.log2(op["eager_over_floor"]))
            parts += [
                words(name, x.start - 6, y + 4, "tick", "end"),
                line(best, y, eager, y, "join"),
                element("circle", cx=eager, cy=y, r=3.2, class_="eager"),
                element("circle", cx=best, cy=y, r=3.6, class_=op["floor"]),
            ]
    for at, kind, text in (
        (20, "memory", "best candidate, floor set by memory"),
        (300, "compute", "best candidate, floor set by arithmetic"),
        (610, "eager", "PyTorch eager"),
    ):
        parts += [element("circle", cx=at, cy=80.0, r=4.0, class_=kind), words(text, at + 10, 84)]
    under = (
        "Time over the least that the data sheet allows, geometric mean over workloads. NVIDIA H200: 4.8 TB/s; "
        "67 TFLOPS float32, 989 float16."
    )
    standalone("roofline", "Distance from the roofline floor, by operation", under, 888, bottom + 48, *parts)


def knobs(data: Mapping[str, Any]) -> None:
    wide, high, parts = 425.0, 250.0, []
    for n, each in enumerate(data["knobs"]):
        left, top = 70 + wide * (n % 2), 108 + (high + 72) * (n // 2)
        right, bottom = left + wide - 92, top + high - 20
        settings = list(each["settings"])
        values = [s for group in each["groups"] for s in group.values()]
        low, high2 = math.floor(math.log2(min(values))), math.ceil(math.log2(max(values)))
        y = Scale(low, high2, bottom, top)
        at = {v: left + (right - left) * (i + 0.5) / len(settings) for i, v in enumerate(settings)}
        parts.append(words(f"{each['task']} ({LANGUAGES[each['language']]})", left, top - 12, "head"))
        for power in range(low, high2 + 1):
            parts += [
                line(left, y(power), right, y(power), "one" if power == 0 else "grid"),
                words(f"{2.0**power:g}×", left - 6, y(power) + 4, "tick", "end"),
            ]
        for group in each["groups"]:
            points = [(at[v], y(math.log2(group[v]))) for v in settings if v in group]
            parts.append(path(points, "group"))
            parts += [element("circle", cx=px, cy=py, r=2.2, class_="point") for px, py in points]
        for v in settings:
            parts += [
                words(v, at[v], bottom + 15, "tick", "middle"),
                words(f"{each['settings'][v]['factor']:.2f}", at[v], bottom + 30, "small", "middle"),
            ]
        parts.append(words(_UNITS[each["knob"]], (left + right) / 2, bottom + 48, "axis", "middle"))
        middle = (top + bottom) / 2
        parts.append(
            element(
                "text",
                "speedup over PyTorch eager",
                class_="axis",
                text_anchor="middle",
                transform=f"translate({left - 55:g} {middle:g}) rotate(-90)",
            )
        )
    under = (
        "A line joins candidates alike in all other knobs. Small figures: median factor over the line's geometric "
        "mean. Log scale, NVIDIA H200."
    )
    standalone("knobs", "What one knob does", under, 40 + wide * 2, 108 + (high + 72) * 3 - 10, *parts)


def write(data: Mapping[str, Any]) -> None:
    for draw in (families, failures, slips, roofline, knobs):
        draw(data)
