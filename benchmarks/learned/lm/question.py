"""The question that a small model is trained on and asked: both texts, both step tables, nearest kernels, the estimate.

Facts stand after the texts, next to the answer. The speed is asked for over the reference or, to learn from pairs of
one problem, over another measured kernel. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from benchmarks.learned.lm.facts import Kernel, Near, Problem, Table
from foretell.belief import bins
from foretell.kernels.forecast import brief, hundredths
from foretell.lm.quote import without_turns

STYLE = "facts-1"
TIMED = {
    "device": "CUDA graph, cold cache: device time counts",
    "eager": "called from Python: host time counts too",
}
HIDDEN = "Text not shown."
MOST_DOUBT = 9.9

Blur = Callable[[float], float]


def text_of(
    problem: Problem,
    kernel: Kernel,
    written: bool,
    base: Kernel | None = None,
    texts: bool = True,
    blur: Blur | None = None,
) -> str:
    """One question, answered by a letter or, if `written`, by hundredths.

    Over a `base`, a measured kernel of the problem, in place of the reference. To train on: without `texts` programs
    are not shown, and `blur` changes times a little.
    """
    near = blur or _same
    name = "reference" if base is None else "base"
    shown = problem.text if base is None else base.text
    language = problem.language if base is None else base.language
    measured = "" if base is None or base.outcome is None else f", measured at {_times(base.outcome.log2)}"
    parts = [
        f"## {problem.device}\n{TIMED[problem.column]}.",
        f"## {name.capitalize()} ({language}{measured})\n{without_turns(shown) if texts else HIDDEN}",
        f"## Candidate ({kernel.language})\n{without_turns(kernel.text) if texts else HIDDEN}",
        "## Steps, as a model of the device estimates them (us; doubt in doublings)",
        _steps(name, problem.table if base is None else base.table, "" if base is None else base.trouble, near),
        _steps("candidate", kernel.table, kernel.trouble, near),
    ]
    if kernel.checked:
        parts.append(f"Results at small sizes: {kernel.checked}.")
    if kernel.nearest:
        lines = "\n".join(map(_near, kernel.nearest))
        parts.append(f"## Nearest measured kernels of other problems, over their references\n{lines}")
    parts.append(_estimate(kernel, base))
    ask = brief.DISTRIBUTION if written else brief.ONE_LETTER
    return "\n\n".join([*parts, f"{brief.question(name)} {ask}"])


def _steps(name: str, table: Table | None, trouble: str, near: Blur) -> str:
    if table is None:
        return f"{name}: not estimated. {without_turns(trouble)}".strip()
    lines = [
        f"{name}: {_us(near(table.device_us))} on the device, {_us(near(table.eager_us))} with the host, "
        f"{table.count} steps; alone {_parts(table.parts_us, near)}"
    ]
    for step in table.steps:
        parts = f", {_parts(step.parts_us, near)}" if step.parts_us else ""
        doubt = min(MOST_DOUBT, step.doubt_log2)
        lines.append(f"- {without_turns(step.label)} {_us(near(step.us))}{parts}, doubt {doubt:.1f}, {step.basis}")
    if table.count > len(table.steps):
        lines.append(f"- {table.count - len(table.steps)} shorter ones")
    return "\n".join(lines)


def _parts(parts: Mapping[str, float], near: Blur) -> str:
    return ", ".join(f"{part} {_us(near(us))}" for part, us in parts.items()) or "nothing"


def _near(near: Near) -> str:
    return f"- {near.language}: estimated {_times(near.estimated_log2)}, measured {_times(near.measured_log2)}"


def _estimate(kernel: Kernel, base: Kernel | None) -> str:
    """What `program` says; of a pair of kernels, the ratio of its estimates."""
    doubt = f"doubt {min(MOST_DOUBT, kernel.doubt_log2):.1f}"
    if base is not None:
        return f"Estimate: {_times(kernel.estimate_log2 - base.estimate_log2)}, {doubt}."
    failed, *worked = kernel.said
    return f"Estimate: {_times(kernel.estimate_log2)}, {doubt}; in hundredths: {hundredths.say(failed, worked)}."


def _times(log2: float | None) -> str:
    """A speedup in words."""
    return (
        "failed"
        if log2 is None or not math.isfinite(log2)
        else f"{2.0**log2:.3g}x ({bins.KEYS[bins.bin_of(2.0**log2)]})"
    )


def _us(us: float) -> str:
    return f"{us:.0f}" if us >= 100.0 else f"{us:.3g}"


def _same(value: float) -> float:
    return value
