"""The eight ordinal speedup bins, and everything that must agree about them.

A speedup is reference time over candidate time: above 1 is faster than the reference. Bins are half-open on the
right: bin i holds `EDGES[i-1] <= speedup < EDGES[i]`, so a speedup of exactly 1 counts as "1x to 1.41x". The first
and the last bin are open-ended. Label, midpoint, the table in a prompt, the schema of an answer and its reader are
all generated from `EDGES_LOG2`; nothing else in the project may write the edges down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from foretell.belief._arrays import IntArray

EDGES_LOG2: tuple[float, ...] = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
EDGES: tuple[float, ...] = tuple(2.0**edge for edge in EDGES_LOG2)
N_BINS = len(EDGES) + 1

# The open-ended bins need ends where a distribution is drawn over them. Bin widths double outwards (1/2, 1, 2 in log2),
# so mass in "4x or more" is spread from 4x to 16x.
SUPPORT_LOG2: tuple[float, float] = (-4.0, 4.0)
BOUNDS_LOG2: tuple[float, ...] = (SUPPORT_LOG2[0], *EDGES_LOG2, SUPPORT_LOG2[1])

# One capital letter a bin: a single token for a language model, so its probability can also be read off the logits.
KEYS: tuple[str, ...] = tuple(chr(ord("A") + i) for i in range(N_BINS))


@overload
def bin_of(speedup: float) -> int: ...
@overload
def bin_of(speedup: list[float] | np.ndarray[Any, Any]) -> IntArray: ...
def bin_of(speedup: ArrayLike) -> int | IntArray:
    """Return the bin of a speedup (not its log2): an int for a number, an integer array of the same shape for an array.

    A speedup equal to an edge belongs to the bin above it. ValueError unless every speedup is positive and finite.
    """
    values = np.asarray(speedup, dtype=np.float64)
    if not (np.isfinite(values) & (values > 0.0)).all():
        raise ValueError("a speedup must be a positive finite number; a failed candidate has none")
    found = np.searchsorted(EDGES, values, side="right")
    return int(found) if values.ndim == 0 else found.astype(np.int64)


def label(i: int) -> str:
    """Return the range of bin i as people write it, such as "1x to 1.41x"."""
    _check(i)
    if i == 0:
        return f"below {_times(EDGES[0])}"
    if i == N_BINS - 1:
        return f"{_times(EDGES[-1])} or more"
    return f"{_times(EDGES[i - 1])} to {_times(EDGES[i])}"


def midpoint_log2(i: int) -> float:
    """Return the middle of bin i in log2 speedup; the outer bins are taken to end at `SUPPORT_LOG2`."""
    _check(i)
    return (BOUNDS_LOG2[i] + BOUNDS_LOG2[i + 1]) / 2.0


def midpoint(i: int) -> float:
    """Return the middle of bin i as a speedup (the geometric mean of its bounds)."""
    return float(2.0 ** midpoint_log2(i))


def prompt_table() -> str:
    """Return the bins as a Markdown table for a prompt: one row a bin with its key and its range."""
    rows = [f"| {key} | {label(i)} |" for i, key in enumerate(KEYS)]
    return "\n".join(["| bin | speedup over the reference |", "| --- | --- |", *rows])


def answer_schema() -> dict[str, Any]:
    """Return the JSON schema of a forecaster's answer: `p_fail`, and under `bins` one probability for each key.

    The bin probabilities are those given that the candidate works, and should sum to one.
    """
    probability = {"type": "number", "minimum": 0, "maximum": 1}
    bins = {key: {**probability, "description": f"probability of {label(i)}"} for i, key in enumerate(KEYS)}
    return {
        "type": "object",
        "properties": {
            "p_fail": {**probability, "description": "probability that it does not build, crashes or is wrong"},
            "bins": {
                "type": "object",
                "description": "probabilities of each speedup bin if it works; they sum to 1",
                "properties": bins,
                "required": list(KEYS),
                "additionalProperties": False,
            },
        },
        "required": ["p_fail", "bins"],
        "additionalProperties": False,
    }


def read_answer(answer: Mapping[str, Any]) -> tuple[float, tuple[float, ...]]:
    """Return `(p_fail, probs)` from an answer in the form of `answer_schema`, with probs scaled to sum to one.

    Sums a little (or a hundredfold) off are forgiven, since models round and write percentages. ValueError, naming what
    is wrong, when a key is missing or unknown, a value is not a number in range, or all bins are zero.
    """
    bins = answer.get("bins")
    if not isinstance(bins, Mapping) or set(bins) != set(KEYS):
        raise ValueError(f"an answer needs 'bins' with exactly the keys {', '.join(KEYS)}")
    p_fail = _number("p_fail", answer.get("p_fail"))
    if p_fail > 1.0:
        raise ValueError(f"p_fail must lie in [0, 1], got {p_fail:g}")
    probs = [_number(key, bins[key]) for key in KEYS]
    total = sum(probs)
    if total <= 0.0:
        raise ValueError("at least one bin needs a probability above zero")
    return p_fail, tuple(prob / total for prob in probs)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{name} must be a number that is not negative, got {value!r}")
    return float(value)


def _times(edge: float) -> str:
    return f"{edge:.3g}x"


def _check(i: int) -> None:
    if not 0 <= i < N_BINS:
        raise ValueError(f"bins are numbered 0 to {N_BINS - 1}, got {i}")
