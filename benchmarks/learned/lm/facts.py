"""What questions are made of, as plain data: one file that travels to where the GPU is.

A kernel's facts are its text without remarks, the step tables of `program`, what a run at small sizes showed, and the
nearest measured kernels of other problems. Held-out kernels carry no outcome.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

TRAIN, CHECK, HELD_OUT = "train", "check", "held_out"


@dataclass(frozen=True)
class Step:
    """A step's time in microseconds, what each part of the device would need alone, and how far to believe it."""

    label: str
    us: float
    parts_us: dict[str, float]
    doubt_log2: float
    basis: str


@dataclass(frozen=True)
class Table:
    """Times of a Program by step, the longest first; `count` steps in all, `parts_us` over all of them."""

    device_us: float
    eager_us: float
    count: int
    parts_us: dict[str, float]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Near:
    """A measured kernel of another problem: what was estimated, and what was measured (None: it failed)."""

    language: str
    estimated_log2: float
    measured_log2: float | None


@dataclass(frozen=True)
class Outcome:
    """What measuring showed: log2 speedup with its standard deviation, or None for a failure."""

    log2: float | None
    std_log2: float


@dataclass(frozen=True)
class Kernel:
    """`said` is the forecast of `program`: the chance of failure, then that of each bin if it works."""

    name: str
    language: str
    text: str
    table: Table | None
    trouble: str
    checked: str
    estimate_log2: float
    doubt_log2: float
    said: tuple[float, ...]
    nearest: tuple[Near, ...]
    outcome: Outcome | None


@dataclass(frozen=True)
class Problem:
    """The kernels of one problem on one device; `column` says how they were timed, `group` what splits keep whole."""

    name: str
    group: str
    column: str
    part: str
    device: str
    language: str
    text: str
    table: Table | None
    kernels: tuple[Kernel, ...]


def write(path: Path, problems: Sequence[Problem]) -> None:
    path.write_bytes(lzma.compress(json.dumps([asdict(problem) for problem in problems]).encode(), preset=9))


def read(path: Path) -> list[Problem]:
    found = []
    for problem in json.loads(lzma.decompress(path.read_bytes())):
        kernels = [
            Kernel(**each | {
                "table": _table(each["table"]),
                "said": tuple(each["said"]),
                "nearest": tuple(Near(**near) for near in each["nearest"]),
                "outcome": Outcome(**each["outcome"]) if each["outcome"] else None,
            })
            for each in problem["kernels"]
        ]  # fmt: skip
        found.append(Problem(**problem | {"table": _table(problem["table"]), "kernels": tuple(kernels)}))
    return found


def _table(data: dict[str, object] | None) -> Table | None:
    if data is None:
        return None
    steps = tuple(Step(**step) for step in data["steps"])  # type: ignore[attr-defined]
    return Table(**data | {"steps": steps})  # type: ignore[arg-type]
