"""The trained forecaster: a model of thousands of measured kernels speaks about one that nobody has run.

Before the build it reads the source; after it the machine code as well. What it says of an operation, or of a family,
that it has never seen is as doubtful as it was of others that were kept from it; what lies outside everything it has
seen is more doubtful still.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from foretell.belief import Forecast
from foretell.kernels.device import Device, roofline_s
from foretell.kernels.devices import described
from foretell.kernels.forecast.inputs import describe_subject, task_numbers
from foretell.kernels.forecast.memory import Neighbour
from foretell.kernels.forecast.model import LEVELS, WIDEST, Model, Tier
from foretell.kernels.forecast.roofline import CERTAIN, build_failed, reference_times_s
from foretell.kernels.measurement import Measurement
from foretell.kernels.protocols import Subject
from foretell.kernels.task import Task, Workload
from foretell.trees import FloatArray

LEAST_CHANCE = 1.0 - CERTAIN


@cache
def shipped() -> Model:
    """The default model, read once."""
    return Model.load()


@dataclass(frozen=True)
class Asked:
    """A subject as the model sees it.

    Without `physics` the reference's time is an estimate, or unknown, in which case `headroom` is the usual one.
    """

    tier: str
    regime: str
    foreign: bool
    described: Mapping[str, float]
    headroom: float
    physics: bool = True


class TrainedForecaster:
    """Forecasts by a trained model, frozen: `learn` takes nothing but the reference's own times.

    Where the device has not been measured, the reference's time is carried over from one that has, in proportion to
    what physics allows on each; where the operation has not either, it is not known, and the doubt is wide.
    """

    name = "features"
    cost_s = 5e-4

    def __init__(self, model: Model | Path | None = None) -> None:
        self._model = model if isinstance(model, Model) else Model.load(model) if model else shipped()
        self._known_us: dict[tuple[str, str], dict[str, float]] = {}

    def learn(self, task: Task, device: Device, measured: Sequence[tuple[Subject, Measurement]]) -> None:
        times_s = reference_times_s([measurement for _, measurement in measured])
        self._known_us = {(task.identity, device.id): {name: t * 1e6 for name, t in times_s.items()}}

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        asked = self.ask(task, device, subjects)
        found: list[Forecast | None] = [None] * len(subjects)
        for key in sorted({(a.tier, a.regime, a.foreign) for a in asked}):
            places = [i for i, a in enumerate(asked) if (a.tier, a.regime, a.foreign) == key]
            told = self._told([asked[i] for i in places])
            for i, forecast in zip(places, told, strict=True):
                found[i] = replace(forecast, p_fail=CERTAIN) if build_failed(subjects[i]) else forecast
        return [forecast for forecast in found if forecast is not None]

    def ask(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Asked]:
        """What the model is asked about each subject."""
        about = task_numbers(task, device, self.reference_us(task, device))
        regime = self._model.regime(device.kind, task.key, task.family)
        found = []
        for subject in subjects:
            built = subject.build is not None and subject.build.ok and bool(subject.build.features)
            numbers = describe_subject(about, device, subject)
            foreign = subject.candidate.origin.kind != "template"
            tier = f"{device.kind}.{'build' if built else 'source'}"
            headroom = about["headroom"]
            if math.isnan(headroom):
                usual = self._model.tiers[tier]
                headroom = float(usual.typical[usual.names.index("task.headroom")])
            sure = math.isfinite(about["headroom"]) and not any(cost.estimated for cost in task.costs.values())
            found.append(Asked(tier, regime, foreign, numbers, headroom, sure))
        return found

    def reference_us(self, task: Task, device: Device) -> dict[str, float]:
        """The reference's time on each workload.

        Measured here, on such a device, or carried over; else as the task's costs tell or estimate it, if they do.
        """
        own = self._known_us.get((task.identity, device.id), {})
        like = self._model.references.get(device.name, {}).get(task.key, {})
        found: dict[str, float] = {}
        for workload in task.workloads:
            name = workload.name
            cost = task.costs.get(name)
            said = cost.reference_us if cost is not None else None
            known = own.get(name) or said or like.get(name) or self._carried_us(task, workload, device)
            found |= {name: known} if known else {}
        return found

    def _carried_us(self, task: Task, workload: Workload, device: Device) -> float | None:
        """The time on other devices, as a multiple of what physics allows there, times what it allows here."""
        multiples = [
            times[task.key][workload.name] * 1e-6 / roofline_s(task, workload, described(other))
            for other, times in self._model.references.items()
            if workload.name in times.get(task.key, {}) and described(other).kind == device.kind
        ]
        return float(np.median(multiples)) * roofline_s(task, workload, device) * 1e6 if multiples else None

    @property
    def learnt_rows(self) -> int:
        """How many measured kernels the model was trained on."""
        return int(self._model.about["rows"])

    def devices(self, kind: str) -> tuple[str, ...]:
        """Names of the devices of that kind on which the model's kernels were measured."""
        return tuple(name for name in self._model.references if described(name).kind == kind)

    def neighbours(
        self, task: Task, device: Device, subject: Subject, asked: Asked, count: int
    ) -> tuple[Neighbour, ...]:
        """Measured kernels most like the subject, where the model remembers any."""
        memory = self._model.memory(device.kind)
        return memory.nearest(asked.described, task.key, task.family, subject.candidate.language, count)

    def tier_of(self, asked: Asked) -> Tier:
        return self._model.tiers[asked.tier]

    def _told(self, asked: Sequence[Asked]) -> list[Forecast]:
        """Forecasts of subjects of one tier and regime."""
        tier, regime = self.tier_of(asked[0]), asked[0].regime
        table = tier.table([a.described for a in asked])
        headroom = np.array([a.headroom for a in asked])
        means = tier.means(table, headroom)
        wider = np.where([a.physics for a in asked], tier.widening(table), WIDEST)
        scales = tier.scales(table) * wider
        chances = np.clip(tier.failures(table, regime), LEAST_CHANCE, CERTAIN)
        return told(means, scales, tier.spread[f"{regime}, foreign" if asked[0].foreign else regime], chances)


def told(means: FloatArray, scales: FloatArray, shape: Sequence[float], chances: FloatArray) -> list[Forecast]:
    """Forecasts of one shape (quantiles at `LEVELS`) around their means, each by its own scale."""
    values = means[:, None] + scales[:, None] * np.array(shape)[None, :]
    return [
        Forecast.from_quantiles(LEVELS, row, chance)
        for row, chance in zip(values.tolist(), chances.tolist(), strict=True)
    ]
