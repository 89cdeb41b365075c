"""Measured kernels with what is known of them before: what the forecaster `calibrated` is trained and evaluated on.

Two columns are told apart everywhere: `device`, our own kernels on an H200 by graph replay, and `eager`, other people's
kernels on other GPUs, timed with the host's overhead. Recordings and dry runs come from caches that
`benchmarks.programs.record`, `benchmarks.learned.record` and `benchmarks.programs.follow` fill; what is not recorded is
recorded now, unless `recorded_only`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.programs.split import SPLIT
from foretell.belief import Forecast
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.corpus import labels, real
from foretell.kernels.corpus.table import FOLDER as DATA
from foretell.kernels.cost import recordings
from foretell.kernels.devices import described
from foretell.kernels.evaluate.data import read
from foretell.kernels.evaluate.judge import Judged
from foretell.kernels.evaluate.pools import Pool, make_pool, measurement_of
from foretell.kernels.forecast.calibrated import evidence_of
from foretell.kernels.forecast.program import PROBLEM, ProgramForecaster
from foretell.kernels.languages.python_source import language_of
from foretell.kernels.measurement import Cost
from foretell.kernels.protocols import Subject
from foretell.kernels.record.refusal import Reason, Recording, Refusal
from foretell.kernels.tasks import kernelbench
from foretell.train.residual import Examples

DEVICE, EAGER = "device", "eager"
H200 = "NVIDIA H200"
NOT_TRIED = "not recorded yet"


@dataclass(frozen=True)
class Known:
    """A pool, the evidence of its candidates, and what `program` says of them; `eager` says how it was timed."""

    pool: Pool
    rows: tuple[Mapping[str, float], ...]
    said: tuple[Forecast, ...]
    eager: bool

    @property
    def column(self) -> str:
        return EAGER if self.eager else DEVICE


def known(pools: Sequence[Pool], eager: bool, recorded_only: bool) -> Iterator[Known]:
    """Ask `program` about every pool; candidates whose recording was not tried are left out with `recorded_only`."""
    forecaster = ProgramForecaster(eager)
    if recorded_only:
        only_recorded()
    for pool in pools:
        said = forecaster.forecast(pool.task, pool.device, pool.subjects)
        rows = evidence_of(forecaster, pool.device, pool.subjects, said, eager)
        tried = [i for i, trouble in enumerate(forecaster.last_troubles) if NOT_TRIED not in (trouble or "")]
        if tried:
            yield Known(pool.take(tried), tuple(rows[i] for i in tried), tuple(said[i] for i in tried), eager)


def only_recorded() -> None:
    """Have this process record nothing: candidates without a recording have none."""
    recordings.record_apart = recording_nothing  # type: ignore[assignment,attr-defined]


def recording_nothing(*_: Any) -> Recording:
    """In place of the recorder."""
    return Recording(None, Refusal(Reason.FORGED, NOT_TRIED))  # of a kind that is not kept


def shared_pools(table: Path, part: str) -> list[Pool]:
    """Cells of the shared table's problems of one part, failures included."""
    return read(table, SPLIT).pools(part, "source")


def real_pools(part: str, data: Path = DATA) -> list[Pool]:
    """Our own kernels by problem, as measured on the H200; near-duplicates count once."""
    measured = {label["id"]: label for label in labels.read(data) if label["device"] == H200}
    grouped: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    seen: set[str] = set()
    for kernel in real.read(data):
        if kernel["split"] == part and kernel["id"] in measured and kernel["near"] not in seen:
            seen.add(kernel["near"])
            grouped[kernel["problem"]].append(kernel)
    return [_real_pool(name, members, measured) for name, members in sorted(grouped.items())]


def _real_pool(name: str, kernels: Sequence[Mapping[str, Any]], measured: Mapping[str, Mapping[str, Any]]) -> Pool:
    task = kernelbench.from_text(kernels[0]["reference"], PROBLEM)
    pairs = []
    for kernel in kernels:
        parents = (kernel["parent"],) if kernel["parent"] else ()
        language = language_of(kernel["source"])
        candidate = Candidate(task.key, language, kernel["stripped"], Origin("model"), parents)
        label = measured[kernel["id"]]
        outcome = replace(measurement_of(label), cost=Cost(device_s=label["device_s"] or 0.0))
        pairs.append((Subject(candidate, original=kernel["source"]), outcome))
    return make_pool(name, name, task, described("h200"), [kernel["id"] for kernel in kernels], pairs, origin="own")


def examples_of(found: Sequence[Known]) -> Examples:
    """All candidates as rows; failures of a data set tell something only if it publishes any."""
    publishes = {each.pool.origin for each in found if any(m.status.is_failure for m in each.pool.measured)}
    outcomes = [(each, m) for each in found for m in each.pool.measured]
    times = {label["id"]: label["reference_us"] or math.nan for label in labels.read() if label["device"] == H200}
    return Examples(
        [row for each in found for row in each.rows],
        np.array([m.log2_speedup for _, m in outcomes]),
        np.log2([math.nan if each.eager else times[name] for each in found for name in each.pool.ids]),
        [m.status for _, m in outcomes],
        np.array([f"{each.column} {each.pool.group}" for each, _ in outcomes]),
        np.array([f"{each.column} {each.pool.name}" for each, _ in outcomes]),
        np.array([each.pool.origin in publishes for each, _ in outcomes]),
    )


def judged(found: Sequence[Known], forecasts: Sequence[Forecast]) -> Judged:
    """Pools with forecasts of their candidates, in the order of `examples_of`."""
    told, start = [], 0
    for each in found:
        told.append(tuple(forecasts[start : start + len(each.pool)]))
        start += len(each.pool)
    return Judged(tuple(each.pool for each in found), tuple(told), 0.0, {})
