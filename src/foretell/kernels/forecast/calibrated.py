"""The forecaster `calibrated`: `program`, corrected and calibrated with measured kernels by language models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from foretell.belief import Forecast
from foretell.kernels.device import Device
from foretell.kernels.forecast.evidence import evidence
from foretell.kernels.forecast.program import Compared, ProgramForecaster
from foretell.kernels.forecast.residual import Residual
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Subject
from foretell.kernels.task import Task


@cache
def shipped(eager: bool = False) -> Residual:
    """The default model for device or eager times, read once."""
    return Residual.load(eager=eager)


class CalibratedForecaster:
    """Forecasts of `program` with a learnt correction, calibrated intervals and learnt chances of failure.

    `learn` changes nothing: the model is trained by `benchmarks.learned.train` and shipped. For CPUs the forecasts are
    those of `program`. `last_troubles` and `compared` are those of `program`; `failing` holds the chance of each
    kind of failure for each candidate of the last `forecast`.
    """

    cost_s = ProgramForecaster.cost_s

    def __init__(self, eager: bool = False, model: Residual | Path | None = None) -> None:
        self.name = "calibrated:eager" if eager else "calibrated"
        self._eager = eager
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
        rows = evidence_of(self._program, device, subjects, said, self._eager)
        self.failing = list(self._model.failing(rows))
        return self._model.forecasts(rows)


def evidence_of(
    program: ProgramForecaster, device: Device, subjects: Sequence[Subject], said: Sequence[Forecast], eager: bool
) -> list[dict[str, float]]:
    """The evidence on the subjects of the last forecast of `program`."""
    about = zip(subjects, program.compared, program.refusals, said, strict=True)
    return [evidence(each.candidate, device, pair, reason, f.p_fail, eager) for each, pair, reason, f in about]
