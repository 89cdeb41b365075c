"""Controls: forecasters that look at nothing, so that a figure can be told from no skill at all.

`constant` says of every candidate what the training rows were like; it is calibrated by construction and cannot rank.
`random` picks a mean out of the same past for each candidate and is honest about how little that says.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from foretell.belief import Forecast
from foretell.kernels.device import Device
from foretell.kernels.measurement import Measurement
from foretell.kernels.protocols import Forecaster, Subject
from foretell.kernels.task import Task

CONTROLS = ("constant", "random")
_QUANTILES = np.linspace(0.0, 1.0, 41)


class NoPast(ValueError):
    """There are no training rows of that kind of device to take a distribution from."""


@dataclass(frozen=True)
class History:
    """log2 speedups of the candidates that worked, sorted, and the share of those that did not."""

    log2: tuple[float, ...]
    p_fail: float

    @cached_property
    def array(self) -> NDArray[np.float64]:
        return np.asarray(self.log2)

    @cached_property
    def forecast(self) -> Forecast:
        """The distribution itself, exact at 41 quantiles."""
        if len(self.log2) < 2:
            return Forecast.from_normal(self.log2[0] if self.log2 else 0.0, 1.0, self.p_fail)
        values = np.quantile(self.array, _QUANTILES)
        return Forecast.from_quantiles(_QUANTILES.tolist(), values.tolist(), self.p_fail)


@dataclass(frozen=True)
class Past:
    """How earlier candidates turned out, by kind of device (`cpu`, `gpu`)."""

    by_kind: Mapping[str, History]

    @staticmethod
    def of(outcomes: Mapping[str, Sequence[float | None]]) -> Past:
        """From log2 speedups, None for a failure."""
        found = {}
        for kind, values in outcomes.items():
            worked = tuple(sorted(value for value in values if value is not None))
            # One failure and one success more than were seen: nothing is ever certain.
            found[kind] = History(worked, (len(values) - len(worked) + 1) / (len(values) + 2))
        return Past(found)

    def history(self, kind: str) -> History:
        if kind not in self.by_kind:
            raise NoPast(f"no training rows of a {kind} to take the controls' distribution from")
        return self.by_kind[kind]


class ConstantForecaster:
    """Says of every candidate how the training rows turned out. Learns nothing."""

    name = "constant"
    cost_s = 1e-6

    def __init__(self, past: Past) -> None:
        self._past = past

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        return [self._past.history(device.kind).forecast] * len(subjects)

    def learn(self, task: Task, device: Device, measured: Sequence[tuple[Subject, Measurement]]) -> None:
        """Forget it."""


class RandomForecaster:
    """A random mean for each candidate, drawn from the training rows; the same each time for the same source.

    The spread is sqrt(2) times that of the training rows: the honest one, since mean and outcome are two independent
    draws from them. Learns nothing.
    """

    name = "random"
    cost_s = 1e-5

    def __init__(self, past: Past, seed: int = 0) -> None:
        self._past = past
        self._seed = seed

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        return [self._one(self._past.history(device.kind), subject) for subject in subjects]

    def _one(self, history: History, subject: Subject) -> Forecast:
        candidate = subject.candidate
        rng = np.random.default_rng([self._seed, zlib.crc32(f"{candidate.task}\0{candidate.source}".encode())])
        if not history.log2:
            return Forecast.from_normal(float(rng.normal()), 1.0, history.p_fail)
        mean = float(history.array[rng.integers(history.array.size)])
        p_fail = min(1.0, max(0.0, history.p_fail * float(rng.uniform(0.5, 1.5))))
        return Forecast.from_normal(mean, float(np.sqrt(2.0) * history.array.std()), p_fail)

    def learn(self, task: Task, device: Device, measured: Sequence[tuple[Subject, Measurement]]) -> None:
        """Forget it."""


def control(name: str, past: Past, seed: int = 0) -> Forecaster:
    """The control of that name."""
    return ConstantForecaster(past) if name == "constant" else RandomForecaster(past, seed)
