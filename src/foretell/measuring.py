"""Candidates checked and timed on this machine, and kept for forecasters to learn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.device import Device
    from foretell.kernels.measurement import Measurement
    from foretell.kernels.protocols import Bench
    from foretell.kernels.task import Task

_GPU_ENDINGS = (".py", ".cu", ".json")


@dataclass(frozen=True)
class Outcome:
    """A candidate with its measurement, whose `speedup`, `ok`, `status`, `low`, `high` and `timings` it offers."""

    task: Task
    device: Device
    candidate: Candidate
    measurement: Measurement

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.measurement, name)

    def __repr__(self) -> str:
        from foretell.kernels.measurement import IN_PROCESS, LIVE

        found = self.measurement
        head = f"<measurement of {self.task.name} on {self.device.name}: "
        if not found.ok or found.speedup is None:
            return f"{head}{found.status.value}, {found.message.strip().splitlines()[0] if found.message else ''}>"
        mark = f", {found.trust}" if found.trust in (LIVE, IN_PROCESS) else ""
        return f"{head}{found.speedup:.3g}x ({found.low:.3g} to {found.high:.3g} at 95 %{mark})>"

    def _repr_html_(self) -> str:
        from html import escape
        from statistics import median

        rows = "".join(
            f"<tr><td>{escape(t.workload)}</td><td>{t.speedup:.3g}x</td><td>{median(t.reference_us):.4g} us</td>"
            f"<td>{median(t.candidate_us):.4g} us</td></tr>"
            for t in self.measurement.timings
        )
        head = "<tr><th>workload</th><th>speedup</th><th>reference</th><th>candidate</th></tr>"
        return f"<p>{escape(repr(self))}</p><table>{head}{rows}</table>" if rows else f"<p>{escape(repr(self))}</p>"


def kind_for(task: Task | str | Path, given: Sequence[Candidate | str | Path]) -> str:
    """The kind of device that these candidates run on: by their language, their files' endings, or the task."""
    from foretell.api import task as load
    from foretell.kernels.candidate import Candidate

    kinds = set()
    for each in given:
        if isinstance(each, Candidate):
            kinds.add("cpu" if each.language == "cpp" else "gpu")
        elif not (isinstance(each, str) and "\n" in each):
            kinds.add("gpu" if Path(each).suffix in _GPU_ENDINGS else "cpu")
    if len(kinds) == 1:
        return kinds.pop()
    return "cpu" if kinds else load(task).device_kind


def measure_all(
    task: Task,
    given: Sequence[Candidate | str | Path],
    bench: Bench,
    keep: bool = True,
    on_outcome: Callable[[int], None] | None = None,
) -> list[Outcome]:
    """Measure each candidate, in order; the same text is measured once. `on_outcome` is told how many are done."""
    from foretell.inputs import candidate_of

    candidates = [candidate_of(task, each, bench.device) for each in given]
    found: dict[str, Measurement] = {}
    for candidate, measurement in bench.measure(task, list({c.id: c for c in candidates}.values())):
        found[candidate.id] = measurement
        if keep:
            _keep(task, bench, candidate, measurement)
        if on_outcome is not None:
            on_outcome(len(found))
    return [Outcome(task, bench.device, candidate, found[candidate.id]) for candidate in candidates]


def _keep(task: Task, bench: Bench, candidate: Candidate, measurement: Measurement) -> None:
    """Put it into the catalogue, so that forecasters can learn from it; what did not build is free to find out."""
    from foretell.parts import catalogue

    [build] = bench.build(task, [candidate])
    if build.ok:
        catalogue().put(task, candidate, build, bench.device, measurement)
