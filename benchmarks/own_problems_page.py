"""docs/results/problems.md from the rows of `benchmarks.own_problems`."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping
from typing import Any

HEAD = """\
# Problems as people write them

Made by `python -m benchmarks.own_problems` and `--page`; data in `benchmarks/results/own_problems.json`. The problems
in `benchmarks/problems` (author: language model) are in KernelBench form: single operators, fused chains, attention,
MLP and mixtures of experts, convolution blocks, state-space scans, losses with their backward pass; with parameters,
buffers, tied weights, several, nested, integer and non-contiguous inputs, Python numbers among them, masks, in-place
operations, half, double and 8-bit types, autocast, TorchScript, `torch.func` and autograd inside `forward`, and random
numbers drawn there.

Each has a candidate that is the reference itself, and {kernels} have a Triton kernel besides. *Recorded*, *explained*
and *forecast* are done without a GPU, for an H200. What must be refused (random numbers in `forward`, inputs that the
reference overwrites, shapes that depend on values) is listed with its reason; the last kind can be measured, outside a
graph, and not recorded.
"""
TABLE = """\
## All

Speedups of the reference itself (should be 1) and of the Triton kernel, as forecast and, in brackets, as measured; and
the same of the reference's time.

| problem | reference, us | itself | Triton kernel |
| --- | --- | --- | --- |
"""


def page(rows: Mapping[str, Any], refused: Mapping[str, str]) -> str:
    """The page; `refused` are the problems that must be refused."""
    good = {name: row for name, row in rows.items() if name not in refused}
    kernels = sum("triton" in row["candidates"] for row in rows.values())
    lines = [HEAD.format(kernels=kernels), "| what | problems |", "| --- | --- |", f"| in all | {len(rows)} |"]
    stopped = sum(why in rows[name]["refusal"] for name, why in refused.items())
    lines.append(f"| to be refused, and refused for that reason | {stopped} of {len(refused)} |")
    counted = {
        "recorded": lambda row: not row["refusal"] and all(each["recorded"] for each in row["candidates"].values()),
        "explained": lambda row: all(each["explained"] for each in row["candidates"].values()),
        "forecast": lambda row: all(each["forecast"] for each in row["candidates"].values()),
    }
    for what, holds in counted.items():
        lines.append(f"| {what} | {sum(map(holds, good.values()))} of {len(good)} |")
    lines += _measured(rows, good, refused)
    lines += ["", "## Refused", "", "| problem | without a GPU | on the H200 |", "| --- | --- | --- |"]
    for name, row in rows.items():
        reasons = [row["refusal"], *(each["verdict"] for each in row["candidates"].values() if not each["recorded"])]
        status = {each["status"]: each for each in row.get("measured", {}).values()}
        failed = "; ".join(f"{s}: {_words(each['message'])}" for s, each in status.items() if s != "ok")
        reason = next(filter(None, reasons), "")
        if name in refused or reason or failed:
            lines.append(f"| `{name}` | {_words(reason) or 'not refused'} | {failed or _state(status)} |")
    lines += ["", *TABLE.splitlines()]
    lines += [_line(name, row) for name, row in good.items()]
    return "\n".join(lines) + "\n"


def _state(status: Mapping[str, Any]) -> str:
    ways = ", ".join(sorted({str(each["timed"]) for each in status.values()}))
    return f"measured ({ways})" if status else "not measured yet"


def _words(text: str) -> str:
    return " ".join(text.replace("|", "/").split())[:160]


def _measured(rows: Mapping[str, Any], good: Mapping[str, Any], refused: Mapping[str, str]) -> list[str]:
    seen = {name: row["measured"] for name, row in good.items() if row.get("measured")}
    if not seen:
        return []
    fine = [name for name, found in seen.items() if all(each["status"] == "ok" for each in found.values())]
    again = [rows[name]["measured"] for name in refused if rows[name].get("measured")]
    kept = sum(all(each["status"] != "ok" for each in found.values()) for found in again)
    lines = [f"| measured on the H200 | {len(fine)} of {len(good)} |"]
    if again:
        lines.append(f"| refused without a GPU, and refused there too | {kept} of {len(again)} |")
    timed = Counter(each["timed"] for found in seen.values() for each in found.values() if each["status"] == "ok")
    lines.append(f"| candidates by how they were timed | {', '.join(f'{n} {way}' for way, n in timed.items())} |")
    errors = {"plain": [], "triton": []}  # type: dict[str, list[float]]
    times = []
    for name, found in seen.items():
        for kind, each in found.items():
            predicted = rows[name]["candidates"][kind]["forecast"]
            if each["status"] == "ok" and predicted:
                errors[kind].append(abs(math.log(predicted / each["speedup"])))
        plain = found.get("plain", {})
        if plain.get("reference_us") and rows[name]["reference_us"]:
            times.append(abs(math.log(rows[name]["reference_us"] / plain["reference_us"])))
    words = (("plain", "the reference itself"), ("triton", "Triton kernels"))
    for kind, what in words:
        if errors[kind]:
            middle = math.exp(statistics.median(errors[kind]))
            lines.append(f"| error of the forecast speedup, {what} (median factor) | {middle:.2f} |")
    if times:
        lines.append(f"| error of the reference's time (median factor) | {math.exp(statistics.median(times)):.2f} |")
    return lines


def _line(name: str, row: Mapping[str, Any]) -> str:
    measured = row.get("measured", {})

    def both(predicted: float | None, found: float | None) -> str:
        return (f"{predicted:.3g}" if predicted else "none") + (f" ({found:.3g})" if found else "")

    cells = [both(row["reference_us"], measured.get("plain", {}).get("reference_us"))]
    for kind in ("plain", "triton"):
        each = row["candidates"].get(kind)
        cells.append(both(each["forecast"], measured.get(kind, {}).get("speedup")) if each else "")
    return f"| `{name}` | {' | '.join(cells)} |"
