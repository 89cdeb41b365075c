"""A search's parts over recorded measurements: a bench that looks outcomes up, and a proposer that draws from them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from foretell.belief import Forecast
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.device import Device
from foretell.kernels.evaluate.pools import Pool
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Build, Forecaster, Subject
from foretell.kernels.task import Task

_DRAWS = 4  # random draws for each candidate wanted before the whole pool is looked through for unknown ones


class ReplayBench:
    """Answers with what was recorded; `asked` are the ids measured, in order. KeyError for a stranger to the pool."""

    def __init__(self, pool: Pool) -> None:
        self.device = pool.device
        self.asked: list[str] = []
        self._builds = {s.candidate.id: s.build or Build(Status.OK) for s in pool.subjects}
        self._outcomes = {s.candidate.id: m for s, m in zip(pool.subjects, pool.measured, strict=True)}

    def build(self, task: Task, candidates: Sequence[Candidate]) -> list[Build]:
        return [self._builds[candidate.id] for candidate in candidates]

    def measure(
        self, task: Task, candidates: Sequence[Candidate], hopeless_below: float | None = None
    ) -> Iterator[tuple[Candidate, Measurement]]:
        for candidate in candidates:
            self.asked.append(candidate.id)
            yield candidate, self._outcomes[candidate.id]

    def close(self) -> None:
        pass


class PoolProposer:
    """Draws from a pool at random whatever the parents: what was recorded has no neighbourhoods to look in."""

    name = "pool"

    def __init__(self, pool: Pool) -> None:
        self._candidates = [subject.candidate for subject in pool.subjects]

    def propose(
        self, task: Task, parents: Sequence[Candidate], count: int, rng: np.random.Generator, known: Collection[str]
    ) -> list[Candidate]:
        """Up to `count` candidates not in `known`; empty only when the whole pool is known."""
        found: dict[str, Candidate] = {}
        for index in rng.integers(len(self._candidates), size=_DRAWS * count).tolist():
            candidate = self._candidates[index]
            if len(found) < count and candidate.id not in known:
                found[candidate.id] = candidate
        if len(found) < count:
            fresh = [c for c in self._candidates if c.id not in known and c.id not in found]
            for place in rng.permutation(len(fresh))[: count - len(found)].tolist():
                found[fresh[place].id] = fresh[place]
        return list(found.values())


class FrozenForecasts:
    """What a forecaster says of a whole pool before any measurement, asked once and never taught."""

    cost_s = 0.0

    def __init__(self, name: str, forecasts: Mapping[str, Forecast]) -> None:
        self.name = name
        self._forecasts = forecasts

    @classmethod
    def of(cls, forecaster: Forecaster, pool: Pool) -> FrozenForecasts:
        subjects = _asked_about(pool)
        forecaster.learn(pool.task, pool.device, ())
        said = forecaster.forecast(pool.task, pool.device, subjects)
        ids = (subject.candidate.id for subject in subjects)
        return cls(f"frozen {forecaster.name}", dict(zip(ids, said, strict=True)))

    @classmethod
    def flat(cls, pool: Pool) -> FrozenForecasts:
        """The same word on every candidate: for policies that ask nobody."""
        same = Forecast.from_normal(0.0, 1.0, 0.1)
        return cls("none", {subject.candidate.id: same for subject in _asked_about(pool)})

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        return [self._forecasts[subject.candidate.id] for subject in subjects]

    def learn(self, task: Task, device: Device, measured: Sequence[tuple[Subject, Measurement]]) -> None:
        pass


def _asked_about(pool: Pool) -> list[Subject]:
    """The references and the pool: whoever learns in a run asks about both."""
    references = (Candidate(pool.task.key, *each, Origin("reference")) for each in pool.task.references.items())
    return [*map(Subject, references), *pool.subjects]
