"""The forecaster `calibrated`: `program`, corrected and calibrated with measured kernels by language models."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from foretell.belief import Forecast
from foretell.kernels.device import Device
from foretell.kernels.forecast.evidence import evidence
from foretell.kernels.forecast.program import Compared, ProgramForecaster
from foretell.kernels.forecast.residual import Residual
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Subject
from foretell.kernels.small.apart import SmallRun, run_small
from foretell.kernels.task import Task

SMALL_RUN_S = 3.0  # of running a candidate at small sizes, on a core


@cache
def shipped(eager: bool = False) -> Residual:
    """The default model for device or eager times, read once."""
    return Residual.load(eager=eager)


class CalibratedForecaster:
    """Forecasts of `program` with a learnt correction, calibrated intervals and learnt chances of failure.

    `learn` changes nothing: the model is trained by `benchmarks.learned.train` and shipped. For CPUs the forecasts are
    those of `program`. Where the model knows what to make of it, candidates are run on the CPU at small sizes, in the
    sandbox, a few seconds each; with `static` none is. `last_troubles` and `compared` are those of `program`;
    `failing` holds the chance of each kind of failure for each candidate of the last `forecast`.
    """

    cost_s = ProgramForecaster.cost_s + SMALL_RUN_S

    def __init__(self, eager: bool = False, model: Residual | Path | None = None, static: bool = False) -> None:
        self.name = "calibrated:eager" if eager else "calibrated:static" if static else "calibrated"
        self._eager = eager
        self._static = static
        self._model = model if isinstance(model, Residual) else Residual.load(model) if model else shipped(eager)
        self._program = ProgramForecaster(eager)
        self.failing: list[Mapping[Status, float]] = []

    @property
    def last_troubles(self) -> list[str | None]:
        return self._program.last_troubles

    @property
    def compared(self) -> list[Compared | None]:
        return self._program.compared

    def learn(self, task: Task, device: Device, measured: Sequence[tuple[Subject, Measurement]]) -> None:
        """Nothing is learnt in a run."""

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        said = self._program.forecast(task, device, subjects)
        if device.kind != "gpu" or not said:
            self.failing = [{} for _ in said]
            return said
        runs = small_runs(task, subjects, self._program.compared) if self._model.small and not self._static else None
        rows = evidence_of(self._program, device, subjects, said, self._eager, runs)
        self.failing = list(self._model.failing(rows))
        return self._model.forecasts(rows)


def evidence_of(
    program: ProgramForecaster,
    device: Device,
    subjects: Sequence[Subject],
    said: Sequence[Forecast],
    eager: bool,
    runs: Sequence[SmallRun | None] | None = None,
) -> list[dict[str, float]]:
    """The evidence on the subjects of the last forecast of `program`; `runs` are those at small sizes, if any."""
    about = zip(subjects, program.compared, program.refusals, said, runs or [None] * len(said), strict=True)
    return [
        evidence(each.candidate, device, pair, reason, forecast.p_fail, eager, run)
        for each, pair, reason, forecast, run in about
    ]


def small_runs(task: Task, subjects: Sequence[Subject], compared: Sequence[Compared | None]) -> list[SmallRun | None]:
    """Runs at small sizes of the candidates that have an estimate, as many at a time as there are cores."""

    def run(subject: Subject, pair: Compared | None) -> SmallRun | None:
        return run_small(task, subject.executed, subject.candidate.language) if pair is not None else None

    with ThreadPoolExecutor(min(os.cpu_count() or 1, max(1, len(subjects)))) as pool:
        return list(pool.map(run, subjects, compared))
