"""Measure published kernels again on this machine's GPU, and compare claimed with measured speedups.

A table has one row per kernel, as `foretell eval` reads it (docs/evaluation.md). A row needs a reference that can be
run; it is measured by the bench like a candidate of one's own, and kept in the catalogue, so that an
interrupted audit resumes where it stopped.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import TYPE_CHECKING, Any

from foretell.errors import BadInput

if TYPE_CHECKING:
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.corpus.collect import Tally
    from foretell.kernels.device import Device
    from foretell.kernels.measurement import Measurement
    from foretell.kernels.protocols import Bench
    from foretell.kernels.store import Catalogue
    from foretell.kernels.task import Task

CLOSE = 1.1  # a claim within this factor of the measurement is confirmed
_OK = "ok"


@dataclass(frozen=True)
class Claim:
    """The published result of one kernel; `speedup` is None if it failed or only its time was published."""

    row: str
    problem: str
    gpu: str
    origin: str
    status: str
    speedup: float | None


@dataclass(frozen=True)
class Audited:
    """A claim beside its measurement; without one, `reason` says why."""

    claim: Claim
    measurement: Measurement | None = None
    reason: str = ""

    @property
    def ratio(self) -> float | None:
        """The measured speedup over the claimed one, if there are both."""
        outcome = self.measurement
        if outcome is None or not outcome.ok or outcome.speedup is None or not self.claim.speedup:
            return None
        return float(outcome.speedup / self.claim.speedup)

    @property
    def verdict(self) -> str:
        """The outcome of the claim in a few words."""
        if self.measurement is None:
            return "not measured"
        if not self.measurement.ok:
            return "fails as claimed" if self.claim.status != _OK else f"{self.measurement.status.value} here"
        if self.claim.status != _OK:
            return "works here"
        if self.ratio is None:
            return "works, nothing claimed"
        if 1 / CLOSE <= self.ratio <= CLOSE:
            return "as claimed"
        return "slower than claimed" if self.ratio < 1 else "faster than claimed"

    def to_dict(self) -> dict[str, Any]:
        outcome = self.measurement
        fields: dict[str, Any] = {
            "row": self.claim.row,
            "problem": self.claim.problem,
            "gpu": self.claim.gpu,
            "data set": self.claim.origin,
            "claimed_status": self.claim.status,
            "claimed_speedup": self.claim.speedup,
            "verdict": self.verdict,
        }
        if outcome is None:
            return fields | {"reason": self.reason}
        measured = {"speedup": outcome.speedup, "low": outcome.low, "high": outcome.high}
        return fields | {"status": outcome.status.value} | measured


@dataclass(frozen=True)
class Audit:
    """All rows of a table on one device; `left` is the number of kernels not reached in time."""

    device: Device
    rows: tuple[Audited, ...]
    left: int

    def summary(self) -> dict[str, Any]:
        """Counts of verdicts, and how claimed and measured speedups compare, in all and by data set."""
        origins = sorted({each.claim.origin for each in self.rows})
        by_origin = {
            origin: _summary([each for each in self.rows if each.claim.origin == origin]) for origin in origins
        }
        return {"device": self.device.name, "left": self.left, "all": _summary(self.rows), "by data set": by_origin}

    def to_dict(self) -> dict[str, Any]:
        return self.summary() | {"rows": [each.to_dict() for each in self.rows]}


def _summary(rows: Sequence[Audited]) -> dict[str, Any]:
    both = [each for each in rows if each.ratio is not None]
    claimed = [each.claim.speedup or 1.0 for each in both]
    ratios = [each.ratio or 1.0 for each in both]
    faster = [each for each, speedup in zip(both, claimed, strict=True) if speedup > 1.0]
    confirmed = sum(each.measurement is not None and (each.measurement.speedup or 0.0) > 1.0 for each in faster)
    return {
        "rows": len(rows),
        "verdicts": dict(Counter(each.verdict for each in rows).most_common()),
        "compared": len(both),
        "claimed_geometric_mean": _geometric_mean(claimed),
        "measured_geometric_mean": _geometric_mean([r * c for r, c in zip(ratios, claimed, strict=True)]),
        "median_ratio": median(ratios) if ratios else None,
        "claimed_faster": len(faster),
        "faster_here_of_these": confirmed,
    }


def _geometric_mean(values: Sequence[float]) -> float | None:
    return geometric_mean(values) if values else None


def audit(
    table: str | Path,
    *,
    bench: Bench | None = None,
    seconds: float = math.inf,
    rows: int | None = None,
    catalogue: Catalogue | None = None,
    report: Callable[[str, Tally], None] = lambda *_: None,
) -> Audit:
    """Measure the kernels of a table again, and compare claimed with measured speedups.

    Args:
        table: A Parquet file with one row per kernel (docs/evaluation.md).
        bench: Where to measure; by default this machine's GPU.
        seconds: Start no measurement after that time; the same call resumes later.
        rows: Maximum number of rows, spread evenly over the table.
        catalogue: Where measurements are kept; by default the user's.
        report: Called after each problem with its task and the counts so far.

    Raises:
        BadInput: If the file is not such a table, or there is no GPU.
    """
    from foretell.kernels.corpus.collect import collect
    from foretell.kernels.corpus.plan import foreign_items
    from foretell.parts import bench_of
    from foretell.parts import catalogue as usual_catalogue

    selected = _spread(_read(Path(table)), rows)
    kept = catalogue or usual_catalogue()
    prepared = [_prepared(row) for row in selected]
    grouped: dict[str, tuple[Task, dict[str, Candidate]]] = {}
    for each in prepared:
        if not isinstance(each, str):
            grouped.setdefault(each[0].key, (each[0], {}))[1][each[1].id] = each[1]
    items = [item for task, members in grouped.values() for item in foreign_items(task, list(members.values()))]

    def measured(own: Bench) -> Audit:
        tally = collect(items, "gpu", own, kept, seconds=seconds, report=report)
        audited = (_audited(row, each, kept, own.device) for row, each in zip(selected, prepared, strict=True))
        return Audit(own.device, tuple(audited), tally.left)

    if bench is not None:
        return measured(bench)
    with bench_of("gpu", "run it on a machine with a GPU", len(items)) as own:
        return measured(own)


def _read(path: Path) -> list[Mapping[str, Any]]:
    from foretell.kernels.evaluate.data import read
    from foretell.kernels.evaluate.pools import BadTable

    if path.is_dir():
        raise BadInput(f"{path} is a directory", "a Parquet file with one row per published kernel")
    try:
        data = read(path)
    except BadTable as error:
        raise BadInput(str(error), error.expected) from error
    if not data.foreign:
        raise BadInput(
            f"{path} is a corpus that Foretell collected", "a table of kernels that others measured", "foretell collect"
        )
    return [row for row in data.rows if row.get("clean") is not False]


def _spread(rows: Sequence[Mapping[str, Any]], count: int | None) -> list[Mapping[str, Any]]:
    """`count` evenly spaced rows; all of them if it is None."""
    if count is None or count >= len(rows):
        return list(rows)
    return [rows[i * len(rows) // count] for i in range(count)]


def _prepared(row: Mapping[str, Any]) -> tuple[Task, Candidate] | str:
    """Task and candidate of a row, or the reason why it cannot be measured."""
    from foretell.kernels.candidate import Candidate, Origin
    from foretell.kernels.evaluate.foreign import reference_text
    from foretell.kernels.languages.python_source import language_of
    from foretell.kernels.tasks import BadTask, kernelbench

    reference = reference_text(row)
    if not reference:
        return "the table has no reference for it"
    try:
        task = kernelbench.from_text(reference, str(row["op_id"]).replace("/", "_"))
    except BadTask as error:
        return f"its reference is not a valid problem: {error.what}"
    source = row["candidate_code"]
    return task, Candidate(task.key, language_of(source), source, Origin("model"))


def _audited(
    row: Mapping[str, Any], prepared: tuple[Task, Candidate] | str, catalogue: Catalogue, device: Device
) -> Audited:
    worked = row["status"] == _OK and row["speedup"] and math.isfinite(row["speedup"])
    claim = Claim(
        str(row.get("row_id") or ""), str(row["op_id"]), row["gpu"], str(row.get("dataset") or ""), row["status"],
        float(row["speedup"]) if worked else None,
    )  # fmt: skip
    if isinstance(prepared, str):
        return Audited(claim, reason=prepared)
    outcome = catalogue.get(*prepared, device)
    return Audited(claim, outcome, "" if outcome else "it was not reached in time, or the machine was disturbed")


def disagreements(rows: Iterable[Audited], count: int) -> list[Audited]:
    """The `count` rows whose measured speedup differs most from the claim."""
    compared = [each for each in rows if each.ratio is not None]
    return sorted(compared, key=lambda each: -abs(math.log(each.ratio or 1.0)))[:count]
